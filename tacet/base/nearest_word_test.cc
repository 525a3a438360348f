#include "tacet/base/nearest_word.h"

#include <array>
#include <string>

#include "gtest/gtest.h"

namespace tacet::base {
namespace {

TEST(NearestWordTest, DistanceCountsEdits) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("noise", ""), 5u);
  EXPECT_EQ(EditDistance("noise", "noise"), 0u);
  EXPECT_EQ(EditDistance("nose", "noise"), 1u);
  EXPECT_EQ(EditDistance("niose", "noise"), 1u);  // neighbours exchanged
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(NearestWordTest, SuggestsWhatWasProbablyMeant) {
  constexpr std::array<std::string_view, 4> kWords = {"privacy.noise", "privacy.scale",
                                                      "privacy.delta", "federation.rounds"};
  EXPECT_EQ(NearestWord("privacy.nosie", kWords), "privacy.noise");
  EXPECT_EQ(NearestWord("federation.round", kWords), "federation.rounds");
  EXPECT_EQ(NearestWord("PRIVACY.NOISE", kWords), "privacy.noise");
  EXPECT_EQ(NearestWord("unrelated", kWords), std::nullopt);
  EXPECT_EQ(NearestWord("", kWords), std::nullopt);
  EXPECT_EQ(NearestWord(std::string(101, 'a'), kWords), std::nullopt);
}

TEST(NearestWordTest, TwoEquallyNearWordsGiveNoSuggestion) {
  constexpr std::array<std::string_view, 2> kWords = {"cohort", "cohost"};
  EXPECT_EQ(NearestWord("cohoot", kWords), std::nullopt);
  constexpr std::array<std::string_view, 3> kThree = {"cohort", "cohost", "cohoot"};
  EXPECT_EQ(NearestWord("cohoot", kThree), "cohoot");
}

}  // namespace
}  // namespace tacet::base
