#include <gtest/gtest.h>

#include "tacet/accounting/random_settings_for_test.h"

namespace tacet::accounting {
namespace {

TEST(RdpRandomTest, RealOrdersAreNeverAboveIntegerOrders) { CheckRandomRdpSettings(200, 1); }

}  // namespace
}  // namespace tacet::accounting
