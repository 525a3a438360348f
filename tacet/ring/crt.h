// Composite modulus Q = p0 p1, and the conversion between Z_Q and its two residues.
#ifndef TACET_RING_CRT_H_
#define TACET_RING_CRT_H_

#include <cstdint>

#include "tacet/ring/modulus.h"

namespace tacet::ring {

// Q = 1267031705563588043308730761217, log2 Q = 99.9993.
inline constexpr Uint128 kModulusQ = static_cast<Uint128>(kPrime0) * kPrime1;
inline constexpr double kLog2ModulusQ = 99.99929547282575;

// The x in [0, Q) with x = x0 mod p0 and x = x1 mod p1 (both canonical), by Garner:
// x = x0 + p0 ((x1 - x0) / p0 mod p1). |p0 - p1| < p1, so x0 mod p1 takes one subtraction.
constexpr Uint128 ComposeCrt(uint64_t x0, uint64_t x1) {
  constexpr ShoupFactor kInverse = kModulus1.Shoup(kModulus1.Inverse(kPrime0 - kPrime1));
  const uint64_t difference = kModulus1.Subtract(x1, SubtractIfNotBelow(x0, kPrime1));
  return x0 + static_cast<Uint128>(kPrime0) * kModulus1.Multiply(difference, kInverse);
}

// Q when the top bit of x is set, else zero.
constexpr Uint128 QIfTopBit(Uint128 x) {
  const uint64_t mask = MaskOfTopBit(static_cast<uint64_t>(x >> 64));
  return kModulusQ & ((static_cast<Uint128>(mask) << 64) | mask);
}

// x - Q when x >= Q, else x; x < 2^127.
constexpr Uint128 SubtractQIfNotBelow(Uint128 x) {
  const Uint128 difference = x - kModulusQ;
  return difference + QIfTopBit(difference);
}

// x mod Q for x < 2^127. With m = floor(2^163 / Q), x / Q - floor(x / 2^64) m / 2^99 < 2^-35: its
// floor leaves less than 2Q.
constexpr Uint128 ReduceQ(Uint128 x) {
  // floor(2^163 / Q) by long division: 2^127 = a Q + b, then 36 more bits of b 2^36 / Q.
  constexpr uint64_t kReciprocal = [] {
    Uint128 quotient = (Uint128{1} << 127) / kModulusQ;
    Uint128 rest = (Uint128{1} << 127) % kModulusQ;
    for (int i = 0; i < 36; ++i) {
      rest <<= 1;
      quotient <<= 1;
      if (rest >= kModulusQ) {
        rest -= kModulusQ;
        quotient |= 1;
      }
    }
    return static_cast<uint64_t>(quotient);
  }();
  const uint64_t estimate = static_cast<uint64_t>(
      (static_cast<Uint128>(static_cast<uint64_t>(x >> 64)) * kReciprocal) >> 99);
  return SubtractQIfNotBelow(x - kModulusQ * estimate);
}

// The representative of x in [0, Q) that lies in [-(Q-1)/2, (Q-1)/2].
constexpr Int128 CentreQ(Uint128 x) {
  return static_cast<Int128>(x - QIfTopBit((kModulusQ - 1) / 2 - x));
}

}  // namespace tacet::ring

#endif  // TACET_RING_CRT_H_
