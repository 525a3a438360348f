#include "tacet/he/payload_shape.h"

#include <cstdio>
#include <cstdlib>

#include "tacet/base/status.h"
#include "tacet/he/derived_random.h"

namespace tacet::he {
namespace {

bool SameParams(const AggregationParams& a, const AggregationParams& b) {
  return a.scheme() == b.scheme() && a.dimension() == b.dimension() &&
         a.max_participants() == b.max_participants() && a.offset() == b.offset() &&
         a.sum_bound() == b.sum_bound() && a.plaintext_bits() == b.plaintext_bits() &&
         a.committee() == b.committee();
}

}  // namespace

absl::Status CheckCounts(const AggregationParams& params, size_t counts) {
  if (counts == params.dimension()) return absl::OkStatus();
  return base::InvalidArgument("`counts` has {} values, the dimension is {}", counts,
                               params.dimension());
}

absl::Status CheckSealSecrets(const AggregationParams& params, const SealSecrets& secrets) {
  if (secrets.key.size() != kKeyBytes) {
    return base::InvalidArgument("`key` of a seal has {} bytes, {} are needed", secrets.key.size(),
                                 kKeyBytes);
  }
  if (secrets.masks.size() == params.mask_words()) return absl::OkStatus();
  return base::InvalidArgument("`masks` of a seal has {} words, {} are needed",
                               secrets.masks.size(), params.mask_words());
}

absl::Status CheckEncryption(const AggregationParams& params, const SealSecrets& secrets,
                             size_t ciphertext_bytes) {
  TACET_RETURN_IF_ERROR(CheckSealSecrets(params, secrets));
  if (ciphertext_bytes == params.ciphertext_bytes()) return absl::OkStatus();
  return base::InvalidArgument("`ciphertext` has {} bytes, {} are needed", ciphertext_bytes,
                               params.ciphertext_bytes());
}

void RequireBlock(const AggregationParams& params, uint64_t polynomial, size_t counts) {
  const uint64_t first = polynomial * params.values_per_polynomial();
  if (first < params.dimension() &&
      counts == std::min(params.values_per_polynomial(), params.dimension() - first)) {
    return;
  }
  std::fprintf(stderr, "tacet: block %llu of an encryption or decryption has %zu values\n",
               static_cast<unsigned long long>(polynomial), counts);
  std::abort();
}

void RequireEnd(const AggregationParams& params, uint64_t polynomial) {
  if (polynomial == params.polynomials()) return;
  std::fprintf(stderr, "tacet: the tag comes after block %llu of an encryption or decryption\n",
               static_cast<unsigned long long>(polynomial));
  std::abort();
}

absl::Status CheckCiphertextLength(const AggregationParams& params, size_t bytes) {
  if (bytes == params.ciphertext_bytes()) return absl::OkStatus();
  return base::DataLoss("ciphertext: length is {} bytes, scheme {} at dimension {} has {}", bytes,
                        SchemeName(params.scheme()), params.dimension(), params.ciphertext_bytes());
}

absl::Status CheckAnnounced(const Contribution& contribution, const WordSums& words) {
  if (!contribution.announced.has_value() || words == *contribution.announced) {
    return absl::OkStatus();
  }
  return base::DataLoss(
      "ciphertext: its words do not fit the field `checksum`: damaged on the way");
}

absl::Status CheckRoomInSum(const AggregationParams& params, uint64_t count_after) {
  if (count_after <= params.max_participants()) return absl::OkStatus();
  return base::FailedPrecondition("the sum would hold {} ciphertexts, `max_participants` is {}",
                                  count_after, params.max_participants());
}

absl::Status CheckMerge(const AggregationParams& params, const AggregationParams* other) {
  if (other != nullptr && SameParams(params, *other)) return absl::OkStatus();
  return base::InvalidArgument("the sums to be merged have different parameters");
}

absl::Status CheckAggregatedCiphertext(const AggregationParams& params, size_t bytes,
                                       uint32_t participants) {
  if (participants == 0 || participants > params.max_participants()) {
    return base::InvalidArgument("`participants` is {}, the parameters allow 1 to {}", participants,
                                 params.max_participants());
  }
  if (bytes == params.aggregated_ciphertext_bytes()) return absl::OkStatus();
  return base::DataLoss(
      "aggregated ciphertext: length is {} bytes, scheme {} at dimension {} has {}", bytes,
      SchemeName(params.scheme()), params.dimension(), params.aggregated_ciphertext_bytes());
}

}  // namespace tacet::he
