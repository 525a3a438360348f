#include "tacet/host/attendance_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/protocol/small_federation_for_test.h"

namespace tacet::host {
namespace {

using ::testing::HasSubstr;

class AttendanceReportTest : public ::testing::Test {
 protected:
  AttendanceReportTest() {
    status_.here = 3;
    status_.waiting = true;
    status_.gathering = {.here = 3, .needed = 4, .seats_here = 2, .seats_needed = 4};
    status_.awaited = {{.member = 1, .last_seen = 10'000}, {.member = 4, .last_seen = {}}};
  }
  std::string Text(uint64_t now) { return WaitingText(status_, members_.manifest(), now); }
  const std::string& Name(uint64_t member) { return members_.manifest().members()[member].name; }

  protocol::testing::SmallFederation members_;
  tacet::server::ServerStatus status_;
};

TEST_F(AttendanceReportTest, SaysHowManyAreMissing) {
  EXPECT_EQ(Text(10'000 + 3 * 3600),
            "waits for members: 3 of 5 are here, 4 are needed, and 4 of the committee (2 are "
            "here)");
}

TEST_F(AttendanceReportTest, SaysWhatAnOpenAttemptWaitsFor) {
  status_.waiting = false;
  status_.last.emplace();
  status_.last->attempt.number = {.epoch = 0, .round = 3, .attempt = 1};
  status_.last->begun = 10'000;
  status_.accepted = 2;
  EXPECT_EQ(Text(10'090), "round 3 attempt 1 is open for 90 s, and waits for uploads (2 came)");
  status_.extensions = 1;
  EXPECT_THAT(Text(10'090), HasSubstr(", was extended 1 time, and waits"));
  status_.extensions = 15;
  status_.last->phase = protocol::AttemptPhase::kUnmasking;
  status_.votes = 3;
  status_.unmask_shares = 1;
  EXPECT_EQ(Text(10'000 + 7200),
            "round 3 attempt 1 is open for 2 h, was extended 15 times, and waits for the committee "
            "(3 votes and 1 unmask shares came)");
  EXPECT_THAT(Text(9'000), HasSubstr("open for 0 s"));  // a clock that was set back
  status_.awaited = {{.member = 1, .last_seen = 10'000},
                     {.member = 2, .last_seen = 10'290, .silent = true}};
  const base::JsonValue away = AwayJson(status_, members_.manifest());
  EXPECT_EQ(away.items()[0].Find("silent")->Dump(), "false");
  EXPECT_EQ(away.items()[1].Find("silent")->Dump(), "true");
}

TEST_F(AttendanceReportTest, SaysNothingWhenNobodyIsWaitedFor) {
  status_.waiting = false;
  EXPECT_EQ(Text(10'000), "");
  status_.waiting = true;
  status_.awaited.clear();
  EXPECT_EQ(Text(10'000), "");
}

TEST_F(AttendanceReportTest, SaysThatTheEpochHasNotBegun) {
  const std::string words =
      "epoch 0 begins when 4 of the 5 committee members agree on its state (2 were heard)";
  status_.opening = 2;
  EXPECT_THAT(Text(10'000), HasSubstr(words + "; waits for members: 3 of 5 are here"));
  const base::JsonValue json = AttendanceJson(status_, members_.manifest());
  EXPECT_EQ(json.Find("epoch")->Dump(), "0");
  EXPECT_EQ(json.Find("opening")->Dump(), "2");
  EXPECT_EQ(json.Find("opening_needed")->Dump(), "4");
  EXPECT_EQ(json.Find("seats")->Dump(), "5");
  status_.awaited.clear();
  EXPECT_EQ(Text(10'000), words);
  status_.opening.reset();
  EXPECT_TRUE(AttendanceJson(status_, members_.manifest()).Find("opening")->is_null());
}

TEST_F(AttendanceReportTest, NamesTheConnectedMembersWhileItWaits) {
  EXPECT_EQ(AttendanceJson(status_, members_.manifest()).Find("connected")->Dump(),
            base::JsonValue::MakeArray().Append(Name(0)).Append(Name(2)).Append(Name(3)).Dump());
  status_.waiting = false;
  EXPECT_TRUE(AttendanceJson(status_, members_.manifest()).Find("connected")->is_null());
  status_.waiting = true;
  status_.awaited.clear();
  EXPECT_TRUE(AttendanceJson(status_, members_.manifest()).Find("connected")->is_null());
}

TEST_F(AttendanceReportTest, NamesTwentyMembersAtMost) {
  status_.awaited.assign(25, {.member = 0, .last_seen = 10'000});
  const base::JsonValue json = AttendanceJson(status_, members_.manifest());
  EXPECT_EQ(json.Find("away")->items().size(), 20u);
  EXPECT_EQ(json.Find("away_in_all")->Dump(), "25");
  EXPECT_EQ(json.Find("gathering")->Find("needed")->Dump(), "4");
}

}  // namespace
}  // namespace tacet::host
