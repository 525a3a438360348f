// Polynomials of Z_p[X]/(X^N + 1) as spans of N residues, and what is done to all of them at once.
//
// A span's domain is in its name: `..._ntt` holds values in the order of ring::Ntt, everything else
// holds coefficients. All functions take the same time whatever the values.
#ifndef TACET_RING_POLYNOMIAL_H_
#define TACET_RING_POLYNOMIAL_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/base/secret.h"
#include "tacet/ring/modulus.h"
#include "tacet/ring/ntt.h"

namespace tacet::ring {

// sum[i] <- sum[i] + term[i] mod p; canonical.
void AddInPlace(std::span<uint64_t> sum, std::span<const uint64_t> term, const Modulus& modulus);

// The values of a polynomial with small signed coefficients; canonical.
template <typename Small>
void ForwardOfSmall(std::span<const Small> small, const Ntt& ntt, std::span<uint64_t> values_ntt) {
  for (size_t i = 0; i < small.size(); ++i) {
    values_ntt[i] = ntt.modulus().FromSigned(small[i]);
  }
  ntt.Forward(values_ntt);
}

// A (secret) polynomial with small coefficients that many others are multiplied by: its values with
// their Shoup quotients. Wiped when it goes.
class Multiplier {
 public:
  // From coefficients in (-p, p).
  template <typename Small>
  Multiplier(std::span<const Small> small, const Ntt& ntt) : ntt_(&ntt), factors_(small.size()) {
    base::SecretVector<uint64_t> values_ntt(small.size());
    ForwardOfSmall(small, ntt, values_ntt.Expose());
    SetFactors(values_ntt.Expose());
  }
  // From canonical values.
  Multiplier(std::span<const uint64_t> values_ntt, const Ntt& ntt)
      : ntt_(&ntt), factors_(values_ntt.size()) {
    SetFactors(values_ntt);
  }

  // product[i] = other[i] factor[i] mod p, canonical.
  void MultiplyNtt(std::span<const uint64_t> other_ntt, std::span<uint64_t> product_ntt) const;
  // The coefficients of the product in the ring, canonical.
  void Multiply(std::span<const uint64_t> other_ntt, std::span<uint64_t> product) const;

 private:
  void SetFactors(std::span<const uint64_t> values_ntt);

  const Ntt* ntt_;
  base::SecretVector<ShoupFactor> factors_;
};

}  // namespace tacet::ring

#endif  // TACET_RING_POLYNOMIAL_H_
