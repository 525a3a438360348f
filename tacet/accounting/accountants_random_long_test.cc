#include <iostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tacet/accounting/random_federations_for_test.h"
#include "tacet/accounting/random_settings_for_test.h"

namespace tacet::accounting {
namespace {

// 10,000 settings in eight parts, so that they can run side by side.
class AccountantsRandomLongTest : public testing::TestWithParam<int> {};

TEST_P(AccountantsRandomLongTest, BracketsHoldTheContourIntegral) {
  CheckRandomSettings(1250, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Seeds, AccountantsRandomLongTest, testing::Range(100, 108));

// 3,000 settings.
TEST_P(AccountantsRandomLongTest, RealOrdersAreNeverAboveIntegerOrders) {
  CheckRandomRdpSettings(375, GetParam());
}

// 2,000 federations, about five observers each.
TEST_P(AccountantsRandomLongTest, NoObserverIsGuaranteedLessThanAnAdversaryReaches) {
  const FederationsChecked checked = CheckRandomFederations(250, GetParam(), true);
  EXPECT_GE(checked.compared, 500);
  EXPECT_GE(checked.adversaries, 10);
  for (const SlowObserver& slow : checked.slow) {
    std::cout << fmt::format("{:.2f} s of CPU: {}\n", slow.cpu_seconds, slow.setting);
  }
}

}  // namespace
}  // namespace tacet::accounting
