#include "tacet/storage/file/seat_anchor_file.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tacet/base/status.h"
#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

member::SeatWords Voted() {
  member::SeatWords words{.attempt = {.number = {.epoch = 1, .round = 2}},
                          .progress = member::SeatProgress::kVoted};
  words.vote.fill(7);
  return words;
}

class SeatAnchorFileTest : public ::testing::Test {
 protected:
  SeatAnchorFileTest() { ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }
  ~SeatAnchorFileTest() override { ::unsetenv("XDG_RUNTIME_DIR"); }

  base::TemporaryFolder folder_;
  const fs::path file_ = folder_.path() / "anchor";
};

TEST_F(SeatAnchorFileTest, AnotherProcessReadsWhatWasSaved) {
  {
    ASSERT_OK_AND_ASSIGN(const auto anchor, SeatAnchorFile::Open(file_, {}));
    ASSERT_OK_AND_ASSIGN(const auto nothing, anchor->Load());
    EXPECT_FALSE(nothing.has_value());
    ASSERT_TRUE(anchor->Save(Voted()).ok());
  }
  ASSERT_OK_AND_ASSIGN(const auto anchor, SeatAnchorFile::Open(file_, {}));
  ASSERT_OK_AND_ASSIGN(const auto words, anchor->Load());
  EXPECT_EQ(words, Voted());
  struct stat info {};
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(SeatAnchorFileTest, AnotherStartOfTheMachineHasNone) {
  const member::MachineStart first = {1}, second = {2};
  {
    ASSERT_OK_AND_ASSIGN(const auto anchor, SeatAnchorFile::Open(file_, first));
    ASSERT_TRUE(anchor->Save(Voted()).ok());
  }
  ASSERT_OK_AND_ASSIGN(const auto anchor, SeatAnchorFile::Open(file_, second));
  ASSERT_OK_AND_ASSIGN(const auto words, anchor->Load());
  EXPECT_FALSE(words.has_value());
}

TEST_F(SeatAnchorFileTest, ADamagedOneCountsAsNone) {
  ASSERT_OK_AND_ASSIGN(const auto anchor, SeatAnchorFile::Open(file_, {}));
  ASSERT_TRUE(anchor->Save(Voted()).ok());
  std::ofstream(file_, std::ios::app) << "?";
  ASSERT_OK_AND_ASSIGN(const auto words, anchor->Load());
  EXPECT_FALSE(words.has_value());
}

// Also where the homes are two copies.
TEST_F(SeatAnchorFileTest, ASecondProcessIsRefused) {
  ASSERT_OK_AND_ASSIGN(const auto anchor, OpenSeatAnchor("member", {}));
  const absl::Status second = OpenSeatAnchor("member", {}).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(second), HasSubstr("stop the second copy of this site's folder"));
  EXPECT_TRUE(OpenSeatAnchor("another member", {}).ok());
}

TEST_F(SeatAnchorFileTest, WordsOutliveTheProcessOutsideItsFolder) {
  for (const fs::path& elsewhere : {fs::path(), folder_.path() / "backup/ledger.anchor"}) {
    fs::create_directories(folder_.path() / "backup");
    {
      ASSERT_OK_AND_ASSIGN(const auto anchor, OpenSeatAnchor("member", elsewhere));
      ASSERT_TRUE(anchor->Save(Voted()).ok());
    }
    ASSERT_OK_AND_ASSIGN(const auto anchor, OpenSeatAnchor("member", elsewhere));
    ASSERT_OK_AND_ASSIGN(const auto words, anchor->Load());
    EXPECT_EQ(words, Voted()) << elsewhere;
  }
  EXPECT_TRUE(fs::exists(folder_.path() / "tacet/member.seat"));
  EXPECT_TRUE(fs::exists(folder_.path() / "backup/ledger.anchor.member.seat"));
}

// As `sudo -u` leaves it: the session's folder of a user who has no session.
TEST_F(SeatAnchorFileTest, AMissingRuntimeFolderIsNotMade) {
  const fs::path missing = folder_.path() / "run/user/1000";
  ::setenv("XDG_RUNTIME_DIR", missing.c_str(), 1);
  const auto used = VolatileFolder();
  EXPECT_TRUE(!used.has_value() || *used != missing / "tacet");
  EXPECT_FALSE(fs::exists(folder_.path() / "run"));
}

// Others may change what is in it.
TEST_F(SeatAnchorFileTest, AFolderOfOthersIsNotUsed) {
  fs::create_directories(folder_.path() / "tacet");
  fs::permissions(folder_.path() / "tacet", fs::perms::all);
  const auto used = VolatileFolder();
  EXPECT_TRUE(!used.has_value() || *used != folder_.path() / "tacet");
  fs::remove(folder_.path() / "tacet");
  fs::create_directories(folder_.path() / "elsewhere");
  fs::permissions(folder_.path() / "elsewhere", fs::perms::owner_all);
  fs::create_directory_symlink(folder_.path() / "elsewhere", folder_.path() / "tacet");
  const auto linked = VolatileFolder();
  EXPECT_TRUE(!linked.has_value() || *linked != folder_.path() / "tacet");
}

}  // namespace
}  // namespace tacet::storage::file
