#include "tacet/ring/ntt.h"

#include <array>

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

std::vector<ShoupFactor> PowersInReversedOrder(const Modulus& modulus, size_t degree,
                                               uint64_t root) {
  std::vector<ShoupFactor> powers(degree);
  uint64_t power = 1;
  for (size_t i = 0; i < degree; ++i) {
    powers[ReverseBits(i, degree)] = modulus.Shoup(power);
    power = modulus.Multiply(power, root);
  }
  return powers;
}

}  // namespace

Ntt::Ntt(const Modulus& modulus, size_t degree, uint64_t root)
    : modulus_(modulus),
      degree_(degree),
      roots_(PowersInReversedOrder(modulus, degree, root)),
      inverse_roots_(PowersInReversedOrder(modulus, degree, modulus.Inverse(root))),
      inverse_degree_(modulus.Shoup(modulus.Inverse(degree))) {}

void Ntt::Forward(std::span<uint64_t> polynomial) const {
  uint64_t* const a = polynomial.data();
  const uint64_t two_p = 2 * modulus_.prime();
  // A stage adds at most 2p to the largest value: below 2p + 2p log2 N < 2^56 at the end.
  for (size_t blocks = 1, half = degree_ / 2; blocks < degree_; blocks *= 2, half /= 2) {
    for (size_t block = 0; block < blocks; ++block) {
      const ShoupFactor root = roots_[blocks + block];
      uint64_t* const low = a + 2 * block * half;
      uint64_t* const high = low + half;
      for (size_t i = 0; i < half; ++i) {
        const uint64_t u = low[i];
        const uint64_t v = modulus_.MultiplyLazy(high[i], root);
        low[i] = u + v;
        high[i] = u + two_p - v;
      }
    }
  }
  for (size_t i = 0; i < degree_; ++i) a[i] = modulus_.Reduce(a[i]);
}

void Ntt::Inverse(std::span<uint64_t> polynomial) const {
  uint64_t* const a = polynomial.data();
  // `bound` is above every value: sums double it, products fall below 2p. At N = 8192 it ends at
  // 2^14 p < 2^64.
  uint64_t bound = 2 * modulus_.prime();
  for (size_t blocks = degree_ / 2, half = 1; blocks >= 1; blocks /= 2, half *= 2) {
    for (size_t block = 0; block < blocks; ++block) {
      const ShoupFactor root = inverse_roots_[blocks + block];
      uint64_t* const low = a + 2 * block * half;
      uint64_t* const high = low + half;
      for (size_t i = 0; i < half; ++i) {
        const uint64_t u = low[i];
        const uint64_t v = high[i];
        low[i] = u + v;
        high[i] = modulus_.MultiplyLazy(u + bound - v, root);
      }
    }
    bound *= 2;
  }
  for (size_t i = 0; i < degree_; ++i) a[i] = modulus_.Multiply(a[i], inverse_degree_);
}

const Ntt& CompactNtt(size_t prime) {
  static const std::array<Ntt, 2> transforms = {Ntt(kModulus0, kCompactDegree, 856596136628),
                                                Ntt(kModulus1, kCompactDegree, 935425415354)};
  return transforms[prime];
}

const Ntt& PaperNtt() {
  static const Ntt transform(kModulus0, kPaperDegree, 3135627360);
  return transform;
}

}  // namespace tacet::ring
