// `tacet-lab reproduce` on a federation of synthetic handwriting.
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "lab/lab_program_for_test.h"
#include "tacet/base/json.h"

namespace tacet::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSeeded[] = "[run]\ninsecure_seed = 5\n";

std::vector<std::string> Strings(const base::JsonValue& list) {
  std::vector<std::string> texts;
  for (const base::JsonValue& item : list.items()) texts.push_back(*item.AsString());
  return texts;
}

class ReproduceTest : public LabProgramTest {
 protected:
  ReproduceTest() { std::filesystem::create_directories(path_ / "configs"); }

  void WriteRow(const std::string& row, const std::string& text) {
    WriteConfig(text, "configs/" + row + ".toml");
  }

  // `tacet-lab reproduce table1 --configs configs --out out MORE`
  static std::vector<std::string> Table1Arguments(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"reproduce", "table1", "--configs", "configs",
                                          "--out",     "out",    "--threads", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Outcome Table1(const std::vector<std::string>& more = {}) { return Lab(Table1Arguments(more)); }

  std::string Commit() {
    const std::string version = Tacet({"--version"}).out;
    const size_t begin = version.find("(commit ") + 8;
    return version.substr(begin, version.find(')') - begin);
  }
};

TEST_F(ReproduceTest, Table1TrainsItsRowsAndKeepsARecordOfEach) {
  std::string small = kSmall;
  small.insert(small.find("cohort = 6"), "sampling = \"fixed-size\"\n");
  WriteRow("baseline", "[aggregation]\nparameters = \"compact\"\n" + small +
                           "[run]\nno_noise = true\nno_clip = true\nno_encryption = true\n"
                           "no_quantisation = true\n");
  WriteRow("modulo", small + "[run]\nno_noise = true\n" +
                         "[aggregation]\nparameters = \"paper\"\nplaintext_bits = 26\n");
  WriteRow("noise", small + kSeeded);
  const Outcome all = Table1();
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("26 bits a sum"));
  EXPECT_THAT(all.out, HasSubstr("84.60"));  // published next to the first
  EXPECT_THAT(all.out, HasSubstr("76.84"));

  const base::JsonValue noise = ReadJson("out/noise.json");
  const base::JsonValue summary = ReadJson("out/noise/summary.json");
  EXPECT_EQ(*noise.Find("command")->AsString(), "tacet-lab reproduce table1 --row noise");
  EXPECT_EQ(*noise.Find("commit")->AsString(), Commit());
  EXPECT_EQ(Number(noise, "rounds"), 3);
  EXPECT_GT(Number(noise, "seconds"), 0);
  EXPECT_EQ(Number(noise, "accuracy"), Number(summary, "accuracy"));
  EXPECT_EQ(Number(noise, "worst_epsilon"), Number(summary, "epsilon"));
  EXPECT_LT(Number(noise, "epsilon"), Number(noise, "worst_epsilon"));
  EXPECT_EQ(*noise.Find("accountant")->AsString(), "moments");
  EXPECT_LT(Number(*noise.Find("tighter"), "epsilon"), Number(noise, "epsilon"));
  EXPECT_EQ(Number(*noise.Find("seeds"), "insecure_seed"), 5);
  EXPECT_EQ(Number(noise, "published_accuracy"), 0.7684);
  EXPECT_THAT(Strings(*noise.Find("labels")), ElementsAre("drawn-handwriting", "insecure-seed"));
  EXPECT_EQ(noise.Find("config_sha256")->AsString()->size(), 64u);
  EXPECT_EQ(noise.Find("curve")->items().size(), 3u);
  EXPECT_EQ(*noise.Find("machine")->Find("network")->AsString(), "onednn");
  EXPECT_TRUE(ReadJson("out/baseline.json").Find("epsilon")->is_null());
  EXPECT_TRUE(ReadJson("out/baseline.json").Find("tighter")->is_null());

  const base::JsonValue table = ReadJson("out/table.json");
  const auto& rows = table.Find("rows")->items();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(*rows[0].Find("name")->AsString(), "baseline");
  EXPECT_EQ(*rows[1].Find("name")->AsString(), "modulo");
  EXPECT_EQ(*rows[2].Find("name")->AsString(), "noise");

  // A finished training is not repeated; another schedule is another record.
  const std::string model = Read("out/noise/model.f32");
  const Outcome again = Table1({"--row", "noise"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("holds this run, finished"));
  EXPECT_THAT(again.out, Not(HasSubstr("round 1/3")));
  EXPECT_EQ(Read("out/noise/model.f32"), model);
  const Outcome shorter = Table1({"--row", "noise", "--rounds", "2", "--seed", "9"});
  ASSERT_EQ(shorter.exit_code, 0) << shorter.err;
  const base::JsonValue short_record = ReadJson("out/noise-t2-seed9.json");
  EXPECT_THAT(Strings(*short_record.Find("labels")),
              ElementsAre("rounds-2-of-3", "drawn-handwriting", "insecure-seed"));
  EXPECT_EQ(*short_record.Find("command")->AsString(),
            "tacet-lab reproduce table1 --row noise --rounds 2 --seed 9");

  // Stored results are shown without training.
  std::filesystem::remove_all(path_ / "configs");
  const Outcome shown = Table1({"--show"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("noise-t2-seed9"));
  const auto json = base::JsonValue::Parse(Table1({"--show", "--row", "modulo", "--json"}).out);
  ASSERT_TRUE(json.ok()) << json.status();
  ASSERT_EQ(json->Find("rows")->items().size(), 1u);
  EXPECT_THAT(Table1({"--show", "--row", "clipping"}).err,
              HasSubstr("out holds no results of clipping"));
}

TEST_F(ReproduceTest, ARunOfSimulateIsTakenAndOneOfOtherSettingsRefused) {
  WriteRow("noise", std::string(kSmall) + kSeeded);
  ASSERT_EQ(Tacet({"simulate", "--config", "configs/noise.toml", "--out", "out/noise"}).exit_code,
            0);
  const Outcome taken = Table1({"--row", "noise", "--json"});
  ASSERT_EQ(taken.exit_code, 0) << taken.err;
  EXPECT_THAT(taken.err, HasSubstr("holds this run, finished"));
  EXPECT_EQ(Number(ReadJson("out/noise.json"), "accuracy"),
            Number(ReadJson("out/noise/summary.json"), "accuracy"));

  // A summary of a program that did not know its commit.
  std::string summary = Read("out/noise/summary.json");
  summary.replace(summary.find("\"commit\""), 8, "\"kommit\"");
  WriteConfig(summary, "out/noise/summary.json");
  WriteConfig("{\"accuracy\": 0.1, \"commit\": \"abc\"}", "out/noise/start.json");
  ASSERT_EQ(Table1({"--row", "noise"}).exit_code, 0);
  EXPECT_EQ(*ReadJson("out/noise.json").Find("commit")->AsString(), "abc");

  std::filesystem::remove_all(path_ / "out");
  ASSERT_EQ(
      Tacet({"simulate", "--config", "configs/noise.toml", "--out", "out/noise", "--seed", "9"})
          .exit_code,
      0);
  const Outcome refused = Table1({"--row", "noise"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("run.seed (9, not 1)"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "out" / "noise.json"));
}

TEST_F(ReproduceTest, TheSameCommandGoesOnAfterAKill) {
  WriteRow("noise", std::string(kSmall) + kSeeded);
  ASSERT_EQ(
      Tacet({"simulate", "--config", "configs/noise.toml", "--rounds", "12", "--out", "whole"})
          .exit_code,
      0);
  const Outcome outcome = KillUntilDone(
      [&] {
        return Table1Arguments({"--row", "noise", "--rounds", "12"});
      },
      [&] { std::filesystem::remove_all(path_ / "out"); }, TACET_LAB);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Read("out/noise-t12/model.f32"), Read("whole/model.f32"));
  EXPECT_EQ(Number(ReadJson("out/noise-t12.json"), "rounds"), 12);
  EXPECT_EQ(ReadJson("out/noise-t12.json").Find("curve")->items().size(), 12u);
}

TEST_F(ReproduceTest, WrongUseIsNamed) {
  WriteRow("noise",
           "[model]\nname = \"femnist-cnn\"\n[federation]\ncohort = 6\n"
           "[privacy]\nnoise_multiplier = 1.0\n");
  EXPECT_THAT(Table1({"--row", "noisy"}).err, HasSubstr("expected baseline, rounds, cohort"));
  EXPECT_THAT(Table1({"--row", "cohort"}).err, HasSubstr("holds no configuration of cohort"));
  EXPECT_THAT(Table1({"--row", "noise"}).err, HasSubstr("--data names its folder"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "out" / "noise"));
  EXPECT_THAT(Lab({"reproduce", "table2", "--show"}).err, HasSubstr("computed again"));
  EXPECT_THAT(Lab({"reproduce", "remarks", "--row", "noise"}).err, HasSubstr("of table1"));
  EXPECT_THAT(Lab({"reproduce", "figure2", "--row", "noise", "--out", "out"}).err,
              HasSubstr("expected sigma-2, sigma-4"));
  EXPECT_EQ(Lab({"reproduce", "table3"}).exit_code, 2);
}

TEST_F(ReproduceTest, Figure2FollowsTheNoise) {
  WriteRow("noise", kSmall);
  const Outcome made = Lab({"reproduce", "figure2", "--configs", "configs", "--out", "out",
                            "--rounds", "2", "--threads", "1", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto json = base::JsonValue::Parse(made.out);
  ASSERT_TRUE(json.ok()) << json.status();
  const auto& points = json->Find("points")->items();
  ASSERT_EQ(points.size(), 5u);
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_DOUBLE_EQ(Number(*points[i].Find("setting"), "noise_stddev"),
                     0.5 * static_cast<double>(2 * (i + 1)));
    if (i > 0) {
      EXPECT_LT(Number(points[i], "epsilon"), Number(points[i - 1], "epsilon"));
    }
  }
  EXPECT_EQ(ReadJson("out/figure.json").Find("points")->items().size(), 5u);
  EXPECT_EQ(Lab({"reproduce", "figure2", "--show", "--out", "out"}).exit_code, 0);

  // One point of its own; the figure then has the points there are.
  const Outcome one = Lab({"reproduce", "figure2", "--configs", "configs", "--out", "one",
                           "--rounds", "2", "--threads", "1", "--row", "sigma-8"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  const base::JsonValue figure = ReadJson("one/figure.json");
  ASSERT_EQ(figure.Find("points")->items().size(), 1u);
  EXPECT_EQ(*figure.Find("points")->items()[0].Find("row")->AsString(), "sigma-8");
}

TEST_F(ReproduceTest, Table2StandsBesideThePublishedSeconds) {
  const Outcome made = Lab({"reproduce", "table2", "--dimension", "9000", "--participants", "20",
                            "--repetitions", "1", "--out", "out"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("26.22508"));
  EXPECT_THAT(made.out, HasSubstr("The published figures are for 486654 values"));
  const base::JsonValue table = ReadJson("out/table.json");
  EXPECT_EQ(*table.Find("commit")->AsString(), Commit());
  EXPECT_EQ(Number(*table.Find("measured")->Find("paper"), "plaintext_bits"), 26);
  for (const char* scheme : {"paper", "compact"}) {
    for (const char* step :
         {"setup_s", "encode_s", "encode_encrypt_s", "aggregate_s", "decrypt_s"}) {
      EXPECT_GE(Number(*table.Find("measured")->Find(scheme), step), 0) << scheme << step;
      EXPECT_GT(Number(*table.Find("published"), step), 0) << step;
    }
  }
}

TEST_F(ReproduceTest, RemarksAreCalculatedAndTried) {
  WriteRow("remarks", kSmall);
  const Outcome made = Lab({"reproduce", "remarks", "--configs", "configs", "--out", "out",
                            "--rounds", "1", "--threads", "1"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("Modulus"));
  EXPECT_THAT(made.out, HasSubstr("Local privacy"));
  const base::JsonValue remarks = ReadJson("out/remarks.json");
  const auto& scales = remarks.Find("scale")->items();
  ASSERT_EQ(scales.size(), 5u);
  for (const base::JsonValue& record : scales) {
    EXPECT_EQ(Number(record, "epsilon"), Number(scales[0], "epsilon"));
  }
  EXPECT_GT(Number(scales[0], "upload_bytes"), Number(scales[4], "upload_bytes"));
  // Rounding at a coarse scale costs privacy, Poisson quantisation none.
  const base::JsonValue& coarse = remarks.Find("rounding")->items().back();
  EXPECT_GT(Number(coarse, "epsilon_rounded"), 5 * Number(coarse, "epsilon_poisson"));
}

}  // namespace
}  // namespace tacet::app
