// `tacet attack` on a model that remembers its members, where it finds them, and on a private one,
// where it does not. It reports a model that tells more than its epsilon allows.
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/integration/attack_for_test.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;

TEST_F(NoiseAttackTest, ALossThresholdFindsWhoIsRememberedAndNotWhoIsHidden) {
  WriteNoise("data.csv", 1, 800);
  Simulate(kRemembering, "remembering");
  const base::JsonValue found = Attack({"remembering", "--unit", "record"});
  EXPECT_EQ(exit_code_, 0) << err_;
  EXPECT_GT(Number(AttackOf(found, "record", "loss-threshold"), "auc"), 0.7);
  EXPECT_EQ(found.Find("tests")->items()[0].Find("attacks")->items().size(), 1u);
  EXPECT_THAT(found.Find("verdict")->Dump(), HasSubstr("`tacet-lab attack` tries"));
  EXPECT_TRUE(found.Find("bounds")->items().empty());
  EXPECT_EQ(ReadJson("remembering/attack.json").Dump(), found.Dump());

  Simulate(kPrivate, "private");
  const base::JsonValue hidden = Attack({"private"});
  EXPECT_EQ(exit_code_, 0) << err_;
  EXPECT_FALSE(*hidden.Find("exceeds_bound")->AsBool());
  EXPECT_NEAR(Number(AttackOf(hidden, "record", "loss-threshold"), "auc"), 0.5, 0.1);
  EXPECT_EQ(*hidden.Find("bounds")->items()[0].Find("observer")->AsString(), "external");

  ExpectConclusionOfTheRows(hidden);
  AttackAnotherModel();
}

TEST_F(NoiseAttackTest, TestsTheUnitThatEpsilonSpeaksOf) { AttackClients({}); }

TEST_F(NoiseAttackTest, PersonsSpreadOverSitesAreAsked) { AttackPersons({}); }

TEST_F(NoiseAttackTest, SaysWhyNobodyCanBeAttacked) {
  EXPECT_THAT(Refusal({"nothing"}), HasSubstr("nothing is not the directory of a run"));
  WriteNoise("data.csv", 4, 80);
  Simulate(std::string(kQuick) + "held_out = 0.0\n", "run");
  EXPECT_THAT(Refusal({"run", "--unit", "person"}),
              HasSubstr("a run of unit client has no test of unit person"));
  EXPECT_THAT(Refusal({"run"}),
              HasSubstr("nobody can be attacked: client: no client was left out"));
  EXPECT_THAT(Refusal({"run", "--unit", "record"}),
              HasSubstr("record: no sample was held out: data.held_out was 0"));

  WriteNoise("other.csv", 5, 80);
  EXPECT_THAT(Refusal({"run", "--data", "other.csv"}),
              HasSubstr("--data names where they lie now"));
  std::filesystem::rename(path_ / "data.csv", path_ / "moved.csv");
  EXPECT_THAT(Refusal({"run"}), HasSubstr("--data names where they lie now"));
  EXPECT_THAT(Refusal({"run", "--data", "moved.csv"}), HasSubstr("nobody can be attacked"));

  std::filesystem::resize_file(path_ / "run" / "model.f32", 8);
  EXPECT_THAT(Refusal({"run", "--data", "moved.csv"}), HasSubstr("model.f32 has 8 bytes"));
  std::filesystem::remove(path_ / "run" / "model.f32");
  EXPECT_THAT(Refusal({"run", "--data", "moved.csv"}), HasSubstr("model.f32 is missing"));
  std::filesystem::remove(path_ / "run" / "summary.json");
  EXPECT_THAT(Refusal({"run", "--data", "moved.csv"}), HasSubstr("holds no finished run"));
}

}  // namespace
}  // namespace tacet::app
