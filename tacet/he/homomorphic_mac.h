// Linearly homomorphic MAC over F_p, p = p0 = 2^50 - 2^38 + 1: members check a sum that they did
// not compute.
#ifndef TACET_HE_HOMOMORPHIC_MAC_H_
#define TACET_HE_HOMOMORPHIC_MAC_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/crypto/secret.h"
#include "tacet/he/field_row.h"
#include "tacet/he/tag.h"

namespace tacet::he {

// Values a row of the tag: index i is (a, b) = (i / kTagBlock, i mod kTagBlock), for every scheme.
inline constexpr size_t kTagBlock = 4096;

// Bytes that are fresh in every tag.
using TagNonce = std::array<uint8_t, 16>;

// The key of one attempt's tags. For vectors Y of d values, laid out as rows of kTagBlock,
//   tag(Y, nonce) = Σ_a r_a Σ_b v_b Y[a, b] + PRF(context, nonce)   mod p, once for each word,
// with r and v uniform in F_p up to 2^-14 and derived, like the PRF's keys, from `tag_key` by HKDF.
// Tags of several vectors add up to OfSum(ΣY) + Σ PRF. Anyone who lacks the key turns a sum of tags
// into that of another sum (entries that differ mod p) with probability below 2^-146 a try
// (docs/formats/mac.md). Immutable and thread-safe; takes the same time whatever the values.
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

  // The same for sums mod p, none of which is above `largest`, a public bound: below 2^32 it halves
  // the time.
  void AccumulateSum(uint64_t first, std::span<const uint64_t> sums, uint64_t largest,
                     Tag& tag) const;

  // The tag of a sum without any mask. Any u64 are taken, mod p. Aborts unless
  // sums.size() == dimension.
  Tag OfSum(std::span<const uint64_t> sums) const;

 private:
  // Aborts unless `size` values from `first` on are a part of the whole that begins with a row.
  void RequirePart(uint64_t first, size_t size) const;
  // Adds `factor` times the rows of `counts`, which start with row `first` of the whole.
  void AddRows(size_t first, std::span<const uint32_t> counts, uint64_t factor, Tag& tag) const;

  // For one word of the tags.
  struct Word {
    crypto::SecretVector<uint64_t> rows;  // r, ceil(d / kTagBlock)
    FieldRow columns;                     // v, min(d, kTagBlock)
    crypto::SecretBytes mask_key;
  };

  uint64_t dimension_;
  std::array<Word, kTagWords> words_;
};

}  // namespace tacet::he

#endif  // TACET_HE_HOMOMORPHIC_MAC_H_
