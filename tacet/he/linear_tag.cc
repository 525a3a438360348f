#include "tacet/he/linear_tag.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tacet/base/bytes.h"
#include "tacet/base/hash.h"
#include "tacet/base/random.h"
#include "tacet/base/status.h"
#include "tacet/he/derived_random.h"
#include "tacet/ring/modulus.h"

namespace tacet::he {
namespace {

using Uint128 = unsigned __int128;

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "tacet: linear tag: %s\n", what);
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
void FillUniform(base::Random& random, std::span<uint64_t> values) {
  base::SecretVector<uint64_t> words(2 * values.size());
  random.FillU64(words.Expose());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] =
        Reduce((static_cast<Uint128>(words.Expose()[2 * i + 1]) << 64) + words.Expose()[2 * i]);
  }
}

// Σ_b v_b y_b mod p over one row. 4096 products of 61 bits by 32 are below 2^105, 8 products of 61
// bits by 64 below 2^128: so many are added before a reduction.
template <typename Value>
uint64_t RowSum(std::span<const uint64_t> column, std::span<const Value> values) {
  constexpr size_t kBlock = sizeof(Value) == 4 ? kTagBlock : 8;
  uint64_t sum = 0;
  for (size_t first = 0; first < values.size(); first += kBlock) {
    const size_t last = std::min(values.size(), first + kBlock);
    Uint128 products = 0;
    for (size_t b = first; b < last; ++b) products += static_cast<Uint128>(column[b]) * values[b];
    sum = Add(sum, Reduce(products));
  }
  return sum;
}

template <typename Value>
uint64_t WordOfSum(std::span<const uint64_t> row, std::span<const uint64_t> column,
                   std::span<const Value> values) {
  uint64_t sum = 0;
  for (size_t a = 0; a < row.size(); ++a) {
    const size_t first = a * kTagBlock;
    const auto row_values = values.subspan(first, std::min(kTagBlock, values.size() - first));
    sum = Add(sum, Multiply(row[a], RowSum(column, row_values)));
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

LinearTagKey::LinearTagKey(const base::SecretBytes& tag_key, uint64_t dimension)
    : dimension_(dimension) {
  Require(tag_key.size() == kKeyBytes, "the key must have 32 bytes");
  Require(dimension >= 1, "the dimension must be at least 1");
  base::Random random = DeriveRandom(tag_key, "tag coefficients");
  for (size_t word = 0; word < 2; ++word) {
    row_[word] = base::SecretVector<uint64_t>((dimension + kTagBlock - 1) / kTagBlock);
    column_[word] = base::SecretVector<uint64_t>(kTagBlock);
    FillUniform(random, column_[word].Expose());
    FillUniform(random, row_[word].Expose());
  }
  mask_key_ = DeriveKey(tag_key, "tag mask");
}

Tag LinearTagKey::Compute(std::span<const uint32_t> counts, std::span<const uint8_t> label) const {
  Require(counts.size() == dimension_, "the number of counts is not the key's dimension");
  Tag tag;
  for (size_t word = 0; word < 2; ++word) {
    tag.words[word] = WordOfSum(row_[word].Expose(), column_[word].Expose(), counts);
  }
  return AddTags(tag, Mask(label));
}

Tag LinearTagKey::Mask(std::span<const uint8_t> label) const {
  const base::SecretBytes output = base::HkdfSha256(mask_key_.Expose(), label, 32);
  Tag tag;
  for (size_t word = 0; word < 2; ++word) {
    const uint8_t* bytes = output.Expose().data() + 16 * word;
    tag.words[word] =
        Reduce((static_cast<Uint128>(base::LoadU64(bytes + 8)) << 64) + base::LoadU64(bytes));
  }
  return tag;
}

Tag LinearTagKey::OfSum(std::span<const uint64_t> sums) const {
  Require(sums.size() == dimension_, "the number of sums is not the key's dimension");
  Tag tag;
  for (size_t word = 0; word < 2; ++word) {
    tag.words[word] = WordOfSum(row_[word].Expose(), column_[word].Expose(), sums);
  }
  return tag;
}

}  // namespace tacet::he
