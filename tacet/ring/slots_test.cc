#include "tacet/ring/slots.h"

#include <array>
#include <vector>

#include "gtest/gtest.h"

namespace tacet::ring {
namespace {

TEST(SlotsTest, UnpackingUndoesPackingAtTheEdgesOfEverySlot) {
  for (uint32_t bits = 2; bits <= 54; ++bits) {
    const size_t slots = 100 / bits;
    const int64_t low = -(int64_t{1} << (bits - 1));
    const int64_t high = -low - 1;
    // Every slot at an edge; neighbours at the other one.
    for (const auto& [even, odd] :
         {std::pair{low, high}, {high, low}, {low, low}, {high, high}, {int64_t{0}, int64_t{-1}}}) {
      std::vector<int64_t> values(slots);
      for (size_t l = 0; l < slots; ++l) values[l] = l % 2 == 0 ? even : odd;
      std::vector<int64_t> unpacked(slots);
      UnpackSlots(PackSlots(std::span<const int64_t>(values), bits), bits,
                  std::span<int64_t>(unpacked));
      EXPECT_EQ(unpacked, values) << bits << " bits";
    }
  }
}

TEST(SlotsTest, OneAboveASlotCarriesIntoTheNext) {
  const std::array<int64_t, 3> values = {128, 5, -1};
  std::array<int64_t, 3> unpacked{};
  UnpackSlots(PackSlots(std::span<const int64_t>(values), 8), 8, std::span<int64_t>(unpacked));
  EXPECT_EQ(unpacked, (std::array<int64_t, 3>{-128, 6, -1}));
}

// Unreduced counts overlap their neighbours; the sum of packed integers is the packed sum.
TEST(SlotsTest, PackingIsAdditiveBeyondTheSlotsRange) {
  const std::array<uint32_t, 4> a = {4294967295, 0, 4294967295, 17};
  const std::array<uint32_t, 4> b = {1, 4294967295, 12345, 4294967295};
  std::array<int64_t, 4> sum;
  for (size_t l = 0; l < 4; ++l) sum[l] = int64_t{a[l]} + b[l];
  EXPECT_TRUE(PackSlots(std::span<const uint32_t>(a), 22) +
                  PackSlots(std::span<const uint32_t>(b), 22) ==
              PackSlots(std::span<const int64_t>(sum), 22));
}

TEST(SlotsTest, RoundsToTheNearestMultiple) {
  for (const Int128 m : {Int128{0}, Int128{5}, Int128{-5}, Int128{1} << 80, -(Int128{1} << 80)}) {
    const Int128 scaled = m * (1 << 12);
    for (const int error : {0, 1, -1, 2047, -2048}) {
      EXPECT_TRUE(RoundToMultiple(scaled + error, 12) == m) << error;
    }
    EXPECT_TRUE(RoundToMultiple(scaled + 2048, 12) == m + 1);
    EXPECT_TRUE(RoundToMultiple(scaled - 2049, 12) == m - 1);
  }
}

}  // namespace
}  // namespace tacet::ring
