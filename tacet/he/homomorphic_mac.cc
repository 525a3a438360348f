#include "tacet/he/homomorphic_mac.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tacet/base/bytes.h"
#include "tacet/crypto/aes_blocks.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/random.h"
#include "tacet/he/derived_random.h"
#include "tacet/he/sum_kernels.h"

namespace tacet::he {
namespace {

constexpr const ring::Modulus& kField = ring::kModulus0;

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "tacet: homomorphic MAC: %s\n", what);
  std::abort();
}

// Words mod p: each value has probability below (1 + 2^-14) / p, whatever the others are.
crypto::SecretVector<uint64_t> DrawElements(crypto::Random& random, size_t count) {
  crypto::SecretVector<uint64_t> elements(count);
  random.FillU64(elements.Expose());
  for (uint64_t& element : elements.Expose()) element = kField.Reduce(element);
  return elements;
}

}  // namespace

HomomorphicMacKey::HomomorphicMacKey(const crypto::SecretBytes& tag_key, uint64_t dimension,
                                     std::span<const uint8_t> context)
    : dimension_(dimension) {
  Require(tag_key.size() == kKeyBytes, "the key must have 32 bytes");
  Require(dimension >= 1, "the dimension must be at least 1");
  crypto::Random random = DeriveRandom(tag_key, "tag coefficients");
  const crypto::SecretBytes mask_keys =
      crypto::HkdfSha256(DeriveKey(tag_key, "tag mask").Expose(), context, kTagWords * kKeyBytes);
  for (size_t word = 0; word < kTagWords; ++word) {
    const auto columns = DrawElements(random, std::min<uint64_t>(dimension, kTagBlock));
    words_[word] = {.rows = DrawElements(random, (dimension + kTagBlock - 1) / kTagBlock),
                    .columns = FieldRow(kField, columns.Expose()),
                    .mask_key = crypto::SecretBytes::CopyOf(
                        mask_keys.Expose().subspan(kKeyBytes * word, kKeyBytes))};
  }
}

void HomomorphicMacKey::AddRows(size_t first, std::span<const uint32_t> counts, uint64_t factor,
                                Tag& tag) const {
  std::array<const uint32_t*, kRowsAtOnce> rows;
  std::array<uint64_t, kRowsAtOnce> products;
  for (size_t a = 0; a * kTagBlock < counts.size();) {
    const size_t left = counts.size() - a * kTagBlock;
    const size_t size = std::min(kTagBlock, left);  // a last row may be shorter
    const size_t count = std::min(kRowsAtOnce, std::max<size_t>(1, left / kTagBlock));
    for (size_t r = 0; r < count; ++r) rows[r] = counts.data() + (a + r) * kTagBlock;
    for (size_t word = 0; word < kTagWords; ++word) {
      words_[word].columns.Multiply(rows.data(), size, std::span(products).first(count));
      for (size_t r = 0; r < count; ++r) {
        const uint64_t weight = kField.Multiply(words_[word].rows.Expose()[first + a + r], factor);
        tag.words[word] = kField.Add(tag.words[word], kField.Multiply(weight, products[r]));
      }
    }
    a += count;
  }
  crypto::Wipe(products.data(), sizeof(products));
}

void HomomorphicMacKey::RequirePart(uint64_t first, size_t size) const {
  Require(first % kTagBlock == 0, "a part does not begin with a row");
  Require(first <= dimension_ && size <= dimension_ - first, "a part passes the end");
}

void HomomorphicMacKey::Accumulate(uint64_t first, std::span<const uint32_t> counts,
                                   Tag& tag) const {
  RequirePart(first, counts.size());
  AddRows(first / kTagBlock, counts, 1, tag);
}

Tag HomomorphicMacKey::Compute(std::span<const uint32_t> counts, const TagNonce& nonce) const {
  Require(counts.size() == dimension_, "the number of counts is not the key's dimension");
  Tag tag;
  Accumulate(0, counts, tag);
  return AddTags(tag, Mask(nonce));
}

Tag HomomorphicMacKey::SumOfMasks(std::span<const TagNonce> nonces) const {
  Tag tag;
  if (nonces.empty()) return tag;
  crypto::SecretBytes blocks(nonces.size() * sizeof(TagNonce));
  for (size_t word = 0; word < kTagWords; ++word) {
    std::memcpy(blocks.Expose().data(), nonces.data(), blocks.size());
    crypto::EncryptAesBlocks(words_[word].mask_key.Expose(), blocks.Expose());
    for (size_t i = 0; i < blocks.size(); i += sizeof(TagNonce)) {
      const uint8_t* bytes = blocks.Expose().data() + i;
      const ring::Uint128 mask =
          (static_cast<ring::Uint128>(base::LoadU64(bytes + 8)) << 64) + base::LoadU64(bytes);
      tag.words[word] = kField.Add(tag.words[word], kField.Reduce(mask));
    }
  }
  return tag;
}

Tag HomomorphicMacKey::OfSum(std::span<const uint64_t> sums) const {
  Require(sums.size() == dimension_, "the number of sums is not the key's dimension");
  Tag tag;
  AccumulateSum(0, sums, ~uint64_t{0}, tag);
  return tag;
}

void HomomorphicMacKey::AccumulateSum(uint64_t first, std::span<const uint64_t> sums,
                                      uint64_t largest, Tag& tag) const {
  RequirePart(first, sums.size());
  const size_t used_halves = largest >> 32 == 0 ? 1 : 2;
  // Low and high halves are counts of their own, the high ones 2^32-fold.
  std::array<std::array<uint32_t, kRowsAtOnce * kTagBlock>, 2> halves;
  for (size_t begin = 0; begin < sums.size(); begin += halves[0].size()) {
    const auto block = sums.subspan(begin, std::min(halves[0].size(), sums.size() - begin));
    for (size_t i = 0; i < block.size(); ++i) {
      halves[0][i] = static_cast<uint32_t>(block[i]);
      halves[1][i] = static_cast<uint32_t>(block[i] >> 32);
    }
    for (size_t half = 0; half < used_halves; ++half) {
      AddRows((first + begin) / kTagBlock, std::span(halves[half]).first(block.size()),
              uint64_t{1} << (32 * half), tag);
    }
  }
  crypto::Wipe(halves.data(), sizeof(halves));
}

}  // namespace tacet::he
