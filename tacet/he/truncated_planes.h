// Coefficients modulo Q on the wire: the low bits dropped, the rest in three planes of words.
#ifndef TACET_HE_TRUNCATED_PLANES_H_
#define TACET_HE_TRUNCATED_PLANES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tacet/he/word_sums.h"
#include "tacet/ring/crt.h"
#include "tacet/ring/words.h"

namespace tacet::he {

// c in [0, Q) is sent as floor(c / 2^4), 96 bits. The error c mod 2^4 is uniform on 0, ..., 15:
// mean 7.5, variance (2^8 - 1) / 12.
inline constexpr uint32_t kDropBits = 4;
inline constexpr double kTruncationVariance = 255.0 / 12;
inline constexpr size_t kPlaneBytes = 12;  // a coefficient

// Σ c less 2^4 Σ floor(c / 2^4) has mean 7.5 K'; this is its floor.
constexpr uint64_t TruncationMean(uint32_t participants) {
  return uint64_t{participants} * ((1u << kDropBits) - 1) / 2;
}

// Writes coefficient `index` of `count` into `planes` (12 count bytes): all low words, then all
// middle words, then all high words, little-endian.
inline void StoreCoefficient(ring::Uint128 coefficient, size_t index, size_t count,
                             uint8_t* planes) {
  const ring::Uint128 kept = coefficient >> kDropBits;
  ring::StoreWord32(static_cast<uint32_t>(kept), planes + 4 * index);
  ring::StoreWord32(static_cast<uint32_t>(kept >> 32), planes + 4 * (count + index));
  ring::StoreWord32(static_cast<uint32_t>(kept >> 64), planes + 4 * (2 * count + index));
}

// The first coefficient that is not floor(c / 2^4) of a c in [0, Q).
std::optional<size_t> FindNonCanonical(std::span<const uint8_t> planes);

// Sums of coefficients, word by word: u32 words in u64 sums, exact for 2^32 - 1 additions. No key,
// no modular arithmetic.
class PlaneSums {
 public:
  explicit PlaneSums(size_t count) : words_(3 * count) {}

  size_t count() const { return words_.size() / 3; }

  // Adds the planes (12 count() bytes each) of up to kAddedAtOnce ciphertexts, and tells the sums
  // of each one's words.
  void Add(std::span<const uint8_t* const> planes, std::span<WordSums> of_planes);
  void Subtract(const uint8_t* planes);  // undoes Add of one
  void Merge(const PlaneSums& other);

  // 2^4 times coefficient `index` of the sum, mod the prime.
  uint64_t Residue(size_t index, const ring::Modulus& modulus) const;
  // All residues mod kPrime0, then all mod kPrime1, as little-endian u64: 16 count() bytes.
  void WriteResidues(std::span<uint8_t> bytes) const;

 private:
  std::vector<uint64_t> words_;  // low, middle, high
};

}  // namespace tacet::he

#endif  // TACET_HE_TRUNCATED_PLANES_H_
