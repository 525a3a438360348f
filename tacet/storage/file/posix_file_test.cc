#include "tacet/storage/file/posix_file.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <sys/stat.h>

#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/storage/file/disk_for_test.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

ino_t InodeOf(const fs::path& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_ino;
}

// The synchronised files, in this order.
class WatchedDisk : public DiskCalls {
 public:
  int Synchronise(int descriptor) override {
    struct stat info {};
    EXPECT_EQ(::fstat(descriptor, &info), 0);
    synchronised.push_back(info.st_ino);
    return DiskCalls::Synchronise(descriptor);
  }
  std::vector<ino_t> synchronised;
};

// A loss of power takes a folder whose entry was not synchronised, with everything in it.
TEST(MakeFoldersTest, EveryNewEntryIsSynchronised) {
  const base::TemporaryFolder folder;
  const fs::path there = folder.path();
  WatchedDisk disk;
  ASSERT_TRUE(MakeFolders(there / "a/b/c", 0700, disk).ok());
  EXPECT_THAT(disk.synchronised,
              ::testing::ElementsAre(InodeOf(there), InodeOf(there / "a"), InodeOf(there / "a/b")));
  EXPECT_EQ(fs::status(there / "a/b/c").permissions(), fs::perms::owner_all);
  disk.synchronised.clear();
  ASSERT_TRUE(MakeFolders(there / "a/b/c", 0700, disk).ok());
  EXPECT_THAT(disk.synchronised, ::testing::IsEmpty());
  ASSERT_TRUE(MakeFolders(there / "a/d/", 0700, disk).ok());
  EXPECT_THAT(disk.synchronised, ::testing::ElementsAre(InodeOf(there / "a")));
}

TEST(MakeFoldersTest, ErrorsNameTheFolder) {
  const base::TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "x";
  const absl::Status made = MakeFolders(folder.path() / "file/under");
  EXPECT_EQ(made.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(base::Message(made), ::testing::HasSubstr("file"));
  FailingDisk disk;
  disk.fail_at = 0;
  EXPECT_FALSE(MakeFolders(folder.path() / "new", 0700, disk).ok());
}

// Somebody who may write into the folder puts a link, or a file of their own, in the place of the
// temporary file.
TEST(ReplaceFileTest, WritesIntoNoFileThatWasThere) {
  const base::TemporaryFolder folder;
  const fs::path path = folder.path() / "key", beside = folder.path() / "key.new";
  const fs::path other = folder.path() / "other";
  std::ofstream(other) << "other";
  for (const bool by_link : {true, false}) {
    if (by_link) {
      fs::create_symlink(other, beside);
    } else {
      fs::create_hard_link(other, beside);
    }
    ASSERT_TRUE(ReplaceFile(path, base::AsBytes("secret"), DiskCalls::System(), kOwnerOnly).ok());
    EXPECT_EQ(*ReadFile(path), base::Bytes({'s', 'e', 'c', 'r', 'e', 't'}));
    EXPECT_EQ(*ReadFile(other), base::Bytes({'o', 't', 'h', 'e', 'r'}));
    EXPECT_FALSE(fs::is_symlink(path));
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  }
}

}  // namespace
}  // namespace tacet::storage::file
