// Linearly homomorphic MAC over F_p, p = 2^61 - 1: members check a sum that they did not compute.
#ifndef TACET_HE_HOMOMORPHIC_MAC_H_
#define TACET_HE_HOMOMORPHIC_MAC_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/crypto/secret.h"

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

// Two little-endian u64 (docs/formats/mac.md). DecodeTag: DataLoss unless there are 16 bytes and
// both words are below p.
std::array<uint8_t, kTagBytes> EncodeTag(const Tag& tag);
absl::StatusOr<Tag> DecodeTag(std::span<const uint8_t> bytes);

// Bytes that are fresh in every tag.
using TagNonce = std::array<uint8_t, 16>;

// The key of one attempt's tags. For vectors Y of d values, laid out as rows of kTagBlock,
//   tag(Y, nonce) = Σ_a r_a Σ_b v_b Y[a, b] + PRF(context, nonce)   mod p, once for each word,
// with r and v uniform in F_p and derived, like the PRF's keys, from `tag_key` by HKDF. Tags of
// several vectors add up to OfSum(ΣY) + Σ PRF. Anyone who lacks the key turns a sum of tags into
// that of another sum (entries below p) with probability at most (2/p)^2 < 2^-119 a try. Immutable
// and thread-safe; takes the same time whatever the values.
class HomomorphicMacKey {
 public:
  // `context` is what all who tag and check must agree on. Aborts unless tag_key has 32 bytes and
  // dimension >= 1.
  HomomorphicMacKey(const crypto::SecretBytes& tag_key, uint64_t dimension,
                    std::span<const uint8_t> context);

  // The tag of one participant's counts; `nonce` must not repeat under one key. Aborts unless
  // counts.size() == dimension.
  Tag Compute(std::span<const uint32_t> counts, const TagNonce& nonce) const;

  // Adds to `tag` what `counts` contribute that begin at value `first`, a multiple of kTagBlock, of
  // the whole vector: all parts and Mask(nonce) make the tag. Aborts when they pass the end.
  void Accumulate(uint64_t first, std::span<const uint32_t> counts, Tag& tag) const;

  // PRF(context, nonce): the tag of the zero vector.
  Tag Mask(const TagNonce& nonce) const { return SumOfMasks({&nonce, 1}); }
  Tag SumOfMasks(std::span<const TagNonce> nonces) const;

  // The same for sums: any u64 are taken, mod p.
  void AccumulateSum(uint64_t first, std::span<const uint64_t> sums, Tag& tag) const;

  // The tag of a sum without any mask. Any u64 are taken, mod p. Aborts unless
  // sums.size() == dimension.
  Tag OfSum(std::span<const uint64_t> sums) const;

 private:
  // Aborts unless `size` values from `first` on are a part of the whole that begins with a row.
  void RequirePart(uint64_t first, size_t size) const;
  // Adds `factor` times the rows of `counts`, which start with row `first` of the whole.
  void AddRows(size_t first, std::span<const uint32_t> counts, uint64_t factor, Tag& tag) const;

  uint64_t dimension_;
  std::array<crypto::SecretVector<uint64_t>, 2> row_;  // r, ceil(d / kTagBlock) words each
  std::array<crypto::SecretVector<uint32_t>, 2>
      limbs_;  // of v (sum_kernels.h), kTagBlock words a limb
  std::array<crypto::SecretBytes, 2> mask_keys_;
};

}  // namespace tacet::he

#endif  // TACET_HE_HOMOMORPHIC_MAC_H_
