#include <gtest/gtest.h>

#include "tacet/accounting/random_settings_for_test.h"

namespace tacet::accounting {
namespace {

// 10,000 settings in eight parts, so that they can run side by side.
class PldRandomLongTest : public testing::TestWithParam<int> {};

TEST_P(PldRandomLongTest, BracketsHoldTheContourIntegral) { CheckRandomSettings(1250, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Seeds, PldRandomLongTest, testing::Range(100, 108));

}  // namespace
}  // namespace tacet::accounting
