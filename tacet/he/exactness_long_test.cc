// Large vectors and the largest sums, for `make check`.

#include "gtest/gtest.h"

#include "tacet/he/attempt_for_test.h"

namespace tacet::he {
namespace {

class LongExactnessTest : public testing::TestWithParam<Scheme> {};

TEST_P(LongExactnessTest, FiveMillionValues) {
  ExpectExactSum({.scheme = GetParam(),
                  .dimension = 5000000,
                  .max_participants = 1000,
                  .offset = 40000,
                  .sum_bound = 2000000},
                 3, 20000);
}

TEST_P(LongExactnessTest, TheConvolutionalNetworkWithThirtyParticipants) {
  ExpectExactSum({.scheme = GetParam(),
                  .dimension = 486654,
                  .max_participants = 30,
                  .offset = 40000,
                  .sum_bound = 2000000},
                 30, 20000);
}

// Beyond the first two envelope layouts.
TEST_P(LongExactnessTest, TwentyThousandParticipants) {
  ExpectExactSum({.scheme = GetParam(),
                  .dimension = 7,
                  .max_participants = 20000,
                  .offset = 40000,
                  .sum_bound = 200000000},
                 20000, 10000);
}

INSTANTIATE_TEST_SUITE_P(AllSchemes, LongExactnessTest, testing::ValuesIn(kAllSchemes),
                         [](const auto& tested) { return SchemeTestName(tested.param); });

}  // namespace
}  // namespace tacet::he
