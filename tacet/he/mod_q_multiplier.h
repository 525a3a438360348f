// Factors of products in Z_Q[X]/(X^N + 1), Q the product of both primes of scheme compact.
#ifndef TACET_HE_MOD_Q_MULTIPLIER_H_
#define TACET_HE_MOD_Q_MULTIPLIER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/ring/kernels.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"

namespace tacet::he {

// A (secret) polynomial with small coefficients mod both primes, for products in Z_Q[X]/(X^N + 1).
class ModQMultiplier {
 public:
  template <typename Small>
  explicit ModQMultiplier(std::span<const Small> small)
      : factors_{ring::Multiplier(small, ring::CompactNtt(0)),
                 ring::Multiplier(small, ring::CompactNtt(1))} {}

  const ring::Multiplier& mod(size_t prime) const { return factors_[prime]; }

  // The product with a polynomial, N values mod kPrimes[0], then N mod kPrimes[1]. `scratch` has
  // ring::ScratchWords(N) words.
  ring::ProductModQ Times(std::span<const uint64_t> a_ntt, std::span<uint64_t> scratch) const {
    return {.tables = {&factors_[0].ntt().tables(), &factors_[1].ntt().tables()},
            .a_ntt = {a_ntt.data(), a_ntt.data() + ring::kCompactDegree},
            .k_factors = {factors_[0].factors(), factors_[1].factors()},
            .scratch = scratch.data()};
  }

 private:
  std::array<ring::Multiplier, 2> factors_;
};

}  // namespace tacet::he

#endif  // TACET_HE_MOD_Q_MULTIPLIER_H_
