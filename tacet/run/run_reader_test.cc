#include "tacet/run/run_reader.h"

#include <cmath>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/run/run_output.h"

namespace tacet::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kRound[] =
    R"({"round":0,"cohort_size":6,"abstained":0,"abstains":false,"attempts":1,)"
    R"("charged_attempts":1,"accuracy":0.5,"loss":1.5,)"
    R"("charged_epsilon":null,"seconds":{"train":2,"total":3},"upload_bytes":9})";

class RunReaderTest : public ::testing::Test {
 protected:
  RunReaderTest() { Write("config.toml", config::RunConfigToml(config::RunConfig())); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }

  std::string Complaint() {
    const auto run = LoadRun(path_);
    EXPECT_FALSE(run.ok());
    return base::Message(run.status());
  }

  base::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path();
};

TEST_F(RunReaderTest, ARunThatHasOnlyBegunIsARun) {
  ASSERT_OK_AND_ASSIGN(const auto run, LoadRun(path_));
  EXPECT_EQ(run.name, path_.filename());
  EXPECT_FALSE(run.finished());
  EXPECT_FALSE(run.start.has_value());
  EXPECT_FALSE(run.ledger.has_value());
  EXPECT_TRUE(run.rounds.empty());
  EXPECT_TRUE(run.labels.empty());
}

TEST_F(RunReaderTest, ReadsWholeLinesAndLeavesOneThatIsBeingWritten) {
  Write("config.toml", "[run]\ninsecure_seed = 3\nno_noise = true\n");
  Write("start.json", R"({"accuracy":0.1,"loss":4,"samples":20,"commit":"abc","kind":"simulation",)"
                      R"("processes":2,"audit_key":")" +
                          std::string(64, '0') + "\"}");
  Write("attempts", "0 0 0\n1 0 0\n1 0");
  Write("attestations", "0aff\n0b");
  Write("metrics.jsonl", std::string(kRound) + "\n" + R"({"round":1,"coh)");
  Write("refused", "0 0 0 too-few-uploads\n1 0 0 not-decrypted\n1 0 1 oth");
  ASSERT_OK_AND_ASSIGN(const auto run, LoadRun(path_));
  EXPECT_THAT(run.labels, ElementsAre("insecure-seed", "no-noise"));
  ASSERT_EQ(run.rounds.size(), 1u);
  EXPECT_EQ(run.rounds[0].cohort_size, 6u);
  EXPECT_EQ(run.rounds[0].evaluation->accuracy, 0.5);
  EXPECT_EQ(run.rounds[0].seconds.train, 2);
  EXPECT_TRUE(std::isinf(run.rounds[0].charged_epsilon));
  ASSERT_EQ(run.refused.size(), 2u);
  EXPECT_EQ(run.refused[1].first, (secagg::AttemptNumber{.epoch = 1}));
  EXPECT_EQ(run.refused[1].second, simulation::Refusal::kNotDecrypted);
  EXPECT_EQ(run.start->evaluation->samples, 20u);
  EXPECT_EQ(run.start->audit_key, crypto::PublicKey());
  EXPECT_EQ(run.start->part.kind, tacet::audit::RunKind::kSimulation);
  EXPECT_EQ(run.start->part.processes, 2u);
  EXPECT_THAT(run.begun, ElementsAre(secagg::AttemptNumber{}, secagg::AttemptNumber{.epoch = 1}));
  EXPECT_THAT(run.attestations, ElementsAre(base::Bytes{0x0a, 0xff}));
}

TEST_F(RunReaderTest, ErrorsNameFileAndLine) {
  const std::string round = kRound;
  Write("metrics.jsonl", round + "\n" + round + "\n");
  EXPECT_THAT(Complaint(),
              HasSubstr("metrics.jsonl, line 2: found round 0 where round 1 was expected"));
  Write("metrics.jsonl", "{\"round\":0}\n");
  EXPECT_THAT(Complaint(), HasSubstr("metrics.jsonl, line 1: member `cohort_size`: is missing"));
  Write("metrics.jsonl", "no json\n");
  EXPECT_THAT(Complaint(), HasSubstr("metrics.jsonl, line 1: not JSON"));
  Write("metrics.jsonl", "");
  Write("refused", "0 0 too-few-uploads\n");
  EXPECT_THAT(Complaint(), HasSubstr("refused, line 1: a blank is missing"));
  Write("refused", "0 0 0 tired\n");
  EXPECT_THAT(Complaint(), HasSubstr("refused, line 1: expected too-few-uploads"));
  std::filesystem::remove(path_ / "refused");
  Write("summary.json", "[]");
  EXPECT_THAT(Complaint(), HasSubstr("summary.json holds no JSON object"));
  std::filesystem::remove(path_ / "summary.json");
  Write("start.json", R"({"audit_key":"00","kind":"simulation","processes":1})");
  EXPECT_THAT(Complaint(), HasSubstr("start.json: member `audit_key`"));
  Write("start.json", R"({"kind":"dream","processes":1})");
  EXPECT_THAT(Complaint(), HasSubstr("start.json: expected simulation or member"));
  std::filesystem::remove(path_ / "start.json");
  Write("attestations", "zz\n");
  EXPECT_THAT(Complaint(), HasSubstr("attestations, line 1: "));
  Write("config.toml", std::string(5 << 20, '#'));
  EXPECT_THAT(Complaint(), HasSubstr("5242880 bytes, expected at most 4194304"));
  std::filesystem::remove(path_ / "config.toml");
  EXPECT_THAT(Complaint(), HasSubstr("holds no run"));
}

}  // namespace
}  // namespace tacet::run
