// `tacet-lab attack` on a model that remembers its members, where it finds them, and on a private
// one, where it does not.
#include <algorithm>
#include <filesystem>
#include <string>

#include "fmt/core.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/integration/attack_for_test.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;

class ShadowAttackTest : public NoiseAttackTest {
 protected:
  ShadowAttackTest() { program_ = TACET_LAB; }
};

TEST_F(ShadowAttackTest, FindsWhoIsRememberedAndNotWhoIsHidden) {
  WriteNoise("data.csv", 1, 800);
  Simulate(kRemembering, "remembering");
  const base::JsonValue found = Attack({"remembering", "--unit", "record"});
  EXPECT_EQ(exit_code_, 0) << err_;
  const base::JsonValue& at_one_percent = PointOf(AttackOf(found, "record", "likelihood-ratio"), 1);
  EXPECT_GE(LowEnd(at_one_percent), 0.1);
  EXPECT_LE(Number(at_one_percent, "false_positive_rate"), 0.01);
  EXPECT_GT(Number(AttackOf(found, "record", "likelihood-ratio"), "auc"), 0.8);
  EXPECT_GT(Number(AttackOf(found, "record", "loss-threshold"), "auc"), 0.7);
  EXPECT_TRUE(found.Find("bounds")->items().empty());
  EXPECT_EQ(ReadJson("remembering/attack.json").Dump(), found.Dump());

  Simulate(kPrivate, "private");
  const base::JsonValue hidden = Attack({"private"});
  EXPECT_EQ(exit_code_, 0) << err_;
  EXPECT_FALSE(*hidden.Find("exceeds_bound")->AsBool());
  const base::JsonValue& ratio = AttackOf(hidden, "record", "likelihood-ratio");
  EXPECT_NEAR(Number(ratio, "auc"), 0.5, 0.1);
  const base::JsonValue& bound = hidden.Find("bounds")->items()[0];
  EXPECT_EQ(*bound.Find("observer")->AsString(), "external");
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_LE(LowEnd(PointOf(ratio, i)),
              *bound.Find("max_true_positive_rates")->items()[i].AsDouble());
  }

  ExpectConclusionOfTheRows(hidden);
  AttackAnotherModel();
}

TEST_F(ShadowAttackTest, TestsTheUnitThatEpsilonSpeaksOf) {
  const base::JsonValue both = AttackClients({"--shadows", "8"});
  EXPECT_THAT(both.Find("verdict")->Dump(), HasSubstr("8 shadow models are few"));
}

// A start is known to the attacker, and fits the run's own model alone.
TEST_F(ShadowAttackTest, ShadowsBeginWhereTheRunBegan) {
  WriteNoise("data.csv", 2, 400);
  Simulate(std::string(kQuick) + "[run]\nno_noise = true\n", "first");
  const std::string start = fmt::format("start = \"{}\"", (path_ / "first/model.f32").string());
  std::string config = kQuick;
  config.replace(config.find("[model]"), 7, "[model]\n" + start);
  Simulate(config + "[run]\nno_noise = true\n", "second");
  const base::JsonValue found = Attack({"second", "--shadows", "8"});
  EXPECT_EQ(exit_code_, 0) << err_;
  EXPECT_EQ(*found.Find("shadows")->Find("model")->AsString(), "logistic");
  EXPECT_THAT(Refusal({"second", "--shadow-model", "mlp"}),
              HasSubstr("the run began with parameters of logistic"));
}

TEST_F(ShadowAttackTest, GoesOnWhereItWasInterrupted) {
  WriteNoise("data.csv", 2, 400);
  Simulate(std::string(kQuick) + "[run]\nno_noise = true\n", "run");
  const base::JsonValue first = Attack({"run", "--shadows", "8"});
  EXPECT_EQ(exit_code_, 0) << err_;
  const auto kept = [this] {
    std::string all;
    for (const auto& file : std::filesystem::recursive_directory_iterator(path_ / "run/attack")) {
      if (!file.is_regular_file()) continue;
      all += fmt::format("{} {}\n", file.path().string(),
                         file.last_write_time().time_since_epoch().count());
    }
    return all;
  };
  const std::string before = kept();
  EXPECT_EQ(std::ranges::count(before, '\n'), 8);
  EXPECT_EQ(Attack({"run", "--shadows", "8", "--threads", "1"}).Dump(), first.Dump());
  EXPECT_EQ(kept(), before) << "shadow models were trained again";
  for (const auto& folder : std::filesystem::directory_iterator(path_ / "run/attack")) {
    std::filesystem::remove(folder.path() / "shadow-0003");
    std::filesystem::resize_file(folder.path() / "shadow-0004", 16);
  }
  EXPECT_EQ(Attack({"run", "--shadows", "8"}).Dump(), first.Dump());
  EXPECT_NE(Attack({"run", "--shadows", "8", "--seed", "2"}).Dump(), first.Dump());
}

// A folder's name depends on the data. Anyone who knows them, but for one record, and all settings,
// must not be able to compute it: the same run over the same data has another name under another
// key.
TEST_F(ShadowAttackTest, FolderNamesConfirmNoGuessAboutTheData) {
  WriteNoise("data.csv", 2, 200);
  std::vector<std::string> names;
  for (const std::string run : {"first", "second"}) {
    Simulate(std::string(kQuick) + "[run]\nno_noise = true\n", run);
    Attack({run, "--shadows", "4", "--unit", "record"});
    EXPECT_EQ(exit_code_, 0) << err_;
    for (const auto& folder : std::filesystem::directory_iterator(path_ / run / "attack")) {
      names.push_back(folder.path().filename().string());
    }
  }
  ASSERT_EQ(names.size(), 2u);
  EXPECT_NE(names[0], names[1]);
  std::filesystem::remove(path_ / "first" / "data.key");
  EXPECT_THAT(Refusal({"first", "--shadows", "4"}), HasSubstr("data.key is missing"));
}

TEST_F(ShadowAttackTest, PersonsSpreadOverSitesAreAsked) {
  const base::JsonValue result =
      AttackPersons({"--shadows", "8", "--check-power", "--power-epochs", "2"});
  EXPECT_FALSE(*result.Find("tests")->items()[0].Find("power")->Find("passed")->AsBool());
  EXPECT_THAT(result.Find("verdict")->Dump(), HasSubstr("PROVES NOTHING"));
}

TEST_F(ShadowAttackTest, RefusesFewerThanFourShadowModels) {
  WriteNoise("data.csv", 4, 80);
  Simulate(std::string(kQuick) + "held_out = 0.0\n", "run");
  EXPECT_THAT(Refusal({"run", "--shadows", "3"}), HasSubstr("3 shadow models, expected 4 to"));
}

}  // namespace
}  // namespace tacet::app
