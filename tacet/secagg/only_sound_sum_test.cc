#include "tacet/secagg/only_sound_sum.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status_for_test.h"
#include "tacet/he/shared_keys_for_test.h"

namespace tacet::secagg {
namespace {

using ::testing::ElementsAre;

// Seat 3 of five answers wrongly. Each four of the five answers determine another sum of the keys.
class OnlySoundSumTest : public ::testing::Test {
 protected:
  he::KeyCandidates Candidates() {
    keys_.Spoil(3, 100);
    return base::ValueOf(he::KeyCandidates::Create(sharing_, keys_.Shares(), keys_.AnswersOf(5)));
  }

  he::KeySharing sharing_ = *he::KeySharing::Create({.seats = 5, .corrupt = 2});
  he::SharedKeys keys_{sharing_, 3};
  he::KeyCandidates candidates_ = Candidates();
  size_t tried_ = 0;

  // The sum under a candidate is the seat that it leaves out, and is sound for these seats.
  std::optional<SoundSum> OnlyOf(std::vector<uint32_t> sound, bool all_alike = false) {
    return OnlySoundSum(
        candidates_,
        [&](const he::KeySharing::Recovery& recovery) -> std::optional<std::vector<uint64_t>> {
          ++tried_;
          const uint32_t seat = recovery.wrong_seats.at(0);
          if (std::ranges::find(sound, seat) == sound.end()) return std::nullopt;
          return std::vector<uint64_t>{all_alike ? 7 : seat};
        });
  }
};

TEST_F(OnlySoundSumTest, IsTheOneWhoseMacFits) {
  const auto only = OnlyOf({3});
  ASSERT_TRUE(only.has_value());
  EXPECT_THAT(only->sums, ElementsAre(3));
  EXPECT_THAT(only->wrong_seats, ElementsAre(3));
  EXPECT_EQ(tried_, 5u);
}

TEST_F(OnlySoundSumTest, IsNoneWhereNoMacFits) {
  EXPECT_FALSE(OnlyOf({}).has_value());
  EXPECT_EQ(tried_, 5u);
}

// A seat has the MAC key. Could it make a second sum whose MAC fits, it would have chosen the sum
// that all members apply.
TEST_F(OnlySoundSumTest, IsNoneWhereTwoDiffer) { EXPECT_FALSE(OnlyOf({1, 3}).has_value()); }

TEST_F(OnlySoundSumTest, IsOneWhereAllAreAlike) {
  const auto only = OnlyOf({1, 3}, true);
  ASSERT_TRUE(only.has_value());
  EXPECT_THAT(only->sums, ElementsAre(7));
}

}  // namespace
}  // namespace tacet::secagg
