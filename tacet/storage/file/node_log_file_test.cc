#include "tacet/storage/file/node_log_file.h"

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <sys/stat.h>

#include "tacet/base/json.h"
#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/storage/file/disk_for_test.h"

namespace tacet::storage::file {
namespace {

using member::NodeEvent;
using member::NodeEventKind;
using ::testing::HasSubstr;
using ::testing::SizeIs;

NodeEvent Event(NodeEventKind kind, std::string_view what) {
  return {.kind = kind,
          .what = std::string(what),
          .attempt = secagg::AttemptNumber{.epoch = 1, .round = 7, .attempt = 2},
          .bytes = std::nullopt,
          .digest = std::nullopt,
          .text = ""};
}

class NodeLogFileTest : public ::testing::Test {
 protected:
  std::unique_ptr<NodeLogFile> Open(DiskCalls& disk = DiskCalls::System()) {
    auto opened = NodeLogFile::Open(
        path_, [] { return uint64_t{1'760'000'000}; }, disk);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  std::string Text() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<base::JsonValue> Lines() const {
    std::vector<base::JsonValue> lines;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      auto value = base::JsonValue::Parse(line);
      EXPECT_TRUE(value.ok()) << line;
      if (value.ok()) lines.push_back(*std::move(value));
    }
    return lines;
  }

  const base::TemporaryFolder temporary_{base::TemporaryFolder::kInMemory};
  const std::filesystem::path path_ = temporary_.path() / "node.log";
};

TEST_F(NodeLogFileTest, ALineSaysWhatWasSent) {
  NodeEvent event = Event(NodeEventKind::kSent, "upload");
  event.bytes = 1468;
  event.digest = crypto::Digest{};
  event.text = "a \"word\"\n";
  ASSERT_TRUE(Open()->Write(event).ok());
  EXPECT_EQ(Text(),
            "{\"time\":\"2025-10-09T08:53:20Z\",\"event\":\"sent\",\"what\":\"upload\",\"epoch\":1,"
            "\"round\":7,\"attempt\":2,\"bytes\":1468,\"sha256\":\"" +
                std::string(64, '0') + "\",\"text\":\"a \\\"word\\\"\\n\"}\n");
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(NodeLogFileTest, IsOnlyAppendedTo) {
  ASSERT_TRUE(Open()->Write(Event(NodeEventKind::kNote, "first")).ok());
  ASSERT_TRUE(Open()->Write(Event(NodeEventKind::kViolation, "fork")).ok());
  const auto lines = Lines();
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0].Find("what")->AsString().value(), "first");
  EXPECT_EQ(lines[1].Find("event")->AsString().value(), "violation");
}

TEST_F(NodeLogFileTest, IsWrittenByOneProcess) {
  const auto first = Open();
  const auto second = NodeLogFile::Open(path_);
  EXPECT_THAT(base::Message(second.status()), HasSubstr("written by another process"));
}

TEST_F(NodeLogFileTest, ATornLineIsCutOff) {
  ASSERT_TRUE(Open()->Write(Event(NodeEventKind::kNote, "first")).ok());
  std::ofstream(path_, std::ios::app) << "{\"time\":\"20";
  ASSERT_TRUE(Open()->Write(Event(NodeEventKind::kNote, "second")).ok());
  EXPECT_THAT(Lines(), SizeIs(2));
}

TEST_F(NodeLogFileTest, AFullDiskLeavesWholeLines) {
  for (int fail_at = 0; fail_at < 8; ++fail_at) {
    std::filesystem::remove(path_);
    FailingDisk disk;
    const auto log = Open(disk);
    ASSERT_TRUE(log->Write(Event(NodeEventKind::kViolation, "first")).ok());
    disk.fail_at = disk.calls + fail_at;
    const absl::Status second = log->Write(Event(NodeEventKind::kViolation, "second"));
    EXPECT_TRUE(second.ok() || second.code() == absl::StatusCode::kUnavailable);
    disk.fail_at = -1;
    ASSERT_TRUE(log->Write(Event(NodeEventKind::kViolation, "third")).ok());
    EXPECT_THAT(Lines(), SizeIs(second.ok() ? 3 : 2)) << fail_at;
  }
}

}  // namespace
}  // namespace tacet::storage::file
