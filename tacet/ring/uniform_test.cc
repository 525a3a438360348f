#include "tacet/ring/uniform.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/random.h"
#include "tacet/ring/words.h"

namespace tacet::ring {
namespace {

std::vector<uint8_t> CountingSeed() {
  std::vector<uint8_t> seed(kSeedBytes);
  std::iota(seed.begin(), seed.end(), uint8_t{0});
  return seed;
}

std::vector<uint64_t> Expand(const UniformStream& stream, size_t count) {
  std::vector<uint64_t> values(count);
  ExpandUniform(CountingSeed(), stream, values);
  return values;
}

// The words of a stream, before any is rejected.
std::vector<uint64_t> MaskedWords(const std::vector<uint8_t>& iv, size_t count) {
  crypto::AesCtrStream stream(CountingSeed(), iv);
  std::vector<uint8_t> bytes(8 * count);
  stream.Fill(bytes);
  std::vector<uint64_t> words(count);
  for (size_t i = 0; i < count; ++i) {
    words[i] = LoadWord64(&bytes[8 * i]) & ((uint64_t{1} << 50) - 1);
  }
  return words;
}

// Computed with another implementation of AES. The second and third streams pass rejected words
// (the first at word 501 and 362).
TEST(UniformTest, KnownAnswers) {
  struct Answer {
    UniformStream stream;
    size_t count;
    uint64_t first, second, last, sum;
    size_t rejected;  // index of the first rejected word, or 0
    uint64_t in_its_place;
  };
  const Answer answers[] = {
      {{UniformUse::kPayload, 5, 1},
       4096,
       920068231250817,
       327748710214121,
       284493825481526,
       2302192284215260635,
       0,
       920068231250817},
      {{static_cast<UniformUse>(2), 0, 0},  // a number that no stream has
       4096,
       341377114924268,
       273242828917048,
       902734093352840,
       2305448339686186254,
       501,
       837095568126830},
      {{UniformUse::kCiphertext, 59, 0},
       8192,
       704901608309067,
       345321209334839,
       403242888511329,
       4621962386303262184,
       362,
       1096833395594364},
  };
  for (const Answer& answer : answers) {
    const std::vector<uint64_t> values = Expand(answer.stream, answer.count);
    EXPECT_EQ(values[0], answer.first);
    EXPECT_EQ(values[1], answer.second);
    EXPECT_EQ(values.back(), answer.last);
    EXPECT_EQ(std::accumulate(values.begin(), values.end(), uint64_t{0}), answer.sum);
    EXPECT_EQ(values[answer.rejected], answer.in_its_place);
  }
}

TEST(UniformTest, RejectedWordsAreSkippedAndTheNextTakesTheirPlace) {
  std::vector<uint8_t> iv(16);
  iv[0] = 3;  // polynomial
  iv[5] = 1;  // use
  const std::vector<uint64_t> words = MaskedWords(iv, 40000);
  const std::vector<uint64_t> values = Expand({UniformUse::kPayload, 3, 0}, 30000);
  size_t next = 0;
  size_t rejected = 0;
  for (const uint64_t value : values) {
    while (words[next] >= kPrime0) {
      ++next;
      ++rejected;
    }
    ASSERT_EQ(value, words[next++]);
  }
  EXPECT_GE(rejected, 2u);  // 7.3 expected
}

TEST(UniformTest, StreamsDifferInEveryField) {
  const std::vector<uint64_t> reference = Expand({UniformUse::kPayload, 0, 0}, 16);
  EXPECT_EQ(Expand({UniformUse::kPayload, 0, 0}, 16), reference);
  EXPECT_NE(Expand({UniformUse::kPublicKey, 0, 0}, 16), reference);
  EXPECT_NE(Expand({UniformUse::kPayload, 1, 0}, 16), reference);
  EXPECT_NE(Expand({UniformUse::kPayload, 1u << 31, 0}, 16), reference);
  EXPECT_NE(Expand({UniformUse::kPayload, 0, 1}, 16), reference);
}

// False alarm < 1e-9: 64 cells of 2^20 values below p0, limit by Laurent and Massart 2000 (177). A
// cell with 15 % too many adds more than 300: noticed with probability > 0.999.
TEST(UniformTest, CellsAreEquallyLikely) {
  constexpr size_t kCells = 64;
  const std::vector<uint64_t> values = Expand({UniformUse::kPayload, 9, 0}, size_t{1} << 20);
  std::vector<double> counts(kCells);
  for (const uint64_t value : values) {
    ASSERT_LT(value, kPrime0);
    ++counts[static_cast<size_t>(static_cast<Uint128>(value) * kCells / kPrime0)];
  }
  const double expected = static_cast<double>(values.size()) / kCells;
  double statistic = 0;
  for (const double count : counts) statistic += (count - expected) * (count - expected) / expected;
  const double t = std::log(1e9);
  EXPECT_LT(statistic, kCells - 1 + 2 * std::sqrt((kCells - 1) * t) + 2 * t);
}

}  // namespace
}  // namespace tacet::ring
