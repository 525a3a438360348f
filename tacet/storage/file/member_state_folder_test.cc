#include "tacet/storage/file/member_state_folder.h"

#include <functional>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <sys/stat.h>
#include <unistd.h>

#include "tacet/base/child_for_test.h"
#include "tacet/base/damaged_file_for_test.h"
#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/member/member_state_contract_for_test.h"
#include "tacet/storage/file/disk_for_test.h"
#include "tacet/storage/file/forked_lock_for_test.h"

namespace tacet::member::testing {
namespace {

struct FolderBackend {
  FolderBackend() { Reopen(); }
  member::MemberState& state() { return *folder; }
  void Reopen() {
    folder.reset();
    ASSERT_OK_AND_ASSIGN(auto opened,
                         storage::file::MemberStateFolder::Open(temporary.path() / "state"));
    folder = std::move(opened);
  }

  base::TemporaryFolder temporary{base::TemporaryFolder::kInMemory};
  std::unique_ptr<storage::file::MemberStateFolder> folder;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Folder, MemberStateContract, FolderBackend);

}  // namespace
}  // namespace tacet::member::testing

namespace tacet::storage::file {
namespace {

using ::testing::HasSubstr;

secagg::Attempt Numbered(uint32_t round, uint8_t model = 1) {
  secagg::Attempt made{.number = {.round = round}};
  made.model_digest.fill(model);
  return made;
}

class MemberStateFolderTest : public ::testing::Test {
 protected:
  std::unique_ptr<MemberStateFolder> Open(DiskCalls& disk = DiskCalls::System()) {
    return base::ValueOf(MemberStateFolder::Open(path_, disk));
  }

  const base::TemporaryFolder temporary_{base::TemporaryFolder::kInMemory};
  const std::filesystem::path path_ = temporary_.path() / "state";
};

TEST_F(MemberStateFolderTest, IsHeldByOneProcess) {
  const auto first = Open();
  const auto second = MemberStateFolder::Open(path_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(second.status()), HasSubstr("in use by another process"));
}

TEST_F(MemberStateFolderTest, AForkedProcessNeitherKeepsNorGivesUpTheLock) {
  ExpectForksNeitherKeepNorGiveUp(*MemberStateFolder::Open(path_),
                                  [this] { return MemberStateFolder::Open(path_); });
}

TEST_F(MemberStateFolderTest, IsItsOwnersAlone) {
  const auto folder = Open();
  ASSERT_TRUE(folder->SaveCheckpoint(base::Bytes{1}).ok());
  ASSERT_TRUE(folder->SaveMemory(base::Bytes{1}).ok());
  ASSERT_TRUE(folder->SaveUpload(Numbered(1), base::Bytes{1}).ok());
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(path_)) {
    ASSERT_EQ(::stat(file.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << file.path();
    ++files;
  }
  EXPECT_EQ(files, 4u);  // the lock among them
}

TEST_F(MemberStateFolderTest, DamageIsNoticed) {
  const auto folder = Open();
  ASSERT_TRUE(folder->Record(Numbered(1), secagg::JournalStep::kVote, base::Bytes(20, 3)).ok());
  const std::filesystem::path file = path_ / "0-1-0.vote";
  const auto size = std::filesystem::file_size(file);
  for (uintmax_t at = 0; at < size; ++at) {
    base::FlipBit(file, static_cast<std::streamoff>(at));
    const absl::Status found = folder->Find(Numbered(1), secagg::JournalStep::kVote).status();
    EXPECT_EQ(found.code(), absl::StatusCode::kDataLoss) << at;
    base::FlipBit(file, static_cast<std::streamoff>(at));
  }
  EXPECT_TRUE(folder->Find(Numbered(1), secagg::JournalStep::kVote).ok());
  std::filesystem::resize_file(file, size - 1);
  EXPECT_EQ(folder->Find(Numbered(1), secagg::JournalStep::kVote).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(MemberStateFolderTest, AFailedCallChangesNothingAndMaySucceedLater) {
  for (int fail_at = 0; fail_at < 4; ++fail_at) {
    std::filesystem::remove_all(path_);
    FailingDisk disk;
    const auto folder = Open(disk);
    ASSERT_TRUE(folder->SaveMemory(base::Bytes(30, 1)).ok());
    disk.fail_at = disk.calls + fail_at;
    const absl::Status saved = folder->SaveMemory(base::Bytes(30, 2));
    if (saved.ok()) continue;
    EXPECT_EQ(saved.code(), absl::StatusCode::kUnavailable);
    const base::Bytes found = folder->LoadMemory().value();
    EXPECT_TRUE(found == base::Bytes(30, 1) || found == base::Bytes(30, 2));
    ASSERT_TRUE(folder->SaveMemory(base::Bytes(30, 2)).ok());
    EXPECT_EQ(folder->LoadMemory().value(), base::Bytes(30, 2));
  }
}

// Saves one thing after the other, each acknowledged by a byte.
int SaveInTurn(const std::filesystem::path& path, DiskCalls& disk, int acknowledge) {
  auto opened = MemberStateFolder::Open(path, disk);
  if (!opened.ok()) return 1;
  MemberStateFolder& folder = **opened;
  const std::vector<std::function<absl::Status()>> steps = {
      [&] { return folder.SaveCheckpoint(base::Bytes(200, 2)); },
      [&] { return folder.SaveMemory(base::Bytes(50, 2)); },
      [&] {
        return folder.KeepOnly({0, 2, 0});
      },
      [&] { return folder.SaveUpload(Numbered(2), base::Bytes(300, 2)); },
      [&] { return folder.Record(Numbered(2), secagg::JournalStep::kVote, base::Bytes(40, 2)); },
      [&] { return folder.ForgetEarlierCheckpoint(); },
      [&] { return folder.SaveCheckpoint(base::Bytes(200, 3)); },
      [&] { return folder.StepBack(); },
  };
  for (const auto& step : steps) {
    if (!step().ok() || ::write(acknowledge, "x", 1) != 1) return 2;
  }
  return 0;
}

TEST_F(MemberStateFolderTest, DyingAtEveryCallForgetsNothingThatWasAcknowledged) {
  int deaths = 0;
  for (const auto when :
       {DeadlyDisk::When::kBefore, DeadlyDisk::When::kHalfway, DeadlyDisk::When::kAfter}) {
    for (int die_at = 0;; ++die_at) {
      std::filesystem::remove_all(path_);
      {
        const auto folder = Open();
        ASSERT_TRUE(folder->SaveCheckpoint(base::Bytes(200, 1)).ok());
        ASSERT_TRUE(folder->SaveMemory(base::Bytes(50, 1)).ok());
        ASSERT_TRUE(folder->SaveUpload(Numbered(1), base::Bytes(300, 1)).ok());
      }
      base::Child child([&](int acknowledge) {
        DeadlyDisk disk(die_at, when);
        return SaveInTurn(path_, disk, acknowledge);
      });
      size_t acknowledged = 0;
      while (child.Read<char>()) ++acknowledged;
      const int code = child.ExitCode();
      ASSERT_TRUE(code == DeadlyDisk::kDied || code == 0) << code;

      const auto folder = Open();
      const auto state = folder->LoadCheckpoint().value();
      const auto memory = folder->LoadMemory().value();
      const base::Bytes new_state(200, 2), new_memory(50, 2);
      const bool may_be_third = acknowledged == 6 || acknowledged == 7;  // until it went back
      ASSERT_TRUE(state == new_state || (acknowledged < 1 && state == base::Bytes(200, 1)) ||
                  (may_be_third && state == base::Bytes(200, 3)));
      const auto earlier = folder->LoadEarlierCheckpoint();
      if (acknowledged >= 6) {
        ASSERT_TRUE(state == new_state ? !earlier.ok() : earlier.value() == new_state);
      }
      ASSERT_TRUE(memory == new_memory || (acknowledged < 2 && memory == base::Bytes(50, 1)));
      const auto upload = folder->LoadUpload(Numbered(2));
      ASSERT_TRUE(upload.ok()
                      ? *upload == base::Bytes(300, 2)
                      : acknowledged < 4 && upload.status().code() == absl::StatusCode::kNotFound);
      const auto vote = folder->Find(Numbered(2), secagg::JournalStep::kVote);
      ASSERT_TRUE(vote.ok() ||
                  (acknowledged < 5 && vote.status().code() == absl::StatusCode::kNotFound));
      if (acknowledged >= 3) {
        ASSERT_EQ(folder->LoadUpload(Numbered(1)).status().code(), absl::StatusCode::kNotFound);
      }
      if (code == 0) break;
      ++deaths;
    }
  }
  EXPECT_GT(deaths, 30);
}

}  // namespace
}  // namespace tacet::storage::file
