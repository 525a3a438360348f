#include "tacet/he/aggregation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/he/compact.h"
#include "tacet/he/derived_random.h"
#include "tacet/he/paper.h"
#include "tacet/he/payload_shape.h"
#include "tacet/he/security.h"
#include "tacet/he/truncated_planes.h"
#include "tacet/ring/crt.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/sampling.h"
#include "tacet/ring/uniform.h"

namespace tacet::he {
namespace {

constexpr uint64_t kMaxDimension = uint64_t{1} << 32;
// Below 2^20 participants and 2^32 an offset, K' offset plus a centred sum stays far inside 63
// bits.
constexpr uint32_t kMaxParticipants = 1048575;
constexpr uint64_t kMaxOffset = (uint64_t{1} << 32) - 1;
// Slots narrower than this would let unreduced counts carry past 2^127.
constexpr uint32_t kMinPlaintextBits = 8;
// Two sums that fit w bits differ mod p0 > 2^49, so that the MAC tells them apart.
constexpr uint32_t kMaxCompactBits = 49;
static_assert(kTagPrime > uint64_t{1} << kMaxCompactBits);

constexpr uint64_t CeilDivide(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

absl::Status CheckSpec(const AggregationSpec& spec) {
  switch (spec.scheme) {
    case Scheme::kCompact:
    case Scheme::kPaperPublicKey:
    case Scheme::kPaperSecretKey:
      break;
    default:
      return base::InvalidArgument("`scheme` {} is unknown", static_cast<int>(spec.scheme));
  }
  if (spec.dimension == 0 || spec.dimension > kMaxDimension) {
    return base::InvalidArgument("`dimension` is {}, it must be in 1..{}", spec.dimension,
                                 kMaxDimension);
  }
  if (spec.max_participants == 0) {
    return base::InvalidArgument("`max_participants` is 0, it must be at least 1");
  }
  if (spec.max_participants > kMaxParticipants) {
    return base::InvalidArgument("`max_participants` is too large: {}, at most {} can be added",
                                 spec.max_participants, kMaxParticipants);
  }
  if (spec.offset > kMaxOffset) {
    return base::InvalidArgument("`offset` is too large: {}, counts have 32 bits", spec.offset);
  }
  if (spec.sum_bound == 0) {
    return base::InvalidArgument("`sum_bound` is 0, it must be at least 1");
  }
  return absl::OkStatus();
}

// The bits of a centred sum: as asked for, or the fewest that hold the bound.
absl::StatusOr<uint32_t> ChoosePlaintextBits(const AggregationSpec& spec, uint32_t most_bits) {
  const uint64_t largest_bound = (uint64_t{1} << (most_bits - 1)) - 1;
  if (spec.sum_bound > largest_bound) {
    return base::InvalidArgument(
        "`sum_bound` is too large: {}, scheme {} holds at most {} ({} bits a value) with {} "
        "participants",
        spec.sum_bound, SchemeName(spec.scheme), largest_bound, most_bits, spec.max_participants);
  }
  const uint32_t needed =
      std::max(kMinPlaintextBits, static_cast<uint32_t>(std::bit_width(spec.sum_bound)) + 1);
  if (spec.plaintext_bits == 0) return needed;
  if (spec.plaintext_bits < needed) {
    return base::InvalidArgument("`plaintext_bits` is too small: {}, `sum_bound` {} needs {}",
                                 spec.plaintext_bits, spec.sum_bound, needed);
  }
  if (spec.plaintext_bits > most_bits) {
    return base::InvalidArgument(
        "`plaintext_bits` is too large: {}, scheme {} holds at most {} with {} participants",
        spec.plaintext_bits, SchemeName(spec.scheme), most_bits, spec.max_participants);
  }
  return spec.plaintext_bits;
}

absl::Status CheckScheme(const AggregationParams& params, bool compact) {
  if ((params.scheme() == Scheme::kCompact) == compact) return absl::OkStatus();
  return base::InvalidArgument("`params` are of scheme {}", SchemeName(params.scheme()));
}

absl::Status CheckPublicSeed(std::span<const uint8_t> public_seed) {
  if (public_seed.size() == ring::kSeedBytes) return absl::OkStatus();
  return base::InvalidArgument("`public_seed` has {} bytes, {} are needed", public_seed.size(),
                               ring::kSeedBytes);
}

absl::Status CheckGroupSecret(const crypto::SecretBytes& group_secret) {
  if (group_secret.size() == kKeyBytes) return absl::OkStatus();
  return base::InvalidArgument("`group_secret` has {} bytes, {} are needed", group_secret.size(),
                               kKeyBytes);
}

}  // namespace

std::string_view SchemeName(Scheme scheme) {
  switch (scheme) {
    case Scheme::kCompact:
      return "compact";
    case Scheme::kPaperPublicKey:
      return "paper";
    case Scheme::kPaperSecretKey:
      return "paper-secret-key";
  }
  return "unknown";
}

absl::StatusOr<AggregationParams> AggregationParams::Create(const AggregationSpec& spec) {
  TACET_RETURN_IF_ERROR(CheckSpec(spec));
  AggregationParams params;
  params.spec_ = spec;
  TACET_RETURN_IF_ERROR(spec.scheme == Scheme::kCompact ? params.PlanCompact()
                                                        : params.PlanPaper());
  TACET_RETURN_IF_ERROR(CheckRlweSecurity({.ring_degree = params.ring_degree_,
                                           .log2_modulus = params.log2_modulus_,
                                           .error_stddev = std::sqrt(ring::kErrorVariance),
                                           // One-time keys, or the group's secret.
                                           .secret = spec.scheme == Scheme::kCompact
                                                         ? SecretDistribution::kErrorLaw
                                                         : SecretDistribution::kTernary}));
  return params;
}

absl::Status AggregationParams::PlanCompact() {
  scale_bits_ = kMinScaleBits;
  while (scale_bits_ <= kMaxScaleBits &&
         MaxParticipantsAtScale(scale_bits_) < spec_.max_participants) {
    ++scale_bits_;
  }
  TACET_ASSIGN_OR_RETURN(sharing_, KeySharing::Create(spec_.committee));
  spec_.committee = sharing_->shape();
  if (spec_.max_participants > KeySharing::MaxParticipants()) {
    return base::InvalidArgument(
        "`max_participants` is too large: {}, but shares hold the sum of at most {} one-time keys",
        spec_.max_participants, KeySharing::MaxParticipants());
  }
  TACET_ASSIGN_OR_RETURN(spec_.plaintext_bits, ChoosePlaintextBits(spec_, kMaxCompactBits));
  // Fewest bytes a value is most slots a coefficient. One slot of 49 bits always fits.
  slots_ = 100 / spec_.plaintext_bits;
  while (!SlotsFit(slots_, spec_.plaintext_bits, scale_bits_, spec_.sum_bound)) --slots_;

  ring_degree_ = ring::kCompactDegree;
  log2_modulus_ = ring::kLog2ModulusQ;
  used_coefficients_ = CeilDivide(spec_.dimension, slots_);
  polynomials_ = CeilDivide(used_coefficients_, ring_degree_);
  ciphertext_bytes_ = kPlaneBytes * (used_coefficients_ + kTagWords) + share_bytes();
  aggregated_ciphertext_bytes_ = 16 * (used_coefficients_ + kTagWords) + share_bytes();
  noise_variance_per_upload_ = CompactNoiseVariance();
  return absl::OkStatus();
}

absl::Status AggregationParams::PlanPaper() {
  // Errors of 2^20 public-key ciphertexts leave 26 bits.
  uint32_t most_bits = kMaxPaperBits;
  while (!PaperErrorFits(spec_.scheme, spec_.max_participants, most_bits)) --most_bits;
  TACET_ASSIGN_OR_RETURN(spec_.plaintext_bits, ChoosePlaintextBits(spec_, most_bits));

  ring_degree_ = ring::kPaperDegree;
  log2_modulus_ = std::log2(static_cast<double>(ring::kPrime0));
  used_coefficients_ = spec_.dimension;
  polynomials_ = CeilDivide(used_coefficients_, ring_degree_);
  aggregated_ciphertext_bytes_ = 8 * (used_coefficients_ + polynomials_ * ring_degree_) + kTagBytes;
  ciphertext_bytes_ = spec_.scheme == Scheme::kPaperPublicKey
                          ? aggregated_ciphertext_bytes_
                          : 8 * used_coefficients_ + ring::kSeedBytes + kTagBytes;
  noise_variance_per_upload_ = PaperNoiseVariance(spec_.scheme);
  return absl::OkStatus();
}

namespace {

// Gives `values` in the blocks that an encryption or a decryption takes.
template <typename Value, typename Function>
absl::Status ForEachBlock(const AggregationParams& params, std::span<Value> values,
                          const Function& function) {
  while (!values.empty()) {
    const size_t size = std::min<uint64_t>(params.values_per_polynomial(), values.size());
    TACET_RETURN_IF_ERROR(function(values.first(size)));
    values = values.subspan(size);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Decryptor::Decrypted> Decryptor::Decrypt(
    std::span<const uint8_t> aggregated_ciphertext, uint32_t participants) const {
  TACET_ASSIGN_OR_RETURN(const auto decryption, Begin(aggregated_ciphertext, participants));
  Decrypted decrypted{.sums = std::vector<uint64_t>(params_.dimension()), .tag = {}};
  TACET_RETURN_IF_ERROR(
      ForEachBlock(params_, std::span(decrypted.sums),
                   [&](std::span<uint64_t> block) { return decryption->Next(block); }));
  TACET_ASSIGN_OR_RETURN(decrypted.tag, decryption->Finish());
  return decrypted;
}

absl::StatusOr<std::unique_ptr<Encryptor>> NewCompactEncryptor(
    const AggregationParams& params, std::span<const uint8_t> public_seed) {
  TACET_RETURN_IF_ERROR(CheckScheme(params, true));
  TACET_RETURN_IF_ERROR(CheckPublicSeed(public_seed));
  return MakeCompactEncryptor(params, public_seed);
}

absl::StatusOr<std::unique_ptr<Decryptor>> NewCompactDecryptor(
    const AggregationParams& params, std::span<const uint8_t> public_seed,
    crypto::SecretVector<int32_t> key_sum) {
  TACET_RETURN_IF_ERROR(CheckScheme(params, true));
  TACET_RETURN_IF_ERROR(CheckPublicSeed(public_seed));
  if (key_sum.size() != params.ring_degree()) {
    return base::InvalidArgument("`key_sum` has {} coefficients, {} are needed", key_sum.size(),
                                 params.ring_degree());
  }
  return MakeCompactDecryptor(params, public_seed, std::move(key_sum));
}

absl::StatusOr<std::unique_ptr<Encryptor>> NewPaperEncryptor(
    const AggregationParams& params, std::span<const uint8_t> public_seed,
    const crypto::SecretBytes& group_secret) {
  TACET_RETURN_IF_ERROR(CheckScheme(params, false));
  TACET_RETURN_IF_ERROR(CheckPublicSeed(public_seed));
  TACET_RETURN_IF_ERROR(CheckGroupSecret(group_secret));
  return MakePaperEncryptor(params, public_seed, group_secret);
}

absl::StatusOr<std::unique_ptr<Decryptor>> NewPaperDecryptor(
    const AggregationParams& params, const crypto::SecretBytes& group_secret) {
  TACET_RETURN_IF_ERROR(CheckScheme(params, false));
  TACET_RETURN_IF_ERROR(CheckGroupSecret(group_secret));
  return MakePaperDecryptor(params, group_secret);
}

absl::Status Encryptor::Encrypt(std::span<const uint32_t> counts, const Tag& tag,
                                const SealSecrets& secrets, base::Bytes& ciphertext) const {
  TACET_RETURN_IF_ERROR(CheckCounts(params_, counts.size()));
  TACET_RETURN_IF_ERROR(CheckSealSecrets(params_, secrets));
  ciphertext.resize(params_.ciphertext_bytes());
  TACET_ASSIGN_OR_RETURN(const auto encryption, Begin(secrets, ciphertext));
  TACET_RETURN_IF_ERROR(ForEachBlock(params_, counts, [&](std::span<const uint32_t> block) {
    encryption->Append(block);
    return absl::OkStatus();
  }));
  encryption->Finish(tag);
  return absl::OkStatus();
}

base::Bytes Adder::Close() const {
  base::Bytes sum(params_.aggregated_ciphertext_bytes());
  CloseInto(sum);
  return sum;
}

absl::Status Adder::Add(std::span<const uint8_t> ciphertext) {
  const Contribution contribution{.ciphertext = ciphertext, .announced = std::nullopt};
  absl::Status result;
  AddEach({&contribution, 1}, {&result, 1});
  return result;
}

std::unique_ptr<Adder> NewAdder(const AggregationParams& params, size_t tasks,
                                base::ParallelFor run) {
  if (params.scheme() != Scheme::kCompact) return MakePaperAdder(params);
  return MakeCompactAdder(params, tasks, std::move(run));
}

}  // namespace tacet::he
