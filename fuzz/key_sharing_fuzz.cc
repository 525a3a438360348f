// Recovery of a sum of one-time keys from hostile answers. The first byte chooses a committee, the
// next three are a bit set of the seats that answer. Patches of five bytes follow: a seat, a word
// u16 and a value u16, which becomes that word of the seat's answer, below p. From seat 128 on the
// word and the value are those of the sum of the shares, below p or not.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"
#include "tacet/he/key_sharing.h"

namespace {

using tacet::base::Bytes;
using namespace tacet::he;

constexpr size_t kN = 4096;

void Expect(bool right) {
  if (!right) std::abort();
}

// Two clients' keys, shared among a committee.
struct Honest {
  explicit Honest(const CommitteeShape& shape)
      : sharing(*KeySharing::Create(shape)),
        key_sum(kN),
        mask_sums(shape.seats, std::vector<uint16_t>(sharing.mask_words())),
        share_sums(sharing.share_bytes()) {
    tacet::crypto::InsecureSeededEntropy entropy(1, "key sharing fuzz");
    tacet::crypto::Random random = tacet::crypto::Random::FromEntropy(entropy);
    std::vector<int8_t> key(kN);
    std::vector<uint16_t> masks(shape.seats * sharing.mask_words());
    Bytes shares(sharing.share_bytes());
    for (int client = 0; client < 2; ++client) {
      for (size_t i = 0; i < kN; ++i) {
        key[i] = static_cast<int8_t>(static_cast<int>(random.Below(43)) - 21);
        key_sum[i] += key[i];
      }
      for (size_t i = 0; i < masks.size(); ++i) {
        masks[i] = static_cast<uint16_t>(random.Below(kSharePrime));
        uint16_t& sum = mask_sums[i / sharing.mask_words()][i % sharing.mask_words()];
        sum = static_cast<uint16_t>((uint32_t{sum} + masks[i]) % kSharePrime);
      }
      std::vector<uint16_t> checks(sharing.check_secrets());
      for (uint16_t& check : checks) check = static_cast<uint16_t>(random.Below(kSharePrime));
      sharing.Share(key, checks, masks, shares);
      AddShares(shares, share_sums);
    }
  }

  KeySharing sharing;
  std::vector<int32_t> key_sum;
  std::vector<std::vector<uint16_t>> mask_sums;  // by seat
  Bytes share_sums;
};

const Honest& HonestOf(unsigned choice) {
  static const Honest all[] = {
      Honest({.seats = 1, .corrupt = 0}),
      Honest({.seats = 3, .corrupt = 1}),
      Honest({.seats = 4, .corrupt = 1}),
      Honest({.seats = 5, .corrupt = 2}),
      Honest({.seats = 5, .corrupt = 2, .packing = 1}),
      Honest({.seats = 7, .corrupt = 2}),
      Honest({.seats = 10, .corrupt = 3}),
      Honest({.seats = 20, .corrupt = 6}),
  };
  return all[choice % 8];
}

uint32_t WordAt(const Bytes& shares, size_t word) {
  return shares[2 * word] | uint32_t{shares[2 * word + 1]} << 8;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const Honest& honest = HonestOf(data[0]);
  const KeySharing& sharing = honest.sharing;
  const size_t words = sharing.mask_words();
  const uint32_t seats = sharing.shape().seats;
  const uint32_t answering = data[1] | uint32_t{data[2]} << 8 | uint32_t{data[3]} << 16;
  std::vector<std::vector<uint16_t>> said = honest.mask_sums;
  Bytes share_sums = honest.share_sums;
  for (size_t i = 4; i + 5 <= size; i += 5) {
    const size_t word = data[i + 1] | size_t{data[i + 2]} << 8;
    const uint32_t value = data[i + 3] | uint32_t{data[i + 4]} << 8;
    if (data[i] >= 128) {
      const size_t at = word % (share_sums.size() / 2);
      share_sums[2 * at] = static_cast<uint8_t>(value);
      share_sums[2 * at + 1] = static_cast<uint8_t>(value >> 8);
    } else {
      said[data[i] % seats][word % words] = static_cast<uint16_t>(value % kSharePrime);
    }
  }
  std::vector<KeySharing::Answer> answers;
  std::set<uint32_t> wrong;  // seats whose answers do not fit, with the shares as they are
  for (uint32_t seat = 0; seat < seats; ++seat) {
    if ((answering >> seat & 1) == 0) continue;
    answers.push_back({.seat = seat, .mask_sums = said[seat]});
    for (size_t b = 0; b < sharing.key_words(); ++b) {
      uint64_t difference = uint64_t{said[seat][b]} + kSharePrime - honest.mask_sums[seat][b];
      if (seat >= sharing.shape().corrupt) {
        const size_t at = (seat - sharing.shape().corrupt) * words + b;
        difference += 2 * uint64_t{kSharePrime} + WordAt(honest.share_sums, at);
        difference -= WordAt(share_sums, at);
      }
      if (difference % kSharePrime != 0) wrong.insert(seat);
    }
  }
  const auto recovery = sharing.Recover(share_sums, answers);
  if (KeySharing::FindNonCanonical(share_sums).has_value()) {
    Expect(recovery.status().code() == absl::StatusCode::kDataLoss);
    return 0;
  }
  const size_t needed = sharing.threshold();
  if (answers.size() < needed) {
    Expect(recovery.status().code() == absl::StatusCode::kUnavailable);
    return 0;
  }
  const size_t corrected = (answers.size() - needed) / 2;
  if (wrong.size() <= corrected) {
    Expect(recovery.ok() && std::ranges::equal(recovery->key_sum.Expose(), honest.key_sum));
    Expect(std::ranges::equal(recovery->wrong_seats, wrong));
  } else if (recovery.ok()) {
    // Answers that lie on other polynomials: never more of them left out than can be corrected.
    Expect(recovery->wrong_seats.size() <= corrected);
    Expect(recovery->key_sum.size() == kN);
  } else {
    Expect(recovery.status().code() == absl::StatusCode::kDataLoss);
  }
  return 0;
}
