// Every opening of an epoch by a committee of at most five seats, of which one may be corrupt (of
// five two), under a server that lies: the invariants of docs/design/opening.md.
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/he/key_sharing.h"
#include "tacet/member/opening_model_for_test.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/small_federation_for_test.h"

namespace tacet::member {
namespace {

using testing::OpeningModel;
using testing::OpeningSetting;
using ::testing::StartsWith;

// The rules that an agreement with such a committee has.
OpeningSetting SettingOf(uint32_t seats, uint32_t tolerated, uint32_t corrupt) {
  const he::CommitteeShape shape{.seats = seats, .corrupt = tolerated};
  return {.rules = {.seats = seats,
                    .quorum = protocol::testing::ValueOf(he::KeySharing::Create(shape)).votes(),
                    .holders = protocol::StateQuorum(shape)},
          .honest = seats - corrupt,
          .tolerated = tolerated};
}

TEST(OpeningModelTest, EveryRunKeepsTheInvariants) {
  size_t visited = 0;
  for (uint32_t seats = 1; seats <= 5; ++seats) {
    const uint32_t most = seats == 5 ? 2 : 1;
    for (uint32_t tolerated = 0; tolerated <= most && tolerated < seats; ++tolerated) {
      for (uint32_t corrupt = 0; corrupt <= tolerated; ++corrupt) {
        for (const uint32_t invented_round : {1, 2}) {
          OpeningSetting setting = SettingOf(seats, tolerated, corrupt);
          setting.invented_round = invented_round;
          OpeningModel model(setting);
          EXPECT_EQ(model.Explore(), std::nullopt) << seats << " seats, " << corrupt << " corrupt";
          visited += model.visited();
        }
      }
    }
  }
  RecordProperty("visited", static_cast<int>(visited));
  EXPECT_GT(visited, 10'000u);
}

// With honest seats and an honest server the epoch begins, whatever the rounds before left.
TEST(OpeningModelTest, EveryHonestEpochBegins) {
  for (uint32_t seats = 1; seats <= 9; ++seats) {
    for (uint32_t tolerated = 0; tolerated <= 3 && tolerated < seats; ++tolerated) {
      EXPECT_EQ(OpeningModel(SettingOf(seats, tolerated, 0)).ExploreHonest(), std::nullopt)
          << seats << " seats, " << tolerated << " tolerated";
    }
  }
}

// The model finds what a weaker rule allows.
TEST(OpeningModelTest, OneVoteLessOpensAnEpochTwice) {
  OpeningSetting setting = SettingOf(5, 1, 1);
  --setting.rules.quorum;
  const auto found = OpeningModel(setting).Explore();
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(*found, StartsWith("O2: a quorum for S"));
}

TEST(OpeningModelTest, OneHolderLessOpensAnInventedState) {
  OpeningSetting setting = SettingOf(3, 1, 1);
  --setting.rules.holders;
  const auto found = OpeningModel(setting).Explore();
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(*found, StartsWith("O1: an honest seat votes for"));
}

TEST(OpeningModelTest, OneCorruptSeatMoreThanToleratedOpensAnEpochTwice) {
  OpeningSetting setting = SettingOf(5, 0, 1);
  const auto found = OpeningModel(setting).Explore();
  ASSERT_TRUE(found.has_value());
}

}  // namespace
}  // namespace tacet::member
