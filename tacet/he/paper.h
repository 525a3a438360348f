// The paper's scheme: BFV (Fan and Vercauteren 2012) at its published size, additions only.
//
// Ring Z_Q[X]/(X^N + 1), N = 8192, Q = p0. One value a coefficient (the paper packs slots; to one
// who only adds the two are the same), t = 2^w and Delta = (Q - 1) / t exactly, since 2^38 divides
// Q - 1. A ciphertext (c0, c1) has the phase c0 + c1 s = Delta m + e mod Q.
//   public key:  pk = (-a s + e', a);  c0 = pk0 u + e0 + Delta m,  c1 = pk1 u + e1
//   secret key:  c1 = a fresh uniform polynomial, sent as a seed;  c0 = -c1 s + e0 + Delta m
// A ciphertext ends with the tag in clear: anyone who can unmask it holds the group secret, too.
// with s, u ternary and e', e0, e1 ~ CBD(21)^N. Counts are not reduced mod t: the phase of a sum is
// Delta Σm + Σe, and nothing wraps once the known offset is subtracted. Bytes:
// docs/formats/ciphertext.md.
#ifndef TACET_HE_PAPER_H_
#define TACET_HE_PAPER_H_

#include <cstdint>
#include <memory>
#include <span>

#include "tacet/he/aggregation.h"
#include "tacet/ring/modulus.h"

namespace tacet::he {

inline constexpr uint32_t kMaxPaperBits = 38;

// Delta = (Q - 1) / 2^w.
constexpr uint64_t PaperDelta(uint32_t plaintext_bits) {
  return (ring::kPrime0 - 1) >> plaintext_bits;
}

// A bound on |Σe| of `participants` uploads that a coefficient exceeds with probability below
// 2^-80: z sqrt(K V), z = sqrt(2 * 81 ln 2), where V = 10.5 with a secret key. With a public key
// the error e' u + e0 + e1 s is sub-Gaussian with V = 10.5 (1 + 2 N): e1 s given s, at most N
// non-zeros; e' u given e', with |e'|^2 < 1.5 * 10.5 N but for 2^-100 and u of variance 2/3.
double PaperErrorBound(Scheme scheme, uint32_t participants);

// The variance of an upload's error: 10.5, or 10.5 (1 + 4 N / 3) with a public key.
double PaperNoiseVariance(Scheme scheme);

// True when the error stays below Delta (1/2 - 2^-16), where rounding is exact; sums up to
// 2^(w-1) - 1 then fit as well.
bool PaperErrorFits(Scheme scheme, uint32_t participants, uint32_t plaintext_bits);

// `params` is of one of the two schemes.
std::unique_ptr<Encryptor> MakePaperEncryptor(const AggregationParams& params,
                                              std::span<const uint8_t> public_seed,
                                              const crypto::SecretBytes& group_secret);
std::unique_ptr<Adder> MakePaperAdder(const AggregationParams& params);
std::unique_ptr<Decryptor> MakePaperDecryptor(const AggregationParams& params,
                                              const crypto::SecretBytes& group_secret);

}  // namespace tacet::he

#endif  // TACET_HE_PAPER_H_
