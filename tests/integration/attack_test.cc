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

  // A model that tells more than was guaranteed for it: another one in its place.
  std::filesystem::copy_file(path_ / "remembering" / "model.f32", path_ / "private" / "model.f32",
                             std::filesystem::copy_options::overwrite_existing);
  const base::JsonValue lying = Attack({"private"});
  EXPECT_EQ(exit_code_, 1);
  EXPECT_THAT(err_, HasSubstr("more members were found than the run's epsilon allows"));
  EXPECT_TRUE(*lying.Find("exceeds_bound")->AsBool());
  EXPECT_THAT(lying.Find("verdict")->Dump(), HasSubstr("THE BOUND IS EXCEEDED"));
  ExpectConclusionOfTheRows(hidden);
  ExpectConclusionOfTheRows(lying);
}

TEST_F(NoiseAttackTest, TestsTheUnitThatEpsilonSpeaksOf) {
  WriteNoise("data.csv", 2, 400);
  Simulate(std::string(kQuick) + "clients = 5\n", "run");
  const base::JsonValue both = Attack({"run"});
  EXPECT_EQ(exit_code_, 0) << err_;
  ASSERT_EQ(both.Find("tests")->items().size(), 2u);
  const base::JsonValue& client = both.Find("tests")->items()[0];
  EXPECT_EQ(*client.Find("unit")->AsString(), "client");
  EXPECT_TRUE(*client.Find("is_unit_of_epsilon")->AsBool());
  EXPECT_EQ(Number(client, "members"), 5);
  EXPECT_EQ(Number(client, "non_members"), 3);
  const base::JsonValue& record = both.Find("tests")->items()[1];
  EXPECT_FALSE(*record.Find("is_unit_of_epsilon")->AsBool());
  EXPECT_EQ(Number(record, "members") + Number(record, "non_members"), 250);
}

TEST_F(NoiseAttackTest, PersonsSpreadOverSitesAreAsked) {
  WriteNoise("data.csv", 3, 400);
  std::string config = kQuick;
  config.replace(config.find("cohort = 4\n"), 11, "");
  config.replace(config.find("[privacy]\n"), 10,
                 "[privacy]\nunit = \"person\"\nrecord_rate = 0.5\n");
  config.replace(config.find("clip_norm"), 0, "coordinate_bound = 8\n");
  Simulate(config + "clients = 6\nsites = 2\n", "run");
  const base::JsonValue result = Attack({"run"});
  EXPECT_EQ(exit_code_, 0) << err_;
  const base::JsonValue& person = result.Find("tests")->items()[0];
  EXPECT_EQ(*person.Find("unit")->AsString(), "person");
  EXPECT_EQ(Number(person, "members"), 6);
  EXPECT_EQ(Number(person, "non_members"), 2);
}

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
