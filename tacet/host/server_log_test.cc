#include "tacet/host/server_log.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::host {
namespace {

using base::JsonValue;

std::chrono::system_clock::time_point AMoment() {
  return std::chrono::system_clock::time_point(std::chrono::milliseconds(1'795'336'800'042));
}

class ServerLogTest : public ::testing::Test {
 protected:
  std::unique_ptr<ServerLog> Open() {
    auto log = ServerLog::Open(path_.string(), {}, AMoment);
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }
  static std::vector<std::string> Lines(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  base::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "server.log";
};

TEST_F(ServerLogTest, WritesOneObjectALine) {
  const auto log = Open();
  log->Write(LogLevel::kInfo, "attempt-begun",
             JsonValue::MakeObject().Set("round", 3).Set("text", "two\nlines \x01 \"quoted\""));
  log->Write(LogLevel::kError, "store-failed");
  EXPECT_THAT(
      Lines(path_),
      ::testing::ElementsAre(
          R"({"time":"2026-11-22T08:40:00.042Z","level":"info","event":"attempt-begun","round":3,)"
          R"("text":"two\nlines \u0001 \"quoted\""})",
          R"({"time":"2026-11-22T08:40:00.042Z","level":"error","event":"store-failed"})"));
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0137, 0u) << "others may not read it";
}

TEST_F(ServerLogTest, FieldsCannotTakeTheNamesOfOthers) {
  const auto log = Open();
  log->Write(LogLevel::kInfo, "a", JsonValue::MakeObject().Set("event", "b"));
  const auto line = JsonValue::Parse(Lines(path_).at(0));
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->members().size(), 3u);
}

TEST_F(ServerLogTest, GoesOnWhereAnEarlierOneEnded) {
  Open()->Write(LogLevel::kInfo, "first");
  const auto log = Open();
  log->Write(LogLevel::kInfo, "second");
  EXPECT_EQ(Lines(path_).size(), 2u);
  const auto moved = folder_.path() / "server.log.1";
  std::filesystem::rename(path_, moved);
  log->Write(LogLevel::kInfo, "third");
  ASSERT_TRUE(log->Reopen().ok());
  log->Write(LogLevel::kInfo, "fourth");
  EXPECT_EQ(Lines(moved).size(), 3u);
  EXPECT_EQ(Lines(path_).size(), 1u);
}

TEST_F(ServerLogTest, KeepsTheLastEvents) {
  const auto log = Open();
  for (size_t i = 0; i < ServerLog::kKept + 5; ++i) {
    log->Write(LogLevel::kInfo, "event", JsonValue::MakeObject().Set("i", i));
  }
  const std::vector<JsonValue> recent = log->Recent();
  ASSERT_EQ(recent.size(), ServerLog::kKept);
  EXPECT_EQ(*recent.front().Find("i")->AsUint(), 5u);
  EXPECT_EQ(*recent.back().Find("i")->AsUint(), ServerLog::kKept + 4);
}

TEST_F(ServerLogTest, LinesOfSeveralThreadsStayWhole) {
  const auto log = Open();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) log->Write(LogLevel::kWarning, "event");
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto lines = Lines(path_);
  EXPECT_EQ(lines.size(), 800u);
  for (const std::string& line : lines) EXPECT_TRUE(JsonValue::Parse(line).ok()) << line;
}

TEST_F(ServerLogTest, SaysWhereItCannotWrite) {
  const auto log = ServerLog::Open((folder_.path() / "no" / "folder").string());
  ASSERT_FALSE(log.ok());
  EXPECT_THAT(std::string(log.status().message()), ::testing::HasSubstr("no/folder"));
}

}  // namespace
}  // namespace tacet::host
