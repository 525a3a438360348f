#include "tacet/storage/file/run_directory.h"

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/storage/file/forked_lock_for_test.h"

namespace tacet::storage::file {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RunDirectoryTest : public ::testing::Test {
 protected:
  void AppendRaw(std::string_view name, std::string_view text) {
    std::ofstream(path_ / name, std::ios::app) << text;
  }

  base::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path();
};

TEST_F(RunDirectoryTest, KeepsAttemptsAndCheckpointAcrossProcesses) {
  const base::Bytes checkpoint = {1, 2, 3};
  {
    const auto directory = *RunDirectory::Create(path_);
    EXPECT_EQ(directory->LoadCheckpoint().status().code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(*directory->Attempts(), IsEmpty());
    ASSERT_TRUE(directory->RecordAttempt({.epoch = 0, .round = 3, .attempt = 1}).ok());
    ASSERT_TRUE(directory->RecordAttempt({.epoch = 1, .round = 4, .attempt = 0}).ok());
    ASSERT_TRUE(directory->SaveCheckpoint(base::Bytes{9}).ok());
    ASSERT_TRUE(directory->SaveCheckpoint(checkpoint).ok());
  }
  const auto directory = *RunDirectory::Open(path_);
  EXPECT_EQ(*directory->LoadCheckpoint(), checkpoint);
  EXPECT_THAT(*directory->Attempts(),
              ElementsAre(secagg::AttemptNumber{.epoch = 0, .round = 3, .attempt = 1},
                          secagg::AttemptNumber{.epoch = 1, .round = 4, .attempt = 0}));
}

// Its results are a function of the data.
TEST_F(RunDirectoryTest, OtherDataThanItBeganWithAreRefused) {
  EXPECT_TRUE((*RunDirectory::Create(path_))->CheckData({1}).ok());
  EXPECT_TRUE((*RunDirectory::Open(path_))->CheckData({1}).ok());
  const absl::Status other = (*RunDirectory::Open(path_))->CheckData({2});
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(other), HasSubstr("was begun with other data than these"));
}

TEST_F(RunDirectoryTest, ALineCutShortByACrashIsDropped) {
  const auto directory = *RunDirectory::Create(path_);
  ASSERT_TRUE(directory->RecordAttempt({.epoch = 0, .round = 0, .attempt = 0}).ok());
  AppendRaw("attempts", "0 1");
  EXPECT_EQ(directory->Attempts()->size(), 1u);
  ASSERT_TRUE(directory->RecordAttempt({.epoch = 0, .round = 1, .attempt = 0}).ok());
  EXPECT_EQ(directory->Attempts()->size(), 2u);
}

TEST_F(RunDirectoryTest, DamagedLinesAreNamed) {
  const auto directory = *RunDirectory::Create(path_);
  for (const char* bad : {"0 1\n", "0 1 2 3\n", "0 -1 2\n", "0 1 99999999999\n", "x\n", "\n"}) {
    std::filesystem::remove(path_ / "attempts");
    AppendRaw("attempts", "0 0 0\n");
    AppendRaw("attempts", bad);
    const auto attempts = directory->Attempts();
    EXPECT_EQ(attempts.status().code(), absl::StatusCode::kDataLoss) << bad;
    EXPECT_THAT(base::Message(attempts.status()), HasSubstr("attempts, line 2"));
  }
}

TEST_F(RunDirectoryTest, LinesCanBeCutBack) {
  const auto directory = *RunDirectory::Create(path_);
  for (const char* line : {"a", "b", "c"}) ASSERT_TRUE(directory->AppendLine("m", line).ok());
  ASSERT_TRUE(directory->KeepLines("m", 5).ok());
  EXPECT_THAT(*directory->ReadLines("m"), ElementsAre("a", "b", "c"));
  ASSERT_TRUE(directory->KeepLines("m", 1).ok());
  EXPECT_THAT(*directory->ReadLines("m"), ElementsAre("a"));
  EXPECT_THAT(*directory->ReadLines("none"), IsEmpty());
}

TEST_F(RunDirectoryTest, RefusesAUsedAMissingAndALockedDirectory) {
  EXPECT_THAT(base::Message(RunDirectory::Open(path_).status()),
              HasSubstr("holds no run to resume"));
  const auto first = *RunDirectory::Create(path_);
  EXPECT_THAT(base::Message(RunDirectory::Create(path_).status()), HasSubstr("is not empty"));
  EXPECT_THAT(base::Message(RunDirectory::Open(path_).status()),
              HasSubstr("in use by another process"));
  EXPECT_THAT(base::Message(RunDirectory::Create("/proc/none/run").status()),
              HasSubstr("cannot make the run directory"));
}

TEST_F(RunDirectoryTest, AForkedProcessNeitherKeepsNorGivesUpTheLock) {
  ExpectForksNeitherKeepNorGiveUp(*RunDirectory::Create(path_),
                                  [this] { return RunDirectory::Open(path_); });
}

TEST_F(RunDirectoryTest, ACheckpointThatCannotBeWrittenIsReportedAndLosesNothing) {
  const auto directory = *RunDirectory::Create(path_);
  ASSERT_TRUE(directory->SaveCheckpoint(base::Bytes{1, 2, 3}).ok());
  std::filesystem::create_directory(path_ / "checkpoint.new");
  EXPECT_EQ(directory->SaveCheckpoint(base::Bytes(100000)).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(*directory->LoadCheckpoint(), (base::Bytes{1, 2, 3}));
}

}  // namespace
}  // namespace tacet::storage::file
