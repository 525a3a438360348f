// Polynomials of Z_p[X]/(X^N + 1) as spans of N residues, and operations on all coefficients at
// once.
//
// A span's domain is in its name: `..._ntt` holds values in the order of ring::Ntt, everything else
// holds coefficients. All functions take the same time whatever the values.
#ifndef TACET_RING_POLYNOMIAL_H_
#define TACET_RING_POLYNOMIAL_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/crypto/secret.h"
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

// A (secret) polynomial that others are multiplied by value by value. Wiped when it goes.
class ValueMultiplier {
 public:
  // Made from canonical values.
  ValueMultiplier(std::span<const uint64_t> values_ntt, const Ntt& ntt);

  // product[i] = other[i] factor[i] mod p, canonical; the arrays may be the same.
  void Multiply(std::span<const uint64_t> other_ntt, std::span<uint64_t> product_ntt) const;

 private:
  const Ntt* ntt_;
  crypto::SecretVector<uint64_t> factors_;
};

// A (secret) polynomial that others are multiplied by in the ring: its values over N, since the
// inverse transform of the kernels leaves a factor of N. Wiped when it goes.
class Multiplier {
 public:
  // Made from canonical values.
  Multiplier(std::span<const uint64_t> values_ntt, const Ntt& ntt) : Multiplier(ntt) {
    SetFactors(values_ntt);
  }
  // Made from coefficients in (-p, p).
  template <typename Small>
  Multiplier(std::span<const Small> small, const Ntt& ntt) : Multiplier(ntt) {
    crypto::SecretVector<uint64_t> values_ntt(ntt.degree());
    ForwardOfSmall(small, ntt, values_ntt.Expose());
    SetFactors(values_ntt.Expose());
  }

  const Ntt& ntt() const { return *ntt_; }
  // For ProductModQ.
  const uint64_t* factors() const { return factors_.Expose().data(); }

  // The coefficients of the product in the ring, canonical.
  void Multiply(std::span<const uint64_t> other_ntt, std::span<uint64_t> product) const;

 private:
  explicit Multiplier(const Ntt& ntt) : ntt_(&ntt), factors_(2 * ntt.degree()) {}
  void SetFactors(std::span<const uint64_t> values_ntt);

  const Ntt* ntt_;
  crypto::SecretVector<uint64_t> factors_;
};

}  // namespace tacet::ring

#endif  // TACET_RING_POLYNOMIAL_H_
