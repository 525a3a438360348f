// Helpers of the tests of `tacet attack`: running it, and finding a figure in its answer.
#ifndef TACET_TESTS_INTEGRATION_ATTACK_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_ATTACK_FOR_TEST_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/json.h"
#include "tests/integration/program_for_test.h"

namespace tacet::app {

// Which attack of which test; there is one test of each unit.
inline const base::JsonValue& AttackOf(const base::JsonValue& result, std::string_view unit,
                                       std::string_view method) {
  static const base::JsonValue kNone;
  for (const base::JsonValue& test : result.Find("tests")->items()) {
    if (*test.Find("unit")->AsString() != unit) continue;
    for (const base::JsonValue& measured : test.Find("attacks")->items()) {
      if (*measured.Find("method")->AsString() == method) return measured;
    }
  }
  ADD_FAILURE() << "no test of unit " << unit << " by " << method;
  return kNone;
}

// A point, by its place among false-positive rates of 0.1 %, 1 % and 10 %.
inline const base::JsonValue& PointOf(const base::JsonValue& measured, size_t place) {
  return measured.Find("points")->items()[place];
}

inline double LowEnd(const base::JsonValue& point) {
  return *point.Find("true_positive_interval")->items()[0].AsDouble();
}

class AttackTest : public ProgramTest {
 protected:
  // The same run each time; drawn handwriting without `data`.
  void Simulate(const std::string& config, const std::string& data, const std::string& out) {
    std::vector<std::string> arguments = {"simulate", "--config", config, "--insecure-seed",
                                          "1",        "--out",    out};
    if (!data.empty()) arguments.insert(arguments.end(), {"--data", data});
    const Outcome run = Tacet(std::move(arguments));
    ASSERT_EQ(run.exit_code, 0) << run.err << run.out;
  }

  // With --json; the exit code goes to exit_code_.
  base::JsonValue Attack(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "attack");
    arguments.push_back("--json");
    const Outcome done = Tacet(std::move(arguments));
    exit_code_ = done.exit_code;
    err_ = done.err;
    auto value = base::JsonValue::Parse(done.out);
    EXPECT_TRUE(value.ok()) << value.status() << done.err;
    return value.ok() ? *std::move(value) : base::JsonValue();
  }

  std::string Refusal(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "attack");
    const Outcome done = Tacet(std::move(arguments));
    EXPECT_EQ(done.exit_code, 1);
    return done.err;
  }

  int exit_code_ = 0;
  std::string err_;
};

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_ATTACK_FOR_TEST_H_
