#include "tacet/he/truncated_planes.h"

#include "tacet/he/sum_kernels.h"

namespace tacet::he {

std::optional<size_t> FindNonCanonical(std::span<const uint8_t> planes) {
  constexpr ring::Uint128 kLargest = (ring::kModulusQ - 1) >> kDropBits;
  constexpr uint32_t kLargestHigh = static_cast<uint32_t>(kLargest >> 64);
  const size_t count = planes.size() / kPlaneBytes;
  const uint8_t* const high = planes.data() + 8 * count;
  // One honest word in 2^32 reaches the largest; only then the lower words are looked at.
  if (ActiveSumKernels().largest_word(high, count) < kLargestHigh) {
    return std::nullopt;
  }
  for (size_t i = 0; i < count; ++i) {
    const ring::Uint128 kept =
        (static_cast<ring::Uint128>(ring::LoadWord32(high + 4 * i)) << 64) +
        (static_cast<ring::Uint128>(ring::LoadWord32(planes.data() + 4 * (count + i))) << 32) +
        ring::LoadWord32(planes.data() + 4 * i);
    if (kept > kLargest) return i;
  }
  return std::nullopt;
}

void PlaneSums::Add(std::span<const uint8_t* const> planes, std::span<WordSums> of_planes) {
  ActiveSumKernels().add_words(planes.data(), planes.size(), words_.size(), words_.data(),
                               of_planes.data());
}

void PlaneSums::Subtract(const uint8_t* planes) {
  for (size_t i = 0; i < words_.size(); ++i) words_[i] -= ring::LoadWord32(planes + 4 * i);
}

void PlaneSums::Merge(const PlaneSums& other) {
  for (size_t i = 0; i < words_.size(); ++i) words_[i] += other.words_[i];
}

uint64_t PlaneSums::Residue(size_t index, const ring::Modulus& modulus) const {
  // High words sum to less than 2^64, so that the whole fits 2^128 as long as Add may be called.
  const ring::Uint128 sum = (static_cast<ring::Uint128>(words_[2 * count() + index]) << 64) +
                            (static_cast<ring::Uint128>(words_[count() + index]) << 32) +
                            words_[index];
  return modulus.Multiply(modulus.Reduce(sum), uint64_t{1} << kDropBits);
}

void PlaneSums::WriteResidues(std::span<uint8_t> bytes) const {
  uint8_t* next = bytes.data();
  for (const ring::Modulus& modulus : ring::kModuli) {
    for (size_t i = 0; i < count(); ++i, next += 8) {
      ring::StoreWord64(Residue(i, modulus), next);
    }
  }
}

}  // namespace tacet::he
