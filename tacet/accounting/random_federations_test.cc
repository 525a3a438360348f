// Random federations against independent lower bounds.
#include <gtest/gtest.h>

#include "tacet/accounting/random_federations_for_test.h"

namespace tacet::accounting {
namespace {

TEST(RandomFederationsTest, NoObserverIsGuaranteedLessThanAnAdversaryReaches) {
  const FederationsChecked checked = CheckRandomFederations(40, 1, false);
  EXPECT_EQ(checked.observers, 40);
  EXPECT_GE(checked.compared, 12);
}

}  // namespace
}  // namespace tacet::accounting
