// `tacet report` of runs in every state.
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/json.h"
#include "tests/integration/program_for_test.h"

namespace tacet::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ReportTest : public ProgramTest {
 protected:
  void Simulate(const std::string& name, std::vector<std::string> flags = {}) {
    std::vector<std::string> arguments = {"simulate", "--config", WriteConfig(kSmall), "--out",
                                          name};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Outcome outcome = Tacet(arguments);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }

  // The data of a report about these runs.
  base::JsonValue Data(const std::vector<std::string>& runs) {
    std::vector<std::string> arguments = {"report", "--json"};
    arguments.insert(arguments.end(), runs.begin(), runs.end());
    const Outcome outcome = Tacet(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    auto data = base::JsonValue::Parse(outcome.out);
    EXPECT_TRUE(data.ok()) << data.status();
    return *std::move(data);
  }

  // For the i-th run; null JSON when there is none.
  static const base::JsonValue& Member(const base::JsonValue& data, size_t i,
                                       std::string_view key) {
    static const base::JsonValue none;
    const auto& runs = data.Find("runs")->items();
    const base::JsonValue* member = i < runs.size() ? runs[i].Find(key) : nullptr;
    EXPECT_NE(member, nullptr) << key;
    return member == nullptr ? none : *member;
  }
  static std::string Text(const base::JsonValue& data, size_t i, std::string_view key) {
    return Member(data, i, key).AsString().value_or("");
  }

  // As a process leaves it that was killed after `rounds` of its rounds.
  void BreakOff(const std::string& name, size_t rounds) {
    fs::remove(path_ / name / "summary.json");
    std::string metrics = Read(name + "/metrics.jsonl");
    size_t end = 0;
    for (size_t i = 0; i < rounds; ++i) end = metrics.find('\n', end) + 1;
    std::ofstream(path_ / name / "metrics.jsonl") << metrics.substr(0, end);
  }
};

TEST_F(ReportTest, AFinishedRunIsToldByItsFiles) {
  Simulate("run");
  const base::JsonValue data = Data({"run"});
  EXPECT_EQ(Text(data, 0, "name"), "run");
  EXPECT_EQ(Text(data, 0, "state"), "finished");
  EXPECT_EQ(Member(data, 0, "rounds").items().size(), 3U);
  EXPECT_EQ(Number(Member(data, 0, "facts"), "clients"), 12);
  EXPECT_EQ(Number(Member(data, 0, "ledger"), "charges"), 3);
  // Worked out again from settings and ledger, the guarantees are those of the summary.
  EXPECT_EQ(Member(data, 0, "privacy").Dump(),
            ReadJson("run/summary.json").Find("privacy")->Dump());
  const auto& guarantees = Member(data, 0, "statement").Find("guarantees")->items();
  ASSERT_GE(guarantees.size(), 4U);
  EXPECT_THAT(*guarantees[0].Find("audience")->AsString(),
              HasSubstr("neither traffic nor cohorts"));
  EXPECT_GT(Number(guarantees[0], "true_positive_rate"), 0.01);
  EXPECT_EQ(*guarantees.back().Find("observer")->AsString(), "coalition");
  EXPECT_GT(Number(guarantees.back(), "epsilon"), 0);
}

TEST_F(ReportTest, TheWarningsOfAPlanAreInItsSummaryAndReport) {
  const std::string config = WriteConfig(std::string(kSmall) + "delta = 0.2\n");
  const Outcome simulated = Tacet({"simulate", "--config", config, "--out", "run"});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_THAT(simulated.out, HasSubstr("warning     delta is 0.2 for 12 clients"));
  EXPECT_THAT(simulated.out, HasSubstr("warning     the noise drowns the update"));
  const base::JsonValue data = Data({"run"});
  const base::JsonValue& warnings = *Member(data, 0, "privacy").Find("warnings");
  EXPECT_EQ(warnings.items().size(), 2u);
  EXPECT_EQ(warnings.Dump(),
            ReadJson("run/summary.json").Find("privacy")->Find("warnings")->Dump());
}

TEST_F(ReportTest, AnUnfinishedRunIsChargedForItsAttempts) {
  Simulate("run");
  const base::JsonValue whole = Data({"run"});
  BreakOff("run", 2);
  const base::JsonValue data = Data({"run"});
  EXPECT_EQ(Text(data, 0, "state"), "unfinished");
  EXPECT_EQ(Member(data, 0, "rounds").items().size(), 2U);
  const base::JsonValue& facts = Member(data, 0, "facts");
  EXPECT_EQ(Number(facts, "clients"), 12);
  EXPECT_EQ(Number(facts, "noise_stddev"), 1.5);
  EXPECT_EQ(Number(facts, "charged_attempts"), 3);
  EXPECT_EQ(Number(facts, "dimension"), Number(Member(whole, 0, "facts"), "dimension"));
  // Three attempts were charged, whether or not the third made a round.
  EXPECT_EQ(Member(data, 0, "statement").Dump(), Member(whole, 0, "statement").Dump());
}

TEST_F(ReportTest, ARunThatOnlyBeganGuaranteesNothingYet) {
  fs::create_directory(path_ / "begun");
  std::ofstream(path_ / "begun" / "config.toml") << kSmall;
  const base::JsonValue data = Data({"begun"});
  EXPECT_EQ(Text(data, 0, "state"), "unfinished");
  EXPECT_TRUE(Member(data, 0, "statement").is_null());
  EXPECT_EQ(*Member(data, 0, "privacy").Find("reason")->AsString(), "nothing was charged yet");
}

TEST_F(ReportTest, ABudgetThatEndsARunIsTold) {
  Simulate("run", {"--budget-epsilon", "2"});
  const base::JsonValue data = Data({"run"});
  EXPECT_EQ(Text(data, 0, "state"), "stopped");
  EXPECT_THAT(Text(data, 0, "stopped"), HasSubstr("budget"));
  EXPECT_EQ(Number(Member(data, 0, "ledger"), "budget_epsilon"), 2);
}

TEST_F(ReportTest, ARunWithoutNoiseHasAReasonInPlaceOfFigures) {
  Simulate("run", {"--no-noise"});
  const base::JsonValue data = Data({"run"});
  EXPECT_EQ(Member(data, 0, "labels").Dump(), "[\"no-noise\"]");
  EXPECT_TRUE(Member(data, 0, "statement").is_null());
  EXPECT_THAT(*Member(data, 0, "privacy").Find("reason")->AsString(),
              HasSubstr("without noise or without clipping"));
}

TEST_F(ReportTest, RunsOfOneNameAreToldApart) {
  Simulate("first");
  for (const char* folder : {"a", "b"}) {
    fs::create_directory(path_ / folder);
    fs::copy(path_ / "first", path_ / folder / "run");
  }
  const base::JsonValue data = Data({"a/run", "b/run/", "first"});
  EXPECT_EQ(Text(data, 0, "name"), "a/run");
  EXPECT_EQ(Text(data, 1, "name"), "b/run");
  EXPECT_EQ(Text(data, 2, "name"), "first");
}

TEST_F(ReportTest, WritesOneFile) {
  Simulate("run");
  const Outcome beside = Tacet({"report", "run"});
  EXPECT_EQ(beside.exit_code, 0) << beside.err;
  EXPECT_THAT(beside.out, HasSubstr("run/report.html"));
  EXPECT_THAT(Read("run/report.html"), HasSubstr("<title>run – tacet report</title>"));
  EXPECT_EQ(Tacet({"report", "run", "run"}).exit_code, 0);
  EXPECT_THAT(Read("report.html"), HasSubstr("<title>2 runs – tacet report</title>"));
  EXPECT_EQ(Tacet({"report", "run", "--out", "other.html"}).exit_code, 0);
  EXPECT_THAT(Read("other.html"), HasSubstr("Content-Security-Policy"));
}

TEST_F(ReportTest, ErrorsNameTheRun) {
  const Outcome nowhere = Tacet({"report", "nowhere"});
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("nowhere holds no run"));
  Simulate("run");
  std::ofstream(path_ / "run" / "metrics.jsonl", std::ios::app) << "{\"round\":7}\n";
  const Outcome damaged = Tacet({"report", "run"});
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.err, HasSubstr("metrics.jsonl, line 4"));
  EXPECT_FALSE(fs::exists(path_ / "run" / "report.html"));
  EXPECT_EQ(Tacet({"report"}).exit_code, 2);
}

}  // namespace
}  // namespace tacet::app
