// A site that lost its state, or a part of it, while its ledger knows what it was charged for.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/live/live_members_for_test.h"

namespace tacet::live::testing {
namespace {

using ::testing::SizeIs;

// Without the ledger's word a lost count begins at zero, and the data are given once more.
TEST(LostStateTest, GivesItsDataAsOftenAsAgreed) {
  agreement::ManifestSpec agreement = protocol::testing::SmallAgreement();
  agreement.sampling.cohort = 5;
  agreement.sampling.max_participations = 2;
  LiveFederation live(agreement);
  LiveFederation::Site& site = live.site(0);
  live.RunUntil([&] { return site.session->next_round() == 2; });
  site.state = FailingMemberState();
  live.Restart(site);
  live.Run();
  EXPECT_THAT(live.given[1], SizeIs(5));
  EXPECT_THAT(live.given[2], SizeIs(0));
  live.ExpectNobodySpokeTwice();
}

// Without the ledger's word the seat votes for an attempt again, and blames the server for an
// upload that it has forgotten.
TEST(LostStateTest, SaysNothingMoreInAnAttemptThatItMayHaveSpokenIn) {
  for (const bool votes : {false, true}) {
    LiveFederation live;
    LiveFederation::Site& site = live.site(0);
    live.RunUntil([&] {
      return site.log.Count(member::NodeEventKind::kSent, votes ? "vote" : "upload") == 1;
    });
    site.state = FailingMemberState();
    live.Restart(site);
    EXPECT_EQ(site.log.Count(member::NodeEventKind::kNote, "state-lost"), 1u);
    live.Run();
    live.ExpectNoViolations();
    live.ExpectNobodySpokeTwice();
    EXPECT_EQ(site.session->model(), live.site(1).session->model());
  }
}

}  // namespace
}  // namespace tacet::live::testing
