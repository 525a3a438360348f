// Scheme compact: key-additive homomorphic encryption (KAHE) of the payload under a one-time key.
//
// Ring Z_Q[X]/(X^N + 1), N = 4096, Q = p0 p1. A seal draws one key k; polynomial j of its payload
// is
//   c_j = a_j k + e_j + 2^kappa m_j mod Q,   k, e_j ~ CBD(21)^N,
// with a_j public and the same for all uploads of a round, m_j the counts in slots (slots.h). The
// last polynomial carries the MAC (tag_polynomial.h). c_j is sent truncated (truncated_planes.h).
// Sums of c_j decrypt under Σk, which alone the committee's answers give (key_sharing.h). Bytes:
// docs/formats/ciphertext.md.
//
// The key is as wide as the error because Σk becomes known. The sum of two ternary keys determines
// 2/9 of their coefficients; the sum of two CBD(21) keys leaves each a deviation of 2.29
// (docs/security/rlwe.md).
#ifndef TACET_HE_COMPACT_H_
#define TACET_HE_COMPACT_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/crypto/hash.h"
#include "tacet/he/aggregation.h"
#include "tacet/ring/aligned.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"
#include "tacet/ring/slot_layout.h"

namespace tacet::he {

// The payload's error budget, z sqrt(K (sigma_e^2 + var of the truncation)) + 1/2 < 2^(kappa - 1)
// with z = sqrt(2 * 81 ln 2), so that a coefficient of the sum is wrong with probability below
// 2^-80: both errors are sub-Gaussian with their variances. kappa runs from 9 to 17.
inline constexpr uint32_t kMinScaleBits = 9;
inline constexpr uint32_t kMaxScaleBits = 17;
uint32_t MaxParticipantsAtScale(uint32_t scale_bits);
// The variance of that error, one upload: 31.75.
double CompactNoiseVariance();

// True when every sum of L slots, each in [-B, B], with its error stays inside (-Q/2, Q/2):
//   2^kappa B (2^(w L) - 1) / (2^w - 1) + 2^(kappa - 1) <= (Q - 1) / 2.
bool SlotsFit(uint32_t slots, uint32_t slot_bits, uint32_t scale_bits, uint64_t sum_bound);

// a_j of a round: N words mod kPrimes[0], then N mod kPrimes[1], NTT domain.
void ExpandPayload(std::span<const uint8_t> public_seed, uint64_t j, std::span<uint64_t> a_ntt);

// The a_j of a round, public. Up to kMaxKept of them are expanded once and kept (64 KiB each);
// more are expanded whenever they are used, so that memory does not grow with the model: that takes
// about as long as the rest of encrypting a polynomial. Immutable and thread-safe.
class PayloadPolynomials {
 public:
  static constexpr uint64_t kMaxKept = 1024;

  PayloadPolynomials(std::span<const uint8_t> public_seed, uint64_t polynomials);

  bool AreOf(std::span<const uint8_t> public_seed, uint64_t polynomials) const;
  // The result of ExpandPayload. It may lie in `buffer`, the caller's own, until its next use.
  std::span<const uint64_t> At(uint64_t j, ring::AlignedWords& buffer) const;

 private:
  crypto::Digest seed_{};
  uint64_t polynomials_ = 0;
  ring::AlignedWords kept_;  // one after the other; empty: none
};

// The same, expanded once for all that ask one after the other: a member that seals an upload and
// decrypts the sum of the same attempt, or several members in one process. The last ones stay in
// memory, 8 MiB of them at most; larger ones are the caller's alone. Thread-safe.
inline constexpr uint64_t kMaxSharedPolynomials = 128;
std::shared_ptr<const PayloadPolynomials> SharedPayloadPolynomials(
    std::span<const uint8_t> public_seed, uint64_t polynomials);

// For arguments that were checked.
std::unique_ptr<Encryptor> MakeCompactEncryptor(const AggregationParams& params,
                                                std::span<const uint8_t> public_seed);
std::unique_ptr<Adder> MakeCompactAdder(const AggregationParams& params, size_t tasks,
                                        base::ParallelFor run);
std::unique_ptr<Decryptor> MakeCompactDecryptor(const AggregationParams& params,
                                                std::span<const uint8_t> public_seed,
                                                crypto::SecretVector<int32_t> key_sum);

}  // namespace tacet::he

#endif  // TACET_HE_COMPACT_H_
