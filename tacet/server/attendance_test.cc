#include "tacet/server/attendance.h"

#include <gtest/gtest.h>

namespace tacet::server {
namespace {

TEST(AttendanceTest, NobodyIsHereBeforeTheirFirstRequest) {
  const Attendance attendance(3, 1000);
  EXPECT_EQ(attendance.CountHere(1000), 0u);
  EXPECT_FALSE(attendance.LastSeen(0).has_value());
  EXPECT_FALSE(attendance.SeenSince(0, 0));
}

TEST(AttendanceTest, AMemberIsHereUntilItsLastRequestIsTooOld) {
  Attendance attendance(3, 1000);
  attendance.Note(1, 1005);
  EXPECT_TRUE(attendance.IsHere(1, 1005 + kHereSeconds));
  EXPECT_FALSE(attendance.IsHere(1, 1006 + kHereSeconds));
  EXPECT_FALSE(attendance.IsHere(0, 1005));
  EXPECT_EQ(attendance.CountHere(1005), 1u);
  EXPECT_EQ(attendance.LastSeen(1), 1005u);
  EXPECT_TRUE(attendance.SeenSince(1, 1005));
  EXPECT_FALSE(attendance.SeenSince(1, 1006));
}

TEST(AttendanceTest, AClockThatWasSetBackSendsNobodyAway) {
  Attendance attendance(1, 1000);
  attendance.Note(0, 2000);
  EXPECT_TRUE(attendance.IsHere(0, 1000));
}

}  // namespace
}  // namespace tacet::server
