#include "tacet/he/homomorphic_mac.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/aes_blocks.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/random.h"
#include "tacet/he/derived_random.h"
#include "tacet/he/sum_kernels.h"
#include "tacet/ring/modulus.h"

namespace tacet::he {
namespace {

using Uint128 = unsigned __int128;

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "tacet: homomorphic MAC: %s\n", what);
  std::abort();
}

// x - p when x >= p, else x; x < 2^63.
uint64_t SubtractPrimeIfNotBelow(uint64_t x) {
  const uint64_t difference = x - kTagPrime;
  return difference + (kTagPrime & ring::MaskOfTopBit(difference));
}

// x mod p: 2^61 = 1, so its 61-bit digits are added.
uint64_t Reduce(Uint128 x) {
  const uint64_t digits = (static_cast<uint64_t>(x) & kTagPrime) +
                          (static_cast<uint64_t>(x >> 61) & kTagPrime) +
                          static_cast<uint64_t>(x >> 122);
  return SubtractPrimeIfNotBelow((digits & kTagPrime) + (digits >> 61));
}

uint64_t Multiply(uint64_t a, uint64_t b) { return Reduce(static_cast<Uint128>(a) * b); }
uint64_t Add(uint64_t a, uint64_t b) { return SubtractPrimeIfNotBelow(a + b); }

// Fills with 128-bit little-endian words mod p: each value has probability at most
// (1 + 2^-66) / p, whatever the others are.
void FillUniform(crypto::Random& random, std::span<uint64_t> values) {
  crypto::SecretVector<uint64_t> words(2 * values.size());
  random.FillU64(words.Expose());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] =
        Reduce((static_cast<Uint128>(words.Expose()[2 * i + 1]) << 64) + words.Expose()[2 * i]);
  }
}

// Σ_b v_b y_b mod p from the sums over v's limbs: a limb's products are below 2^53 each, 4096 of
// them below 2^65.
uint64_t RowSum(const LimbProducts& products) {
  uint64_t sum = 0;
  for (size_t limb = 0; limb < kTagLimbs; ++limb) {
    sum = Add(sum, Multiply(Reduce(products[limb]), uint64_t{1} << (kTagLimbBits * limb)));
  }
  return sum;
}

}  // namespace

Tag AddTags(const Tag& a, const Tag& b) {
  return {{Add(a.words[0], b.words[0]), Add(a.words[1], b.words[1])}};
}

bool TagsEqual(const Tag& a, const Tag& b) {
  return ((a.words[0] ^ b.words[0]) | (a.words[1] ^ b.words[1])) == 0;
}

std::array<uint8_t, kTagBytes> EncodeTag(const Tag& tag) {
  std::array<uint8_t, kTagBytes> bytes;
  base::StoreU64(tag.words[0], bytes.data());
  base::StoreU64(tag.words[1], bytes.data() + 8);
  return bytes;
}

absl::StatusOr<Tag> DecodeTag(std::span<const uint8_t> bytes) {
  if (bytes.size() != kTagBytes) {
    return base::DataLoss("tag: length is {} bytes, {} are needed", bytes.size(), kTagBytes);
  }
  Tag tag;
  for (size_t i = 0; i < tag.words.size(); ++i) {
    tag.words[i] = base::LoadU64(bytes.data() + 8 * i);
    if (tag.words[i] >= kTagPrime) {
      return base::DataLoss("tag: word {} is not below 2^61 - 1", i);
    }
  }
  return tag;
}

HomomorphicMacKey::HomomorphicMacKey(const crypto::SecretBytes& tag_key, uint64_t dimension,
                                     std::span<const uint8_t> context)
    : dimension_(dimension) {
  Require(tag_key.size() == kKeyBytes, "the key must have 32 bytes");
  Require(dimension >= 1, "the dimension must be at least 1");
  crypto::Random random = DeriveRandom(tag_key, "tag coefficients");
  crypto::SecretVector<uint64_t> column(kTagBlock);
  for (size_t word = 0; word < 2; ++word) {
    row_[word] = crypto::SecretVector<uint64_t>((dimension + kTagBlock - 1) / kTagBlock);
    FillUniform(random, column.Expose());
    FillUniform(random, row_[word].Expose());
    limbs_[word] = crypto::SecretVector<uint32_t>(kTagLimbs * kTagBlock);
    for (size_t i = 0; i < limbs_[word].size(); ++i) {
      const uint64_t shifted = column.Expose()[i % kTagBlock] >> (kTagLimbBits * (i / kTagBlock));
      limbs_[word].Expose()[i] = shifted & ((1u << kTagLimbBits) - 1);
    }
  }
  const crypto::SecretBytes mask_key = DeriveKey(tag_key, "tag mask");
  const crypto::SecretBytes both = crypto::HkdfSha256(mask_key.Expose(), context, 2 * kKeyBytes);
  for (size_t word = 0; word < 2; ++word) {
    mask_keys_[word] =
        crypto::SecretBytes::CopyOf(both.Expose().subspan(kKeyBytes * word, kKeyBytes));
  }
}

void HomomorphicMacKey::AddRows(size_t first, std::span<const uint32_t> counts, uint64_t factor,
                                Tag& tag) const {
  const SumKernels& kernels = ActiveSumKernels();
  std::array<const uint32_t*, kTagRowsAtOnce> rows;
  std::array<LimbProducts, kTagRowsAtOnce> products;
  for (size_t a = 0; a * kTagBlock < counts.size();) {
    const size_t left = counts.size() - a * kTagBlock;
    const size_t size = std::min(kTagBlock, left);  // a last row may be shorter
    const size_t count = std::min(kTagRowsAtOnce, std::max<size_t>(1, left / kTagBlock));
    for (size_t r = 0; r < count; ++r) rows[r] = counts.data() + (a + r) * kTagBlock;
    for (size_t word = 0; word < 2; ++word) {
      kernels.limb_products(limbs_[word].Expose().data(), kTagBlock, rows.data(), count, size,
                            products.data());
      for (size_t r = 0; r < count; ++r) {
        const uint64_t weight = Multiply(row_[word].Expose()[first + a + r], factor);
        tag.words[word] = Add(tag.words[word], Multiply(weight, RowSum(products[r])));
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
  for (size_t word = 0; word < 2; ++word) {
    std::memcpy(blocks.Expose().data(), nonces.data(), blocks.size());
    crypto::EncryptAesBlocks(mask_keys_[word].Expose(), blocks.Expose());
    for (size_t i = 0; i < blocks.size(); i += sizeof(TagNonce)) {
      const uint8_t* bytes = blocks.Expose().data() + i;
      const Uint128 mask =
          (static_cast<Uint128>(base::LoadU64(bytes + 8)) << 64) + base::LoadU64(bytes);
      tag.words[word] = Add(tag.words[word], Reduce(mask));
    }
  }
  return tag;
}

Tag HomomorphicMacKey::OfSum(std::span<const uint64_t> sums) const {
  Require(sums.size() == dimension_, "the number of sums is not the key's dimension");
  Tag tag;
  AccumulateSum(0, sums, tag);
  return tag;
}

void HomomorphicMacKey::AccumulateSum(uint64_t first, std::span<const uint64_t> sums,
                                      Tag& tag) const {
  RequirePart(first, sums.size());
  // Low and high halves are counts of their own, the high ones 2^32-fold.
  std::array<std::array<uint32_t, kTagRowsAtOnce * kTagBlock>, 2> halves;
  for (size_t begin = 0; begin < sums.size(); begin += halves[0].size()) {
    const auto block = sums.subspan(begin, std::min(halves[0].size(), sums.size() - begin));
    for (size_t i = 0; i < block.size(); ++i) {
      halves[0][i] = static_cast<uint32_t>(block[i]);
      halves[1][i] = static_cast<uint32_t>(block[i] >> 32);
    }
    for (size_t half = 0; half < 2; ++half) {
      AddRows((first + begin) / kTagBlock, std::span(halves[half]).first(block.size()),
              uint64_t{1} << (32 * half), tag);
    }
  }
  crypto::Wipe(halves.data(), sizeof(halves));
}

}  // namespace tacet::he
