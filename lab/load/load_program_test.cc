// `tacet-lab load`: real members against a real server, in two processes.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/lab_program_for_test.h"
#include "tacet/base/json.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;

class LoadTest : public LabProgramTest {
 protected:
  // Five members, three of them a round.
  Outcome Load(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"load",        "--clients", "5",        "--cohort", "3",
                                          "--dimension", "200",       "--rounds", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Lab(std::move(arguments));
  }
};

TEST_F(LoadTest, SaysWhatEveryRoundCost) {
  const Outcome load = Load({"--json"});
  ASSERT_EQ(load.exit_code, 0) << load.err;
  const auto json = base::JsonValue::Parse(load.out);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(Number(*json, "clients"), 5);
  EXPECT_EQ(Number(*json, "dimension"), 200);
  EXPECT_GT(Number(*json, "rounds_per_s"), 0);
  EXPECT_GT(Number(*json, "upload_bytes"), 200);
  for (const std::string times : {"upload_s", "fetch_s"}) {
    const base::JsonValue* quantiles = json->Find(times);
    ASSERT_NE(quantiles, nullptr) << times;
    EXPECT_GT(Number(*quantiles, "p50"), 0);
    EXPECT_LE(Number(*quantiles, "p50"), Number(*quantiles, "p99"));
    EXPECT_LE(Number(*quantiles, "p99"), Number(*quantiles, "max"));
  }
  for (const std::string process : {"server", "members"}) {
    const base::JsonValue* cost = json->Find(process);
    ASSERT_NE(cost, nullptr) << process;
    EXPECT_GT(Number(*cost, "cpu_s"), 0);
    EXPECT_GT(Number(*cost, "memory"), 1e6);
    EXPECT_GE(Number(*cost, "memory_peak"), Number(*cost, "memory"));
  }
  const base::JsonValue* rounds = json->Find("rounds");
  ASSERT_NE(rounds, nullptr);
  ASSERT_EQ(rounds->items().size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const base::JsonValue& round = rounds->items()[i];
    EXPECT_EQ(Number(round, "round"), static_cast<double>(i));
    EXPECT_EQ(Number(round, "participants"), 3);
    EXPECT_GT(Number(round, "sealing_seconds"), 0);
    EXPECT_LT(Number(round, "sealing_seconds"), Number(round, "seconds"));
    EXPECT_GT(Number(round, "server_memory"), 1e6);
  }
}

// As at real sites, what each member charged and sent is in its own files.
TEST_F(LoadTest, MembersKeepFilesWhenTheyAreAsked) {
  const std::filesystem::path folder = path_ / "load";
  const Outcome load = Load({"--folder", folder.string(), "--state", "folder"});
  ASSERT_EQ(load.exit_code, 0) << load.err;
  EXPECT_THAT(load.out, HasSubstr("2 rounds"));
  size_t uploads = 0;
  for (int i = 0; i < 5; ++i) {
    const std::filesystem::path home = folder / "members" / ("client-" + std::to_string(i));
    EXPECT_TRUE(std::filesystem::exists(home / "state" / "state.ckpt")) << i;
    const std::string log = ReadAll(home / "node-log.jsonl");
    for (size_t at = log.find("\"upload\""); at != std::string::npos;
         at = log.find("\"upload\"", at + 1)) {
      ++uploads;
    }
    EXPECT_EQ(log.find("violation"), std::string::npos) << log;
    const Outcome ledger = Tacet({"ledger", "show", (home / "ledger").string(), "--json"});
    ASSERT_EQ(ledger.exit_code, 0) << ledger.err;
  }
  EXPECT_EQ(uploads, 12u);  // each asked for and sent
}

TEST_F(LoadTest, AFolderThatIsInUseIsRefused) {
  const std::filesystem::path folder = path_ / "load";
  ASSERT_EQ(Load({"--folder", folder.string()}).exit_code, 0);
  const Outcome again = Load({"--folder", folder.string()});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr((folder / "server").string()));
}

}  // namespace
}  // namespace tacet::app
