// The commands of the program.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/json.h"
#include "tests/integration/broken_disk_for_test.h"
#include "tests/integration/program_for_test.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The paper's setting; the figures are those of docs/security/privacy.md.
TEST_F(ProgramTest, PrivacyStatesTheCoalitionOfServerAndMembers) {
  const auto privacy = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        "privacy", "--clients",   "3596",       "--cohort",           "1000", "--rounds",
        "100",     "--clip-norm", "1",          "--noise-multiplier", "6",    "--delta",
        "1e-5",    "--sampling",  "fixed-size", "--min-participants", "1000"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Tacet(arguments);
  };
  for (const auto& [colluders, epsilon] :
       {std::pair{"1", 19.14}, {"10", 19.26}, {"100", 20.51}, {"500", 30.51}}) {
    const Outcome told = privacy({"--committee", "20,6", "--colluders", colluders, "--json"});
    ASSERT_EQ(told.exit_code, 0) << told.err;
    const auto json = base::JsonValue::Parse(told.out);
    ASSERT_TRUE(json.ok()) << told.out;
    const auto& headlines = json->Find("headlines")->items();
    const auto coalition = std::ranges::find_if(headlines, [](const base::JsonValue& row) {
      return *row.Find("observer")->AsString() == "coalition";
    });
    ASSERT_NE(coalition, headlines.end());
    EXPECT_NEAR(Number(*coalition, "epsilon"), epsilon, 0.01) << colluders;
    // It is the worst that has a guarantee, so the one that counts.
    EXPECT_EQ(*json->Find("worst")->Find("observer")->AsString(), "coalition");
  }
  EXPECT_THAT(privacy({"--committee", "7"}).err, HasSubstr("committee"));
  EXPECT_THAT(privacy({"--committee", "5,5"}).err, HasSubstr("corrupt"));
  EXPECT_THAT(Tacet({"privacy", "--clients", "4", "--cohort", "4", "--rounds", "1",
                     "--noise-multiplier", "6", "--committee", "5,1"})
                  .err,
              HasSubstr("has 5 seats, the federation only 4 clients"));
}

// A model is trained, then its biases alone on top of it.
TEST_F(ProgramTest, APartOfAModelIsFederatedAndTheRestStaysAsItWas) {
  const auto run = [&](const std::string& settings, const std::string& out) {
    return Tacet(
        {"simulate", "--config", WriteConfig(settings), "--insecure-seed", "7", "--out", out});
  };
  ASSERT_EQ(run(kSmall, "whole").exit_code, 0);
  std::string settings = kSmall;
  const std::string name = "name = \"logistic\"\n";
  settings.insert(settings.find(name) + name.size(),
                  "start = \"whole/model.f32\"\nfederated = [\"dense1.biases\"]\n");
  const Outcome part = run(settings, "part");
  ASSERT_EQ(part.exit_code, 0) << part.err;
  EXPECT_THAT(part.out, HasSubstr("4 are federated: dense1.biases"));
  const std::string before = Read("whole/model.f32"), after = Read("part/model.f32");
  constexpr size_t kBiasBytes = 4 * sizeof(float);
  ASSERT_EQ(before.size(), after.size());
  EXPECT_TRUE(before.substr(0, before.size() - kBiasBytes) ==
              after.substr(0, after.size() - kBiasBytes));
  EXPECT_FALSE(before == after);
  const base::JsonValue summary = ReadJson("part/summary.json");
  EXPECT_EQ(*summary.Find("federated")->AsString(), "dense1.biases");
  EXPECT_EQ(Number(summary, "dimension"), 4);
  EXPECT_EQ(Number(summary, "accuracy_before"), Number(ReadJson("whole/summary.json"), "accuracy"));
}

TEST_F(ProgramTest, SimulateLeavesACompleteRunDirectory) {
  const Outcome run = Tacet({"simulate", "--config", WriteConfig(kSmall), "--out", "run"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("drawn by the program"));
  EXPECT_THAT(run.out, HasSubstr("round 3/3"));
  EXPECT_THAT(run.out, Not(HasSubstr("labelled")));

  std::istringstream metrics(Read("run/metrics.jsonl"));
  int rounds = 0;
  double epsilon = 0;
  for (std::string text; std::getline(metrics, text); ++rounds) {
    const auto line = base::JsonValue::Parse(text);
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(Number(*line, "round"), rounds);
    EXPECT_EQ(Number(*line, "cohort_size"), 12);
    EXPECT_GE(Number(*line, "accuracy"), 0);  // noise may leave none
    EXPECT_GT(Number(*line, "loss"), 0);
    EXPECT_GT(Number(*line, "charged_epsilon"), epsilon);
    epsilon = Number(*line, "charged_epsilon");
    EXPECT_GT(Number(*line, "upload_bytes"), 1000);
    for (const char* phase : {"sample", "train", "seal", "add", "open", "evaluate"}) {
      EXPECT_GE(Number(*line->Find("seconds"), phase), 0) << phase;
    }
  }
  EXPECT_EQ(rounds, 3);
  const base::JsonValue summary = ReadJson("run/summary.json");
  EXPECT_EQ(Number(summary, "rounds"), 3);
  EXPECT_EQ(Number(summary, "charged_epsilon"), epsilon);
  EXPECT_EQ(Number(summary, "permitted_attempts"), Number(summary, "rounds") + 10);
  EXPECT_GT(Number(summary, "epsilon"), epsilon);
  EXPECT_TRUE(summary.Find("labels")->items().empty());
  EXPECT_FALSE(summary.Find("privacy")->Find("accountants")->items().empty());
  EXPECT_EQ(Read("run/model.f32").size(), 4 * static_cast<size_t>(Number(summary, "dimension")));
  EXPECT_THAT(Read("run/config.toml"), HasSubstr("noise_multiplier = 3"));
  EXPECT_EQ(Tacet({"simulate", "--config", WriteConfig(kSmall), "--out", "run"}).exit_code, 1);
}

TEST_F(ProgramTest, FlagsWinOverTheConfigurationAndTheResolvedOneRunsAgain) {
  const Outcome run =
      Tacet({"simulate", "--config", WriteConfig(kSmall), "--out", "run", "--rounds", "1", "--seed",
             "7", "--threads", "1", "--parameters", "paper", "--insecure-seed", "3"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("labelled    insecure-seed"));
  EXPECT_THAT(run.out, HasSubstr("[insecure-seed]"));
  const std::string resolved = Read("run/config.toml");
  EXPECT_THAT(resolved, HasSubstr("rounds = 1\n"));
  EXPECT_THAT(resolved, HasSubstr("seed = 7\n"));
  EXPECT_THAT(resolved, HasSubstr("parameters = \"paper\"\n"));
  const Outcome again = Tacet({"simulate", "--config", "run/config.toml", "--out", "again"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(Read("again/config.toml"), resolved);
  EXPECT_EQ(Read("again/model.f32"), Read("run/model.f32"));
}

TEST_F(ProgramTest, JsonGoesToStandardOutputAlone) {
  const Outcome run =
      Tacet({"simulate", "--config", WriteConfig(kSmall), "--out", "run", "--no-encryption",
             "--no-noise", "--no-clip", "--no-quantisation", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto summary = base::JsonValue::Parse(run.out);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_TRUE(summary->Find("epsilon")->is_null());
  std::vector<std::string> labels;
  for (const base::JsonValue& label : summary->Find("labels")->items()) {
    labels.push_back(*label.AsString());
  }
  EXPECT_THAT(labels,
              ::testing::ElementsAre("no-encryption", "no-noise", "no-clip", "no-quantisation"));
  EXPECT_THAT(run.err, HasSubstr("round 3/3"));
}

TEST_F(ProgramTest, ErrorsNameWhatIsWrong) {
  const auto error = [&](const std::string& config, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"simulate", "--config", WriteConfig(config), "--out",
                                          "never"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = Tacet(arguments);
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_FALSE(std::filesystem::exists(path_ / "never"));
    return outcome.err;
  };
  const std::string small = kSmall;
  EXPECT_THAT(error(small + "\nnoisse = 3\n"), HasSubstr("unknown key `privacy.noisse`"));
  EXPECT_THAT(error("rounds = 3\n"), HasSubstr("unknown key `rounds`"));
  EXPECT_THAT(error("[privacy]\nnoise_multiplier = \"six\"\n"),
              HasSubstr("key `privacy.noise_multiplier`"));
  EXPECT_THAT(error("[privacy\n"), HasSubstr("line 1"));
  EXPECT_THAT(error(small + "[run]\nseed = -1\n"), HasSubstr("key `run.seed`"));
  EXPECT_THAT(error(small, {"--parameters", "rsa"}), HasSubstr("compact, paper or"));
  EXPECT_THAT(error(small, {"--data", "/no/such/data"}), HasSubstr("/no/such/data"));
  EXPECT_THAT(error(small, {"--no-quantisation"}), HasSubstr("needs --no-encryption"));
  EXPECT_THAT(error(small, {"--rounds", "0"}), HasSubstr("rounds is 0"));
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = small;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_THAT(error(with("cohort = 6", "cohort = 13")),
              HasSubstr("cohort is 13, but the federation has 12 clients"));
  EXPECT_THAT(error(with("noise_multiplier = 3", "noise_multiplier = 0")), HasSubstr("noise"));
  EXPECT_THAT(error(small, {"--budget-epsilon", "0.1"}), HasSubstr("for a single attempt"));
  EXPECT_THAT(error(small, {"--budget-epsilon", "5", "--no-noise"}), HasSubstr("infinite"));
  EXPECT_THAT(error(with("scale = 1e-3", "scale = 0")), HasSubstr("scale"));
  EXPECT_THAT(error(with("scale = 1e-3", "scale = -1")), HasSubstr("scale"));
  EXPECT_THAT(error(with("rounds = 3", "rounds = 3\nweights = \"samples\"")),
              HasSubstr("needs --no-noise"));
  EXPECT_EQ(Tacet({"simulate", "--config", "missing.toml"}).exit_code, 1);
  EXPECT_EQ(Tacet({"simulate", "--no-such-flag"}).exit_code, 2);
  EXPECT_EQ(Tacet({}).exit_code, 2);
}

TEST_F(ProgramTest, ResumeNeedsARunAndKeepsItsSettings) {
  EXPECT_THAT(Tacet({"simulate", "--resume"}).err, HasSubstr("--resume needs --out"));
  EXPECT_THAT(Tacet({"simulate", "--resume", "--out", "none"}).err,
              HasSubstr("none holds no run to resume"));
  EXPECT_THAT(Tacet({"simulate", "--resume", "--out", "none", "--rounds", "9"}).err,
              HasSubstr("keeps its settings"));
}

// Kills the process at random moments, as often as it takes, and resumes it each time.
TEST_F(ProgramTest, KilledAtAnyMomentItResumesToTheSameModel) {
  const std::string config = WriteConfig(kSmall);
  const std::vector<std::string> flags = {"--rounds", "12", "--insecure-seed", "5"};
  const auto start = [&](const std::string& out) {
    std::vector<std::string> arguments = {"simulate", "--config", config, "--out", out};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return arguments;
  };
  ASSERT_EQ(Tacet(start("whole")).exit_code, 0);

  const Outcome outcome = KillUntilDone(
      [&] {
        const bool begun = std::filesystem::exists(path_ / "killed" / "config.toml");
        // A process killed before it wrote its settings has begun nothing: start again.
        if (!begun) std::filesystem::remove_all(path_ / "killed");
        return begun ? std::vector<std::string>{"simulate", "--resume", "--out", "killed"}
                     : start("killed");
      },
      [&] { std::filesystem::remove_all(path_ / "killed"); });
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Read("killed/model.f32"), Read("whole/model.f32"));
  // One metrics line a round, whatever was repeated.
  const std::string metrics = Read("killed/metrics.jsonl");
  EXPECT_EQ(std::ranges::count(metrics, '\n'), 12);
  EXPECT_EQ(Number(ReadJson("killed/summary.json"), "epsilon"),
            Number(ReadJson("whole/summary.json"), "epsilon"));
  EXPECT_EQ(Number(*ReadJson("killed/summary.json").Find("ledger"), "charges"), 12);
}

// A signal ends a run after a round: nothing is charged twice, and the run continues from there.
TEST_F(ProgramTest, StopsAfterARoundWhenItIsAskedTo) {
  std::string config = kSmall;
  config.replace(config.find("noise_multiplier = 3"), 20, "noise_multiplier = 120");
  // Stopped before its third checkpoint, asked to end, and let on.
  const auto end_within = [this](std::vector<std::string> arguments, int signal) {
    const std::vector<std::string> stops = BrokenDiskOf(
        path_,
        {"BROKEN_STOP=make stopped/checkpoint.new", "BROKEN_SKIP=2", TACET_PROGRAM, "simulate"});
    arguments.insert(arguments.begin(), stops.begin(), stops.end());
    const pid_t child = Start("env", std::move(arguments));
    int status = 0;
    EXPECT_TRUE(AwaitStop(child, status)) << status;
    EXPECT_EQ(kill(child, signal), 0);
    EXPECT_EQ(kill(child, SIGCONT), 0);
    return WaitFor(child);
  };
  const auto lines = [&](const std::string& name) {
    const std::string text = Read("stopped/" + name);
    return std::ranges::count(text, '\n');
  };
  const Outcome stopped =
      end_within({"--config", WriteConfig(config), "--out", "stopped", "--rounds", "400"}, SIGTERM);
  EXPECT_EQ(stopped.exit_code, 1);
  EXPECT_THAT(stopped.err, HasSubstr("stopping after this round"));
  EXPECT_THAT(stopped.err, HasSubstr("of 400 rounds; the run can be resumed"));
  const auto rounds = lines("metrics.jsonl");
  EXPECT_GE(rounds, 2);
  EXPECT_LT(rounds, 400);
  EXPECT_EQ(lines("attempts"), rounds);
  const Outcome ledger = Tacet({"ledger", "show", "stopped/ledger", "--json"});
  EXPECT_EQ(Number(*base::JsonValue::Parse(ledger.out), "charges"), static_cast<double>(rounds));
  // It continues after the rounds that are done.
  EXPECT_EQ(end_within({"--resume", "--out", "stopped"}, SIGINT).exit_code, 1);
  EXPECT_GE(lines("metrics.jsonl"), rounds + 2);
  EXPECT_EQ(lines("attempts"), lines("metrics.jsonl"));
}

// A process that dies between a round's line and the first checkpoint leaves a line behind.
TEST_F(ProgramTest, WithoutACheckpointTheRunBeginsAgainWithoutOldLines) {
  const std::vector<std::string> start = {
      "simulate", "--config", WriteConfig(kSmall), "--out", "run",
      "--rounds", "2",        "--insecure-seed",   "5"};
  ASSERT_EQ(Tacet(start).exit_code, 0);
  const std::string model = Read("run/model.f32");
  const auto lines = [&] { return std::ranges::count(Read("run/metrics.jsonl"), '\n'); };
  ASSERT_EQ(lines(), 2);
  ASSERT_TRUE(std::filesystem::remove(path_ / "run" / "checkpoint"));
  const Outcome resumed = Tacet({"simulate", "--resume", "--out", "run"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(lines(), 2);
  EXPECT_EQ(Read("run/model.f32"), model);
}

// Without a seed each death costs an attempt more, and none is ever forgotten.
TEST_F(ProgramTest, KilledAtAnyMomentTheLedgerKnowsEveryAttempt) {
  const std::string config = WriteConfig(kSmall);
  std::mt19937 generator(2);
  std::uniform_int_distribution<int> moment(5, 120);
  const std::vector<std::string> start = {"simulate", "--config", config, "--out",
                                          "killed",   "--rounds", "12"};
  Outcome outcome = Tacet(start, moment(generator));
  size_t before = 0;
  for (int kills = 0; outcome.exit_code == -1; ++kills) {
    const bool begun = std::filesystem::exists(path_ / "killed" / "config.toml");
    if (begun && std::filesystem::exists(path_ / "killed" / "ledger")) {
      const Outcome verified = Tacet({"ledger", "verify", "killed/ledger", "--json"});
      ASSERT_EQ(verified.exit_code, 0) << verified.err;
      const auto records =
          static_cast<size_t>(Number(*base::JsonValue::Parse(verified.out), "records"));
      const std::string attempts = Read("killed/attempts");
      EXPECT_GE(records, static_cast<size_t>(std::ranges::count(attempts, '\n')));
      EXPECT_GE(records, before);
      before = records;
    }
    if (!begun) std::filesystem::remove_all(path_ / "killed");
    outcome =
        Tacet(begun ? std::vector<std::string>{"simulate", "--resume", "--out", "killed"} : start,
              kills < 6 ? moment(generator) : -1);
  }
  // Killed too often it may have used up the spare attempts, which is an error of its own.
  ASSERT_TRUE(outcome.exit_code == 0 ||
              outcome.err.find("the agreement allows") != std::string::npos)
      << outcome.err;
  const Outcome shown = Tacet({"ledger", "show", "killed/ledger", "--json"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_GE(Number(*base::JsonValue::Parse(shown.out), "charges"), 12);
}

TEST_F(ProgramTest, ABudgetEndsTheRunCleanlyAndTheLedgerSaysSo) {
  const Outcome run = Tacet({"simulate", "--config", WriteConfig(kSmall), "--out", "run",
                             "--rounds", "9", "--budget-epsilon", "3"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("stopped     the budget ends the run after"));
  const base::JsonValue summary = ReadJson("run/summary.json");
  EXPECT_FALSE(summary.Find("stopped")->is_null());
  const double charges = Number(*summary.Find("ledger"), "charges");
  EXPECT_EQ(Number(summary, "rounds"), charges);
  EXPECT_LT(charges, 9);
  EXPECT_LE(Number(*summary.Find("ledger"), "epsilon"), 3);
  // Nobody chose the end by looking: the budget was fixed beforehand, and it is the guarantee.
  EXPECT_EQ(Number(summary, "epsilon"), 3);
  EXPECT_EQ(*summary.Find("privacy")->Find("worst")->Find("name")->AsString(), "budget");
  EXPECT_LE(Number(summary, "charged_epsilon"), 3);

  const Outcome table = Tacet({"ledger", "show", "run/ledger"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("announced-attempts, one-event; unit client, replace-one"));
  EXPECT_THAT(table.out, HasSubstr("epsilon 3 at delta 1e-05"));
  const auto json = base::JsonValue::Parse(Tacet({"ledger", "show", "run/ledger", "--json"}).out);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(Number(*json, "charges"), charges);
  EXPECT_EQ(Number(*json, "epsilon"), Number(*summary.Find("ledger"), "epsilon"));
  ASSERT_EQ(json->Find("entries")->items().size(), 1u);
  EXPECT_EQ(Number(json->Find("entries")->items()[0], "fit"), 0);
  EXPECT_EQ(Tacet({"ledger", "verify", "run/ledger"}).exit_code, 0);

  std::string bytes = Read("run/ledger");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 16);
  std::ofstream(path_ / "run/ledger", std::ios::binary) << bytes;
  for (const char* action : {"verify", "show"}) {
    const Outcome damaged = Tacet({"ledger", action, "run/ledger"});
    EXPECT_EQ(damaged.exit_code, 1);
    EXPECT_THAT(damaged.err, HasSubstr("does not continue the chain"));
  }
  const Outcome json_damage = Tacet({"ledger", "verify", "run/ledger", "--json"});
  EXPECT_EQ(json_damage.exit_code, 1);
  EXPECT_FALSE(*base::JsonValue::Parse(json_damage.out)->Find("valid")->AsBool());
  EXPECT_EQ(Tacet({"ledger", "show", "run/none"}).exit_code, 1);
  EXPECT_EQ(Tacet({"ledger", "burn", "run/ledger"}).exit_code, 2);
}

}  // namespace
}  // namespace tacet::app
