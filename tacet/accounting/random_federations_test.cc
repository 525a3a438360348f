// Random federations against independent lower bounds.
#include <gtest/gtest.h>

#include "tacet/accounting/random_federations_for_test.h"
#include "tacet/base/test_size_for_test.h"

namespace tacet::accounting {
namespace {

TEST(RandomFederationsTest, NoObserverIsGuaranteedLessThanAnAdversaryReaches) {
  const int federations = base::TestSize("TACET_RANDOM_SETTINGS", 6);
  const FederationsChecked checked = CheckRandomFederations(federations, 1, false);
  EXPECT_EQ(checked.observers, federations);
  EXPECT_GE(checked.compared, federations * 3 / 10);
}

}  // namespace
}  // namespace tacet::accounting
