// Figures of docs/security/compact-specification.md, computed again by the scheme's own code.
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/crypto/signing.h"
#include "tacet/he/aggregation.h"
#include "tacet/he/compact.h"
#include "tacet/he/key_sharing.h"
#include "tacet/ring/modulus.h"
#include "tacet/ring/sampling.h"
#include "tacet/secagg/check_row.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/small_round_for_test.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/secagg/upload.h"
#include "tacet/secagg/vote.h"

namespace tacet::secagg {
namespace {

using ::testing::HasSubstr;
using testing::ValueOf;

std::string Page() {
  std::ifstream file(TACET_SOURCE_DIR "/docs/security/compact-specification.md");
  return {(std::istreambuf_iterator<char>(file)), {}};
}

// 1473872 as 1,473,872.
std::string Number(uint64_t value) {
  std::string digits = std::to_string(value);
  for (size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

he::AggregationParams PublishedSize(uint32_t seats, uint32_t corrupt) {
  return ValueOf(
      he::AggregationParams::Create({.dimension = 486654,
                                     .max_participants = 1000,
                                     .offset = 1,
                                     .sum_bound = 2000000,
                                     .committee = {.seats = seats, .corrupt = corrupt}}));
}

TEST(CompactSpecificationTest, ParametersAreThoseOfTheCode) {
  const he::AggregationParams params = PublishedSize(7, 2);
  const std::string page = Page();
  for (const std::string& row : {
           fmt::format("| N | degree of the ring | {} |", params.ring_degree()),
           fmt::format("| p₀ | first prime of Q | {} |", ring::kPrime0),
           fmt::format("| p₁ | second prime of Q | {} |", ring::kPrime1),
           fmt::format("| log₂ Q | payload modulus | {:.4f} |", params.log2_modulus()),
           fmt::format("| χ | law of keys and errors | CBD({}), variance {} |", ring::kErrorBound,
                       ring::kErrorVariance),
           fmt::format("| p | field of the shares | {} |", he::kSharePrime),
           fmt::format("| | variance of error and truncation of one upload | {} |",
                       params.noise_variance_per_upload()),
           fmt::format("| K | most uploads in a sum | {} |",
                       Number(he::KeySharing::MaxParticipants())),
           fmt::format("| κ | scale bits at K = 1000 | {} |", params.scale_bits()),
           fmt::format(
               "| w, L | bits a slot, slots a coefficient at d = 486,654 and K = 1000 | {}, "
               "{} |",
               params.plaintext_bits(), params.slots()),
           fmt::format("| J | payload polynomials there | {} |", params.polynomials()),
           fmt::format("| | coefficients that carry values there | {} |",
                       Number(params.used_coefficients())),
       }) {
    EXPECT_THAT(page, HasSubstr(row + "\n"));
  }
}

TEST(CompactSpecificationTest, CommitteesAreThoseOfTheCode) {
  const std::string page = Page();
  for (const he::CommitteeShape& shape :
       std::vector<he::CommitteeShape>{{4, 1}, {5, 2}, {7, 2}, {10, 3}, {20, 6}}) {
    const he::KeySharing sharing = ValueOf(he::KeySharing::Create(shape));
    EXPECT_THAT(page, HasSubstr(fmt::format("| {}, {} | {} | {} | {} | {} | {} |\n", shape.seats,
                                            shape.corrupt, sharing.votes(), sharing.shape().packing,
                                            sharing.threshold(), sharing.key_words(),
                                            Number(sharing.share_bytes()))));
  }
}

TEST(CompactSpecificationTest, SizesAreThoseOfTheCode) {
  const he::AggregationParams params = PublishedSize(7, 2);
  const crypto::SigningKey key =
      ValueOf(crypto::SigningKey::FromSeed(crypto::SecretBytes(crypto::SigningKey::kSeedBytes)));
  const auto affine = [](size_t (*bytes)(uint32_t)) {
    return fmt::format("{} + {}·K′", bytes(0), bytes(1) - bytes(0));
  };
  const std::string page = Page();
  for (const std::string& row : {
           fmt::format("| upload | {} |", Number(UploadBytes(params))),
           fmt::format("| key packet, once an epoch | {} |", Number(KeyPacketBytes(7, 7))),
           fmt::format("| closed round of 1000 uploads | {} |",
                       Number(ClosedRoundBytes(params, 1000))),
           fmt::format("| roster | {} |", affine(RosterBytes)),
           fmt::format("| vote | {} |", WriteVote(Attempt{}, 0, crypto::Digest{}, key).size()),
           fmt::format("| unmask share | {} |", Number(UnmaskShareBytes(params.sharing()))),
           fmt::format("| check row, after a wrong sum only | {} |", affine(CheckRowBytes)),
       }) {
    EXPECT_THAT(page, HasSubstr(row + "\n"));
  }
}

}  // namespace
}  // namespace tacet::secagg
