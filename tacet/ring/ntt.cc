#include "tacet/ring/ntt.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tacet/ring/kernels.h"

namespace tacet::ring {
namespace {

size_t ReverseBits(size_t value, size_t degree) {
  size_t reversed = 0;
  for (size_t bit = 1; bit < degree; bit <<= 1) {
    reversed = (reversed << 1) | (value & 1);
    value >>= 1;
  }
  return reversed;
}

// Factors root^brv(i), in the form and order of the kernels.
AlignedWords PowersInReversedOrder(const Modulus& modulus, size_t degree, uint64_t root,
                                   const Kernels& kernels) {
  std::vector<uint64_t> powers(degree);
  const ShoupFactor factor = modulus.Shoup(root);
  uint64_t power = 1;
  for (size_t i = 0; i < degree; ++i) {
    powers[ReverseBits(i, degree)] = power;
    power = modulus.Multiply(power, factor);
  }
  const AlignedWords arranged = ArrangeRoots(powers, kernels.lanes);
  AlignedWords factors(2 * degree);
  kernels.make_factors(modulus, arranged.data(), 1, degree, factors.data());
  return factors;
}

// One transform for each set of kernels, made when it is first asked for.
struct PerSet {
  const Kernels* kernels;
  std::array<Ntt, 2> compact;
  Ntt paper;

  explicit PerSet(const Kernels* set)
      : kernels(set),
        compact{Ntt(kModulus0, kCompactDegree, 856596136628, *set),
                Ntt(kModulus1, kCompactDegree, 935425415354, *set)},
        paper(kModulus0, kPaperDegree, 3135627360, *set) {}
};

const PerSet& TransformsOf(const Kernels& kernels) {
  static const PerSet active(&ActiveKernels());
  if (&kernels == active.kernels) return active;
  static const std::vector<PerSet> all(AvailableKernels().begin(), AvailableKernels().end());
  return *std::find_if(all.begin(), all.end(),
                       [&](const PerSet& set) { return set.kernels == &kernels; });
}

}  // namespace

Ntt::Ntt(const Modulus& modulus, size_t degree, uint64_t root, const Kernels& kernels)
    : kernels_(&kernels),
      tables_{
          .modulus = modulus,
          .degree = degree,
          .roots = PowersInReversedOrder(modulus, degree, root, kernels),
          .inverse_roots = PowersInReversedOrder(modulus, degree, modulus.Inverse(root), kernels)},
      inverse_degree_(modulus.Inverse(degree)) {}

void Ntt::Forward(std::span<uint64_t> polynomial) const {
  kernels_->forward(tables_, polynomial.data());
}

void Ntt::Inverse(std::span<uint64_t> polynomial) const {
  kernels_->inverse(tables_, polynomial.data());
  const ShoupFactor factor = modulus().Shoup(inverse_degree_);
  for (uint64_t& coefficient : polynomial) coefficient = modulus().Multiply(coefficient, factor);
}

const Ntt& CompactNtt(size_t prime, const Kernels& kernels) {
  return TransformsOf(kernels).compact[prime];
}

const Ntt& PaperNtt(const Kernels& kernels) { return TransformsOf(kernels).paper; }

}  // namespace tacet::ring
