// Arithmetic modulo a prime below 2^51, in time that does not depend on the values.
#ifndef TACET_RING_MODULUS_H_
#define TACET_RING_MODULUS_H_

#include <array>
#include <cstdint>
#include <type_traits>

namespace tacet::ring {

using Uint128 = unsigned __int128;
using Int128 = __int128;

// The two primes of the ciphertext modulus. p - 1 is divisible by 2^38 for kPrime0 and by 2^14 for
// kPrime1, so both have primitive roots of unity of order 2N for N = 4096 and 8192. A uniform
// 50-bit word is not below them with probability 2^-12.
inline constexpr uint64_t kPrime0 = 1125625028935681;  // 2^50 - 2^38 + 1
inline constexpr uint64_t kPrime1 = 1125625028755457;
inline constexpr std::array<uint64_t, 2> kPrimes = {kPrime0, kPrime1};
inline constexpr int kPrimeBits = 50;

constexpr uint64_t MultiplyHigh(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>((static_cast<Uint128>(a) * b) >> 64);
}

// All ones when the top bit of x is set, else zero. Opaque to the optimiser, which may otherwise
// turn what is done with such a mask into a branch (clang 14 does).
constexpr uint64_t MaskOfTopBit(uint64_t x) {
  uint64_t mask = uint64_t{0} - (x >> 63);
  if (!std::is_constant_evaluated()) {
    asm("" : "+r"(mask));
  }
  return mask;
}

// x - bound when x >= bound, else x; x < 2^63.
constexpr uint64_t SubtractIfNotBelow(uint64_t x, uint64_t bound) {
  const uint64_t difference = x - bound;
  return difference + (bound & MaskOfTopBit(difference));
}

// A constant factor w < p with floor(w 2^64 / p), so that a product needs no division (Shoup).
struct ShoupFactor {
  uint64_t value = 0;
  uint64_t quotient = 0;
};

// Z_p for a fixed prime p, 2^49 < p < 2^50. "Canonical" means in [0, p).
class Modulus {
 public:
  constexpr explicit Modulus(uint64_t prime)
      : prime_(prime),
        barrett_(static_cast<uint64_t>((Uint128{1} << 64) / prime)),
        shoup_reciprocal_(
            static_cast<uint64_t>((Uint128{1} << (64 + kPrimeBits)) / prime - (Uint128{1} << 64))),
        word_(Divide(static_cast<uint64_t>((Uint128{1} << 64) % prime))) {}

  constexpr uint64_t prime() const { return prime_; }

  // Canonical a, b.
  constexpr uint64_t Add(uint64_t a, uint64_t b) const { return SubtractIfNotBelow(a + b, prime_); }
  constexpr uint64_t Subtract(uint64_t a, uint64_t b) const {
    return SubtractIfNotBelow(a + prime_ - b, prime_);
  }

  // x mod p for any x: the quotient's estimate by Barrett is at most one too small.
  constexpr uint64_t Reduce(uint64_t x) const {
    return SubtractIfNotBelow(x - MultiplyHigh(x, barrett_) * prime_, prime_);
  }
  constexpr uint64_t Reduce(Uint128 x) const {
    return Reduce(MultiplyLazy(static_cast<uint64_t>(x >> 64), word_) +
                  Reduce(static_cast<uint64_t>(x)));
  }
  // x mod p for |x| < p.
  constexpr uint64_t FromSigned(int64_t x) const {
    return static_cast<uint64_t>(x) + (prime_ & MaskOfTopBit(static_cast<uint64_t>(x)));
  }

  // a w mod p in [0, 2p) for any a.
  constexpr uint64_t MultiplyLazy(uint64_t a, const ShoupFactor& w) const {
    return a * w.value - MultiplyHigh(a, w.quotient) * prime_;
  }
  // Canonical.
  constexpr uint64_t Multiply(uint64_t a, const ShoupFactor& w) const {
    return SubtractIfNotBelow(MultiplyLazy(a, w), prime_);
  }
  constexpr uint64_t Multiply(uint64_t a, uint64_t b) const {
    return Reduce(static_cast<Uint128>(a) * b);
  }

  // w canonical, possibly secret: floor(w 2^64 / p) by multiplication, since the time of a division
  // depends on its operands. With r = floor(2^114 / p), floor(w r / 2^50) is at most one too small.
  constexpr ShoupFactor Shoup(uint64_t w) const {
    const Uint128 product =
        (static_cast<Uint128>(w) << 64) + static_cast<Uint128>(w) * shoup_reciprocal_;
    const uint64_t estimate = static_cast<uint64_t>(product >> kPrimeBits);
    const uint64_t remainder = uint64_t{0} - estimate * prime_;  // w 2^64 - estimate p, below 2p
    return {w, estimate + 1 - ((remainder - prime_) >> 63)};
  }

  constexpr uint64_t Power(uint64_t base, uint64_t exponent) const {  // public arguments
    uint64_t result = 1;
    for (; exponent != 0; exponent >>= 1) {
      if ((exponent & 1) != 0) result = Multiply(result, base);
      base = Multiply(base, base);
    }
    return result;
  }
  constexpr uint64_t Inverse(uint64_t x) const { return Power(x, prime_ - 2); }  // public x != 0

 private:
  constexpr ShoupFactor Divide(uint64_t w) const {
    return {w, static_cast<uint64_t>((static_cast<Uint128>(w) << 64) / prime_)};
  }

  uint64_t prime_;
  uint64_t barrett_;           // floor(2^64 / p)
  uint64_t shoup_reciprocal_;  // floor(2^114 / p) - 2^64
  ShoupFactor word_;           // 2^64 mod p
};

inline constexpr Modulus kModulus0{kPrime0};
inline constexpr Modulus kModulus1{kPrime1};
inline constexpr std::array<Modulus, 2> kModuli = {kModulus0, kModulus1};

}  // namespace tacet::ring

#endif  // TACET_RING_MODULUS_H_
