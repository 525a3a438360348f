// A linear tag over F_p, p = 2^61 - 1, that lets openers check a sum they did not compute.
#ifndef TACET_HE_LINEAR_TAG_H_
#define TACET_HE_LINEAR_TAG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/base/secret.h"

namespace tacet::he {

inline constexpr uint64_t kTagPrime = (uint64_t{1} << 61) - 1;
// Values a row of the tag: index i is (a, b) = (i / kTagBlock, i mod kTagBlock), for every scheme.
inline constexpr size_t kTagBlock = 4096;
inline constexpr size_t kTagBytes = 16;

// Two words below p, each the tag under an independent key. The default is the tag of nothing.
struct Tag {
  std::array<uint64_t, 2> words{};
};

// Word by word mod p. Both arguments are canonical, and so is the result.
Tag AddTags(const Tag& a, const Tag& b);

// Takes the same time wherever they differ.
bool TagsEqual(const Tag& a, const Tag& b);

// Two little-endian u64 (docs/formats/tag.md). DecodeTag: DataLoss unless there are 16 bytes and
// both words are below p.
std::array<uint8_t, kTagBytes> EncodeTag(const Tag& tag);
absl::StatusOr<Tag> DecodeTag(std::span<const uint8_t> bytes);

// The key of one attempt's tags. For vectors Y of d values, laid out as rows of kTagBlock,
//   tag(Y, label) = Σ_a r_a Σ_b v_b Y[a, b] + PRF(label)   mod p, once for each word,
// with r and v uniform in F_p and derived, like the PRF's key, from `tag_key` by HKDF. Tags of
// several vectors add up to OfSum(ΣY) + Σ Mask(label). Whoever lacks the key turns a sum of tags
// into that of another sum (entries below p) with probability at most (2/p)^2 < 2^-119 a try.
// Immutable and thread-safe; takes the same time whatever the values.
class LinearTagKey {
 public:
  // Aborts unless tag_key has 32 bytes and dimension >= 1.
  LinearTagKey(const base::SecretBytes& tag_key, uint64_t dimension);

  // The tag of one participant's counts; `label` must not repeat under one key. Aborts unless
  // counts.size() == dimension.
  Tag Compute(std::span<const uint32_t> counts, std::span<const uint8_t> label) const;

  // PRF(label): the tag of the zero vector.
  Tag Mask(std::span<const uint8_t> label) const;

  // The tag of a sum without any mask. Any u64 are taken, mod p. Aborts unless
  // sums.size() == dimension.
  Tag OfSum(std::span<const uint64_t> sums) const;

 private:
  // Adds `factor` times the rows of `counts`, which start with row `first` of the whole.
  void AddRows(size_t first, std::span<const uint32_t> counts, uint64_t factor, Tag& tag) const;

  uint64_t dimension_;
  std::array<base::SecretVector<uint64_t>, 2> row_;  // r, ceil(d / kTagBlock) words each
  std::array<base::SecretVector<uint32_t>, 2>
      limbs_;  // of v (sum_kernels.h), kTagBlock words a limb
  base::SecretBytes mask_key_;
};

}  // namespace tacet::he

#endif  // TACET_HE_LINEAR_TAG_H_
