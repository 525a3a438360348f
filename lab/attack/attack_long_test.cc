// `tacet-lab attack` on the two configurations that come with the program for it. Both have the
// same samples; the attack finds the members of the one and not those of the other.
#include <string>

#include "gtest/gtest.h"

#include "tests/integration/attack_for_test.h"

namespace tacet::app {
namespace {

#ifdef TACET_FEMNIST_400
constexpr char kData[] = TACET_FEMNIST_400;
#else
constexpr char kData[] = "";
#endif

class AttackLongTest : public AttackTest {
 protected:
  AttackLongTest() { program_ = TACET_LAB; }
};

TEST_F(AttackLongTest, FindsATenthOfTheMembersOfAnOverfittedRunAtOnePercent) {
  Simulate(TACET_SOURCE_DIR "/configs/attack-overfitted.toml", kData, "overfitted");
  const base::JsonValue result = Attack({"overfitted", "--unit", "record"});
  EXPECT_EQ(exit_code_, 0) << err_;
  const base::JsonValue& point = PointOf(AttackOf(result, "record", "likelihood-ratio"), 1);
  RecordProperty("true_positive_rate", std::to_string(Number(point, "true_positive_rate")));
  RecordProperty("low_end", std::to_string(LowEnd(point)));
  EXPECT_LE(Number(point, "false_positive_rate"), 0.01);
  EXPECT_GE(LowEnd(point), 0.1);
}

TEST_F(AttackLongTest, FindsNoMoreThanEpsilonAllowsInThePrivateRunOfTheSameSamples) {
  Simulate(TACET_SOURCE_DIR "/configs/attack-private.toml", kData, "private");
  const base::JsonValue result = Attack({"private", "--check-power"});
  EXPECT_EQ(exit_code_, 0) << err_;
  EXPECT_FALSE(*result.Find("exceeds_bound")->AsBool());
  EXPECT_TRUE(*result.Find("tests")->items()[0].Find("power")->Find("passed")->AsBool());
  const base::JsonValue& bound = *result.Find("bounds")->items()[0].Find("max_true_positive_rates");
  for (const std::string method : {"loss-threshold", "likelihood-ratio"}) {
    const base::JsonValue& point = PointOf(AttackOf(result, "record", method), 1);
    EXPECT_LT(Number(point, "true_positive_rate"), *bound.items()[1].AsDouble());
    EXPECT_LT(Number(point, "true_positive_rate"), 0.04);
  }
}

}  // namespace
}  // namespace tacet::app
