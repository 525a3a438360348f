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

TEST_F(AttendanceReportTest, SaysWhoIsAwayAndForHowLong) {
  EXPECT_EQ(Text(10'000 + 3 * 3600),
            "waits for members: 3 of 5 are here, 4 are needed, and 4 of the committee (2 are "
            "here); away: " +
                Name(1) + " (for 3 h), " + Name(4) + " (since the server started)");
  EXPECT_THAT(Text(10'000 + 91), HasSubstr("(for 91 s)"));
  EXPECT_THAT(Text(10'000 + 600), HasSubstr("(for 10 min)"));
  EXPECT_THAT(Text(10'000 + 3 * 86'400), HasSubstr("(for 3 days)"));
  EXPECT_THAT(Text(9'000), HasSubstr("(connected)"));  // a clock that was set back
}

TEST_F(AttendanceReportTest, SaysForWhomAnOpenAttemptWaits) {
  status_.waiting = false;
  status_.last.emplace();
  status_.last->attempt.number = {.epoch = 0, .round = 3, .attempt = 1};
  EXPECT_EQ(Text(10'300), "");  // its first deadline may come
  status_.extended = true;
  status_.awaited = {{.member = 1, .last_seen = 10'000},
                     {.member = 2, .last_seen = 10'290, .silent = true},
                     {.member = 4, .last_seen = 10'290}};
  EXPECT_EQ(Text(10'300), "round 3 attempt 1 is open and waits for " + Name(1) + " (for 5 min), " +
                              Name(2) + " (connected, silent for two deadlines), " + Name(4) +
                              " (connected)");
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
  EXPECT_THAT(Text(10'000), HasSubstr(" and 5 more"));
  const base::JsonValue json = AttendanceJson(status_, members_.manifest());
  EXPECT_EQ(json.Find("away")->items().size(), 20u);
  EXPECT_EQ(json.Find("away_in_all")->Dump(), "25");
  EXPECT_EQ(json.Find("gathering")->Find("needed")->Dump(), "4");
}

}  // namespace
}  // namespace tacet::host
