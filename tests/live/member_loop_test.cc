#include "tacet/member/member_loop.h"

#include <vector>

#include "gtest/gtest.h"

#include "tests/live/live_members_for_test.h"

namespace tacet::live {
namespace {

using testing::LiveFederation;

// One member runs by itself; while it waits, time continues for everybody else.
TEST(MemberLoopTest, GoesOnThroughTroubleUntilTheFederationIsDone) {
  LiveFederation live;
  LiveFederation::Site& site = live.site(1);
  site.away = true;  // of the turns: the loop steps it
  std::vector<double> waits;
  int troubles = 0;
  crypto::InsecureSeededEntropy entropy(1, "loop");
  const absl::Status end = member::RunMember(*site.session, {}, entropy,
                                             {.wait =
                                                  [&](double seconds) {
                                                    waits.push_back(seconds);
                                                    site.wire.cut =
                                                        waits.size() >= 3 && waits.size() < 9;
                                                    live.Turn(2);
                                                    return waits.size() < 1000;
                                                  },
                                              .on_trouble =
                                                  [&](const absl::Status& trouble) {
                                                    EXPECT_TRUE(protocol::IsRetryable(trouble));
                                                    ++troubles;
                                                  },
                                              .on_progress = {}});
  EXPECT_TRUE(end.ok()) << end;
  EXPECT_EQ(troubles, 6);
  EXPECT_GT(*std::max_element(waits.begin(), waits.end()), 4);
  live.Run();
  live.ExpectModels(3, {0, 1, 2, 3, 4});
}

TEST(MemberLoopTest, NewsWithEveryAnswerDoNotKeepItBusy) {
  LiveFederation live;
  LiveFederation::Site& site = live.site(1);
  uint64_t revision = 0;
  site.wire.lie = [&](const protocol::RequestBody& body, absl::StatusOr<base::Bytes> answer) {
    if (!std::holds_alternative<protocol::AwaitRequest>(body) || !answer.ok()) return answer;
    protocol::Announcement announcement =
        protocol::testing::ValueOf(protocol::ReadAnnouncement(*answer));
    announcement.revision = ++revision;
    return absl::StatusOr<base::Bytes>(protocol::WriteAnnouncement(announcement));
  };
  double waited = 0;
  crypto::InsecureSeededEntropy entropy(1, "loop");
  const absl::Status end = member::RunMember(*site.session, {}, entropy,
                                             {.wait =
                                                  [&](double seconds) {
                                                    waited += seconds;
                                                    return revision < 100;
                                                  },
                                              .on_trouble = {},
                                              .on_progress = {}});
  EXPECT_EQ(end.code(), absl::StatusCode::kCancelled) << end;
  EXPECT_GE(waited, 4.99);  // 20 times a second at most
}

// A wire that cannot reach the server whatever happens; a server that merely says so is asked
// again.
TEST(MemberLoopTest, EndsWhenSomebodyHasToChangeSomething) {
  LiveFederation live;
  LiveFederation::Site& site = live.site(1);
  const auto run = [&](absl::Status answer) {
    site.wire.lie = [answer](const protocol::RequestBody&, const absl::StatusOr<base::Bytes>&) {
      return absl::StatusOr<base::Bytes>(answer);
    };
    int waits = 0;
    crypto::InsecureSeededEntropy entropy(1, "loop");
    return member::RunMember(
        *site.session, {}, entropy,
        {.wait = [&](double) { return ++waits < 20; }, .on_trouble = {}, .on_progress = {}});
  };
  const absl::Status expired = absl::UnauthenticatedError("the certificate has expired");
  EXPECT_EQ(run(expired), expired);
  EXPECT_EQ(run(absl::PermissionDeniedError("you are nobody")).code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(run(absl::UnavailableError("busy")).code(), absl::StatusCode::kCancelled);
}

TEST(MemberLoopTest, EndsWhenItIsAsked) {
  LiveFederation live;
  crypto::InsecureSeededEntropy entropy(1, "loop");
  const absl::Status end = member::RunMember(
      *live.site(1).session, {}, entropy,
      {.wait = [](double) { return false; }, .on_trouble = {}, .on_progress = {}});
  EXPECT_EQ(end.code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tacet::live
