// Random federations against independent lower bounds.
#include <gtest/gtest.h>

#include "tacet/accounting/random_federations_for_test.h"

namespace tacet::accounting {
namespace {

TEST(RandomFederationsTest, NoViewIsPromisedLessThanAnAdversaryReaches) {
  const FederationsChecked checked = CheckRandomFederations(60, 1);
  EXPECT_GE(checked.views, 150);
  EXPECT_GE(checked.compared, 80);
}

}  // namespace
}  // namespace tacet::accounting
