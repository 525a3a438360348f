#include "tacet/transport/http/places.h"

#include <map>
#include <string>

#include "gtest/gtest.h"

namespace tacet::transport::http {
namespace {

using Id = Places::Id;

class PlacesTest : public ::testing::Test {
 protected:
  // The one that has to go; 0 for nobody. Ids are above 0.
  Id Enter(Id id, const std::string& address) {
    const Places::Verdict verdict = places_.Enter(id, address);
    EXPECT_TRUE(verdict.admitted);
    return verdict.replaced.value_or(0);
  }
  Id Show(Id id, const std::string& name) {
    return places_.ShowCertificate(id, name, [this](Id other) { return active_[other]; })
        .value_or(0);
  }

  Places places_{{.all = 6, .of_address = 3, .of_certificate = 2}};
  std::map<Id, int64_t> active_;
};

TEST_F(PlacesTest, AStrangerReplacesTheOldestOfItsAddress) {
  for (Id id = 1; id <= 3; ++id) EXPECT_EQ(Enter(id, "a"), 0u);
  EXPECT_EQ(Enter(4, "b"), 0u);
  EXPECT_EQ(Enter(5, "a"), 1u);
  EXPECT_EQ(Enter(6, "a"), 2u);
  EXPECT_EQ(places_.size(), 4u);
  EXPECT_EQ(places_.strangers(), 4u);
}

TEST_F(PlacesTest, WhoHasShownACertificateCountsForItsAddressNoMore) {
  for (Id id = 1; id <= 3; ++id) EXPECT_EQ(Enter(id, "a"), 0u);
  EXPECT_EQ(Show(1, "x"), 0u);
  EXPECT_EQ(Enter(4, "a"), 0u);
  EXPECT_EQ(Enter(5, "a"), 2u);
}

TEST_F(PlacesTest, StrangersMakeRoomForEverybodyAndMembersForNobody) {
  for (Id id = 1; id <= 4; ++id) {
    EXPECT_EQ(Enter(id, std::to_string(id)), 0u);
    EXPECT_EQ(Show(id, id < 3 ? "x" : "y"), 0u);
  }
  EXPECT_EQ(Enter(5, "a"), 0u);
  EXPECT_EQ(Enter(6, "b"), 0u);
  EXPECT_EQ(Enter(7, "c"), 5u);  // all places are taken
  EXPECT_EQ(Show(6, "z"), 0u);
  EXPECT_EQ(Enter(8, "c"), 7u);
  EXPECT_EQ(Show(8, "z"), 0u);
  EXPECT_FALSE(places_.Enter(9, "d").admitted);
  EXPECT_EQ(places_.size(), 6u);
  places_.Leave(1);
  EXPECT_EQ(Enter(9, "d"), 0u);
}

TEST_F(PlacesTest, AMemberReplacesItsOwnMostSilentConnection) {
  active_ = {{1, 50}, {2, 40}, {3, 60}, {4, 10}};
  for (Id id = 1; id <= 4; ++id) EXPECT_EQ(Enter(id, std::to_string(id)), 0u);
  EXPECT_EQ(Show(4, "y"), 0u);
  EXPECT_EQ(Show(1, "x"), 0u);
  EXPECT_EQ(Show(2, "x"), 0u);
  EXPECT_EQ(Show(3, "x"), 2u);
  EXPECT_EQ(places_.size(), 3u);
  EXPECT_EQ(places_.strangers(), 0u);
}

TEST_F(PlacesTest, AReplacedOneMayLeaveAndShowLate) {
  for (Id id = 1; id <= 4; ++id) Enter(id, "a");
  EXPECT_EQ(Show(1, "x"), 0u);  // it was replaced by the fourth
  places_.Leave(1);
  EXPECT_EQ(places_.size(), 3u);
  for (Id id = 2; id <= 4; ++id) places_.Leave(id);
  EXPECT_EQ(places_.size(), 0u);
}

}  // namespace
}  // namespace tacet::transport::http
