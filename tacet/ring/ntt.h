// The negacyclic number-theoretic transform of Z_p[X]/(X^N + 1).
#ifndef TACET_RING_NTT_H_
#define TACET_RING_NTT_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/ring/active_kernels.h"
#include "tacet/ring/modulus.h"
#include "tacet/ring/ntt_tables.h"

namespace tacet::ring {

// N coefficients of f <-> N values f(psi^(2 brv(i) + 1)), i = 0, ..., N - 1, where psi is the
// smallest primitive 2N-th root of unity mod p and brv reverses the log2 N bits of i. Products of
// values are products in the ring. Root and order are part of the formats (expanded polynomials
// are born in this domain). Immutable; the time does not depend on the values.
class Ntt {
 public:
  // `root` is psi. N is a power of two, 64 <= N <= 8192, and 2N divides p - 1.
  Ntt(const Modulus& modulus, size_t degree, uint64_t root, const Kernels& kernels);

  const Modulus& modulus() const { return tables_.modulus; }
  size_t degree() const { return tables_.degree; }
  const Kernels& kernels() const { return *kernels_; }
  const NttTables& tables() const { return tables_; }
  uint64_t inverse_degree() const { return inverse_degree_; }  // 1 / N mod p

  // In place. Coefficients below 2p in, canonical values out (Cooley-Tukey, Longa and Naehrig
  // 2016).
  void Forward(std::span<uint64_t> polynomial) const;
  // In place. Canonical values in, canonical coefficients out (Gentleman-Sande).
  void Inverse(std::span<uint64_t> polynomial) const;

 private:
  const Kernels* kernels_;
  NttTables tables_;
  uint64_t inverse_degree_;
};

inline constexpr size_t kCompactDegree = 4096;
inline constexpr size_t kPaperDegree = 8192;

// The transforms of the formats, made on first use for each set of kernels: kPrimes[prime] at
// N = 4096 with psi = 856596136628 and 935425415354, and kPrime0 at N = 8192 with psi = 3135627360.
const Ntt& CompactNtt(size_t prime, const Kernels& kernels = ActiveKernels());
const Ntt& PaperNtt(const Kernels& kernels = ActiveKernels());

}  // namespace tacet::ring

#endif  // TACET_RING_NTT_H_
