// Helpers of the tests of membership attacks: running one, and finding a figure in its answer.
#ifndef TACET_TESTS_INTEGRATION_ATTACK_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_ATTACK_FOR_TEST_H_

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/json.h"
#include "tacet/crypto/seeded_random.h"
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

inline constexpr char kRemembering[] = R"(
[data]
held_out = 0.5
[model]
name = "mlp"
hidden = [64]
last_layer_gain = 1.0
[training]
local_epochs = 20
learning_rate = 0.2
learning_rate_final = 0.2
[federation]
rounds = 10
cohort = 8
[privacy]
coordinate_bound = 100
[run]
evaluate_every = 10
no_encryption = true
no_noise = true
no_clip = true
no_quantisation = true
)";

inline constexpr char kPrivate[] = R"(
[data]
held_out = 0.5
[model]
name = "mlp"
hidden = [64]
last_layer_gain = 1.0
[federation]
rounds = 20
spare_attempts = 0
[privacy]
unit = "record"
neighbouring = "replace-one"
record_rate = 0.2
coordinate_bound = 64.0
scale = 1e-2
target_epsilon = 1.0
[run]
evaluate_every = 20
)";

inline constexpr char kQuick[] = R"(
[model]
name = "logistic"
[federation]
rounds = 3
cohort = 4
[privacy]
clip_norm = 0.5
noise_multiplier = 6
scale = 1e-3
[data]
)";

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
    const Outcome done = Run(program_, std::move(arguments));
    exit_code_ = done.exit_code;
    err_ = done.err;
    auto value = base::JsonValue::Parse(done.out);
    EXPECT_TRUE(value.ok()) << value.status() << done.err;
    return value.ok() ? *std::move(value) : base::JsonValue();
  }

  std::string Refusal(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "attack");
    const Outcome done = Run(program_, std::move(arguments));
    EXPECT_EQ(done.exit_code, 1);
    return done.err;
  }

  std::string program_ = TACET_PROGRAM;  // whose command `attack` is tested
  int exit_code_ = 0;
  std::string err_;
};

class NoiseAttackTest : public AttackTest {
 protected:
  static constexpr int kFeatures = 32;

  // Labels that nothing in the samples tells: anyone who knows one has seen it.
  void WriteNoise(const std::string& name, uint64_t seed, int rows) const {
    crypto::Random random = crypto::SeededRandom(seed, "noise");
    std::ofstream file(path_ / name);
    file << "client,label";
    for (int i = 0; i < kFeatures; ++i) file << ",f" << i;
    file << "\n";
    for (int row = 0; row < rows; ++row) {
      file << row % 8 << "," << random.Below(4);
      for (int i = 0; i < kFeatures; ++i) file << "," << 2 * crypto::Uniform(random) - 1;
      file << "\n";
    }
  }

  void Simulate(const std::string& config, const std::string& out) {
    AttackTest::Simulate(WriteConfig(config, out + ".toml"), "data.csv", out);
  }

  // Attacks the run `private` with the model of `remembering` in place of its own: it tells more
  // than was guaranteed for it.
  base::JsonValue AttackAnotherModel() {
    std::filesystem::copy_file(path_ / "remembering" / "model.f32", path_ / "private" / "model.f32",
                               std::filesystem::copy_options::overwrite_existing);
    base::JsonValue lying = Attack({"private"});
    EXPECT_EQ(exit_code_, 1);
    EXPECT_THAT(err_,
                ::testing::HasSubstr("more members were found than the run's epsilon allows"));
    EXPECT_TRUE(*lying.Find("exceeds_bound")->AsBool());
    EXPECT_THAT(lying.Find("verdict")->Dump(), ::testing::HasSubstr("THE BOUND IS EXCEEDED"));
    ExpectConclusionOfTheRows(lying);
    return lying;
  }

  // A run whose clients are the unit: both tests, of clients and of records.
  base::JsonValue AttackClients(std::vector<std::string> flags) {
    WriteNoise("data.csv", 2, 400);
    Simulate(std::string(kQuick) + "clients = 5\n", "run");
    flags.insert(flags.begin(), "run");
    base::JsonValue both = Attack(std::move(flags));
    EXPECT_EQ(exit_code_, 0) << err_;
    EXPECT_EQ(both.Find("tests")->items().size(), 2u);
    const base::JsonValue& client = both.Find("tests")->items()[0];
    EXPECT_EQ(*client.Find("unit")->AsString(), "client");
    EXPECT_TRUE(*client.Find("is_unit_of_epsilon")->AsBool());
    EXPECT_EQ(Number(client, "members"), 5);
    EXPECT_EQ(Number(client, "non_members"), 3);
    const base::JsonValue& record = both.Find("tests")->items()[1];
    EXPECT_FALSE(*record.Find("is_unit_of_epsilon")->AsBool());
    EXPECT_EQ(Number(record, "members") + Number(record, "non_members"), 250);
    return both;
  }

  // A run whose persons, the unit, have rows at several sites.
  base::JsonValue AttackPersons(std::vector<std::string> flags) {
    WriteNoise("data.csv", 3, 400);
    std::string config = kQuick;
    config.replace(config.find("cohort = 4\n"), 11, "");
    config.replace(config.find("[privacy]\n"), 10,
                   "[privacy]\nunit = \"person\"\nrecord_rate = 0.5\n");
    config.replace(config.find("clip_norm"), 0, "coordinate_bound = 8\n");
    Simulate(config + "clients = 6\nsites = 2\n", "run");
    flags.insert(flags.begin(), "run");
    base::JsonValue result = Attack(std::move(flags));
    EXPECT_EQ(exit_code_, 0) << err_;
    const base::JsonValue& person = result.Find("tests")->items()[0];
    EXPECT_EQ(*person.Find("unit")->AsString(), "person");
    EXPECT_EQ(Number(person, "members"), 6);
    EXPECT_EQ(Number(person, "non_members"), 2);
    return result;
  }

  // Every verdict is that of the numbers next to it, and the conclusion that of all verdicts.
  static void ExpectConclusionOfTheRows(const base::JsonValue& result) {
    uint64_t rows = 0;
    uint64_t exceeded = 0;
    for (const base::JsonValue& test : result.Find("tests")->items()) {
      for (const base::JsonValue& measured : test.Find("attacks")->items()) {
        for (const base::JsonValue& point : measured.Find("points")->items()) {
          const base::JsonValue& row = *point.Find("comparison");
          const double bound = Number(row, "bound");
          const std::string verdict = Number(row, "true_positive_rate_at_least") > bound
                                          ? "exceeded"
                                      : Number(point, "true_positive_rate") > bound ? "undecided"
                                                                                    : "within";
          EXPECT_EQ(*row.Find("verdict")->AsString(), verdict);
          rows += 1;
          exceeded += verdict == "exceeded" ? 1 : 0;
        }
      }
    }
    EXPECT_EQ(Number(result, "comparisons"), rows);
    EXPECT_EQ(*result.Find("exceeds_bound")->AsBool(), exceeded > 0);
    const std::string conclusion = *result.Find("verdict")->items()[0].AsString();
    if (exceeded > 0) {
      EXPECT_THAT(conclusion,
                  ::testing::HasSubstr(fmt::format("in {} of {} comparisons", exceeded, rows)));
    }
  }
};

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_ATTACK_FOR_TEST_H_
