// 2,000 random federations of which clients are absent.
#include <gtest/gtest.h>

#include "tacet/accounting/absent_campaign_for_test.h"

namespace tacet::accounting {
namespace {

// In twenty parts, so that they can run side by side.
class AbsentClientsLongTest : public testing::TestWithParam<int> {};

TEST_P(AbsentClientsLongTest, NoRowIsBelowWhatIsAttained) {
  const AbsentChecked checked = CheckAbsentClients(100, 1000 + GetParam());
  EXPECT_EQ(checked.settings, 100);
  EXPECT_GE(checked.close, 30);
  RecordProperty("close", checked.close);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AbsentClientsLongTest, testing::Range(0, 20));

}  // namespace
}  // namespace tacet::accounting
