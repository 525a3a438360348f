// Two sums over the words of a message. They cost little when another pass reads the words anyway.
#ifndef TACET_HE_WORD_SUMS_H_
#define TACET_HE_WORD_SUMS_H_

#include <cstdint>
#include <span>

namespace tacet::he {

// Sums of n little-endian u32 words w_0, ..., w_{n-1}, mod 2^64. The default is that of no words.
struct WordSums {
  uint64_t sum = 0;       // Σ w_i
  uint64_t weighted = 0;  // Σ (n - i) w_i

  friend bool operator==(const WordSums& a, const WordSums& b) = default;
};

// The sums of a message in two parts, the second of `words` words.
constexpr WordSums Concatenate(const WordSums& first, const WordSums& second, uint64_t words) {
  return {first.sum + second.sum, first.weighted + words * first.sum + second.weighted};
}

// The second part's, when `whole` = Concatenate(first, second, words).
constexpr WordSums WithoutFirst(const WordSums& whole, const WordSums& first, uint64_t words) {
  return {whole.sum - first.sum, whole.weighted - first.weighted - words * first.sum};
}

// The sums of bytes.size() / 4 words; what is left of the bytes is not looked at.
WordSums SumWords(std::span<const uint8_t> bytes);

}  // namespace tacet::he

#endif  // TACET_HE_WORD_SUMS_H_
