// Uniform variates of (0, 1] with at least 53 significant bits wherever they fall.
#ifndef TACET_DP_UNIFORM_H_
#define TACET_DP_UNIFORM_H_

#include <cstddef>
#include <cstdint>

#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"

namespace tacet::dp {

// (word + 1)/2^64: a 64-bit fixed-point uniform, rounded up. Smallest value 2^-64, and near it the
// grid shows.
inline double FixedPointUnit(uint64_t word) { return (static_cast<double>(word) + 1.0) * 0x1p-64; }

// (high 2^64 + low + 1)/2^128, for high < 2^53 (so that the first term is exact). Smallest value
// 2^-128; 53 significant bits down to 2^-75.
inline double WideUnit(uint64_t high, uint64_t low) {
  return static_cast<double>(high) * 0x1p-64 + (static_cast<double>(low) + 1.0) * 0x1p-128;
}

// A first word of at least this has 53 significant bits by itself; one in 2^11 is smaller.
inline constexpr uint64_t kWholeWord = uint64_t{1} << 53;

// Words of a generator, drawn a block at a time and wiped at the end. What is left of the last
// block is dropped.
class UniformWords {
 public:
  explicit UniformWords(crypto::Random& random) : random_(random), words_(kWords), next_(kWords) {}

  uint64_t Next() {
    if (next_ == kWords) {
      random_.FillU64(words_.Expose());
      next_ = 0;
    }
    return words_.Expose()[next_++];
  }

  // The uniform 128-bit fraction that starts with `word`, in (0, 1], rounded to double: the second
  // word is drawn only when the first alone has fewer than 53 significant bits.
  double Unit(uint64_t word) {
    if (word >= kWholeWord) [[likely]]
      return FixedPointUnit(word);
    return WideUnit(word, Next());
  }
  double NextUnit() { return Unit(Next()); }

 private:
  static constexpr size_t kWords = 512;

  crypto::Random& random_;
  crypto::SecretVector<uint64_t> words_;
  size_t next_;
};

}  // namespace tacet::dp

#endif  // TACET_DP_UNIFORM_H_
