#include "tacet/secagg/checksum.h"

#include <numeric>

#include "gtest/gtest.h"

#include "tacet/base/bytes.h"

namespace tacet::secagg {
namespace {

TEST(ChecksumTest, KnownValues) {
  // Words 1, 2, 3: first = 3 + 6, second = 3*1 + 2*2 + 1*3.
  const base::Bytes bytes = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0};
  EXPECT_EQ(Checksum(bytes), (std::array<uint64_t, 2>{9, 10}));
  EXPECT_EQ(Checksum({}), (std::array<uint64_t, 2>{0, 0}));
  // The last word is padded: 1, then 0x0201.
  const base::Bytes ragged = {1, 0, 0, 0, 1, 2};
  EXPECT_EQ(Checksum(ragged), (std::array<uint64_t, 2>{2 + 1 + 0x0201, 2 + 0x0201}));
}

TEST(ChecksumTest, NoticesEveryFlippedBitAndEverySwapOfNeighbours) {
  base::Bytes bytes(64);
  std::iota(bytes.begin(), bytes.end(), uint8_t{10});
  const auto original = Checksum(bytes);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_NE(Checksum(bytes), original) << bit;
    bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  }
  for (size_t i = 0; i + 8 <= bytes.size(); i += 4) {
    base::Bytes swapped = bytes;
    std::swap_ranges(swapped.begin() + i, swapped.begin() + i + 4, swapped.begin() + i + 4);
    EXPECT_NE(Checksum(swapped), original) << i;
  }
}

}  // namespace
}  // namespace tacet::secagg
