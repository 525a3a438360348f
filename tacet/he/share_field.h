// Field of the shares: words below p = 65521, values of polynomials at the points of secrets and
// seats.
#ifndef TACET_HE_SHARE_FIELD_H_
#define TACET_HE_SHARE_FIELD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tacet::he {

inline constexpr uint32_t kSharePrime = 65521;  // p, the largest prime below 2^16

// Point at which seat c has its value of a polynomial, and that of a secret.
constexpr uint32_t SeatPoint(uint32_t seat) { return seat + 1; }
constexpr uint32_t SecretPoint(uint32_t secret) { return kSharePrime - 1 - secret; }

// Row r holds the factors that turn the values at `from` of a polynomial of degree below
// from.size() into its value at to[r]. Points are public and distinct.
using ShareMatrix = std::vector<std::vector<uint16_t>>;
ShareMatrix InterpolateShares(std::span<const uint32_t> from, std::span<const uint32_t> to);

// x mod p for x < 2^48, without a branch: 2^16 = 15 mod p, so three foldings leave less than 2 p.
inline uint32_t ReduceShare(uint64_t x) {
  x = (x & 0xffff) + 15 * (x >> 16);
  x = (x & 0xffff) + 15 * (x >> 16);
  x = (x & 0xffff) + 15 * (x >> 16);
  const uint32_t less = static_cast<uint32_t>(x) - kSharePrime;
  return less + (kSharePrime & (0 - (less >> 31)));
}

// Whether all words are below p. The time depends on their number alone.
inline bool AllBelowSharePrime(std::span<const uint16_t> words) {
  uint32_t carries = 0;
  for (const uint16_t word : words) carries |= word + (65536 - kSharePrime);
  return carries < 65536;
}

// Words in bytes, little-endian.
inline uint16_t LoadShareWord(std::span<const uint8_t> bytes, size_t index) {
  return static_cast<uint16_t>(bytes[2 * index] | bytes[2 * index + 1] << 8);
}
inline void StoreShareWord(uint64_t word, size_t index, std::span<uint8_t> bytes) {
  bytes[2 * index] = static_cast<uint8_t>(word);
  bytes[2 * index + 1] = static_cast<uint8_t>(word >> 8);
}

// Continues to the next subset of {0, ..., n - 1} with as many elements, in lexicographic order;
// false after the last.
bool NextSubset(std::vector<size_t>& subset, size_t n);

}  // namespace tacet::he

#endif  // TACET_HE_SHARE_FIELD_H_
