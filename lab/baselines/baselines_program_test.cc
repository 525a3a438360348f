// `tacet-lab baselines` in small.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "lab/lab_program_for_test.h"
#include "tacet/base/json.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;

TEST_F(LabProgramTest, BaselinesAreTrainedAtEqualEpsilon) {
  WriteConfig(kSmall);
  const auto train = [this](const std::string& epsilon, const std::string& threads) {
    return Lab({"baselines", "--config", "config.toml", "--train", "--epsilon", epsilon,
                "--threads", threads, "--json"});
  };
  const Outcome made = train("30", "2");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto result = base::JsonValue::Parse(made.out);
  ASSERT_TRUE(result.ok()) << result.status();
  const auto& rows = result->Find("rows")->items();
  ASSERT_EQ(rows.size(), 4u);
  for (const base::JsonValue& row : rows) {
    const std::string name = *row.Find("mechanism")->AsString();
    SCOPED_TRACE(name);
    EXPECT_THAT(made.err, HasSubstr(name + ": round 3/3\n"));
    EXPECT_THAT(*row.Find("epsilon")->AsDouble(),
                ::testing::AllOf(::testing::Gt(20), ::testing::Le(30)));
    EXPECT_TRUE(row.Find("accuracy")->AsDouble().ok());
  }
  EXPECT_THAT(train("30", "0").err, HasSubstr("--threads is 0"));
  EXPECT_THAT(train("33", "1").err, HasSubstr("at most 32"));
}

}  // namespace
}  // namespace tacet::app
