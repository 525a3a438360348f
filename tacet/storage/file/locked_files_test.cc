#include "tacet/storage/file/locked_files.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/bytes.h"
#include "tacet/base/child_for_test.h"
#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/storage/file/disk_for_test.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

crypto::Unlocker Passphrase(std::string_view text) {
  return *crypto::Unlocker::FromPassphrase(crypto::SecretBytes::CopyOf(base::AsBytes(text)),
                                           {.passes = 1, .memory_bytes = 8192});
}

class LockedFilesTest : public ::testing::Test {
 protected:
  fs::path Lock(const std::string& name, const std::string& secret) {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    const auto locked = crypto::LockSecret(crypto::SecretBytes::CopyOf(base::AsBytes(secret)),
                                           "test", present_, entropy_);
    EXPECT_TRUE(WriteSecretFile(path, *locked).ok());
    return path;
  }
  static std::string Content(const fs::path& path, const crypto::Unlocker& unlocker) {
    const auto locked = ReadSecretFile(path);
    const auto secret = crypto::UnlockSecret(locked->Expose(), "test", unlocker);
    return secret.ok() ? std::string(base::AsText(secret->Expose()))
                       : base::Message(secret.status());
  }

  base::TemporaryFolder folder_;
  crypto::InsecureSeededEntropy entropy_{1, "locked files"};
  const crypto::Unlocker present_ = Passphrase("present"), next_ = Passphrase("next");
};

TEST_F(LockedFilesTest, AreTheKeysOfAFolderAndItsEpochs) {
  const fs::path identity = Lock("identity.key", "a");
  const fs::path epoch = Lock("epochs/0000000001.key", "b");
  Lock("policy.toml", "no key by its name");
  ASSERT_TRUE(WriteSecretFile(folder_.path() / "data.key", base::Bytes(32)).ok());
  EXPECT_THAT(*LockedFilesAt(folder_.path()), ElementsAre(epoch, identity));
  EXPECT_THAT(*LockedFilesAt(identity), ElementsAre(identity));
  EXPECT_THAT(base::Message(LockedFilesAt(folder_.path() / "data.key").status()),
              HasSubstr("holds no locked keys"));
  EXPECT_EQ(LockedFilesAt(folder_.path() / "missing").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(LockedFilesTest, OpenWithTheNextPassphraseOnly) {
  const fs::path paths[] = {Lock("exchange.key", "x"), Lock("identity.key", "i")};
  ASSERT_TRUE(ChangeUnlocker(paths, present_, next_, entropy_).ok());
  EXPECT_EQ(Content(paths[0], next_), "x");
  EXPECT_EQ(Content(paths[1], next_), "i");
  EXPECT_THAT(Content(paths[0], present_), HasSubstr("a wrong passphrase"));
  EXPECT_THAT(*LockedFilesAt(folder_.path()), ElementsAre(paths[0], paths[1]));
}

// A crash between two files leaves each under one of both passphrases.
TEST_F(LockedFilesTest, ARepeatedChangeEndsAnInterruptedOne) {
  const fs::path paths[] = {Lock("exchange.key", "x"), Lock("identity.key", "i")};
  ASSERT_TRUE(ChangeUnlocker(std::span(paths).first(1), present_, next_, entropy_).ok());
  ASSERT_TRUE(ChangeUnlocker(paths, present_, next_, entropy_).ok());
  EXPECT_EQ(Content(paths[0], next_), "x");
  EXPECT_EQ(Content(paths[1], next_), "i");
}

// A full disk, twice at the same place, and then there is room.
TEST_F(LockedFilesTest, NoFailureOfADiskLosesAKey) {
  bool failed = true;
  for (int call = 0; failed; ++call) {
    const fs::path paths[] = {Lock(fmt::format("{}/exchange.key", call), "x"),
                              Lock(fmt::format("{}/identity.key", call), "i")};
    for (int time = 0; time < 2; ++time) {
      FailingDisk disk;
      disk.fail_at = call;
      failed = !ChangeUnlocker(paths, present_, next_, entropy_, disk).ok();
    }
    const absl::Status repeated = ChangeUnlocker(paths, present_, next_, entropy_);
    ASSERT_TRUE(repeated.ok()) << repeated;
    EXPECT_EQ(Content(paths[0], next_), "x");
    EXPECT_EQ(Content(paths[1], next_), "i");
  }
}

// Dead at any moment; the next change leaves no content that the old passphrase opens.
TEST_F(LockedFilesTest, ARepeatedChangeEndsOneThatDied) {
  using When = DeadlyDisk::When;
  for (const When when : {When::kBefore, When::kHalfway, When::kAfter}) {
    bool died = true;
    for (int call = 0; died; ++call) {
      const std::string folder = fmt::format("{}-{}", static_cast<int>(when), call);
      const fs::path path = Lock(folder + "/identity.key", "i");
      const fs::path content = folder_.path() / folder / "content";
      fs::create_hard_link(path, content);
      const int code = base::ExitCodeInChild([&] {
        DeadlyDisk disk(call, when);
        return ChangeUnlocker(std::span(&path, 1), present_, next_, entropy_, disk).ok() ? 0 : 1;
      });
      died = code == DeadlyDisk::kDied;
      ASSERT_TRUE(died || code == 0) << code;
      const absl::Status repeated = ChangeUnlocker(std::span(&path, 1), present_, next_, entropy_);
      ASSERT_TRUE(repeated.ok()) << repeated;
      EXPECT_EQ(Content(path, next_), "i");
      EXPECT_FALSE(fs::exists(path.string() + ".old"));
      ASSERT_OK_AND_ASSIGN(const auto old, ReadSecretFile(content));
      EXPECT_TRUE(std::ranges::all_of(old.Expose(), [](uint8_t byte) { return byte == 0; }));
    }
  }
}

TEST_F(LockedFilesTest, AWrongPassphraseChangesNothing) {
  const fs::path paths[] = {Lock("exchange.key", "x"), Lock("identity.key", "i")};
  ASSERT_TRUE(
      ChangeUnlocker(std::span(paths).last(1), present_, Passphrase("other"), entropy_).ok());
  const absl::Status refused = ChangeUnlocker(paths, present_, next_, entropy_);
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(refused), HasSubstr("identity.key"));
  EXPECT_EQ(Content(paths[0], present_), "x");
}

// Somebody reads the disk later, with the old passphrase.
TEST_F(LockedFilesTest, TheOldContentIsOverwritten) {
  const fs::path path = Lock("identity.key", "i");
  fs::create_hard_link(path, folder_.path() / "disk");
  ASSERT_TRUE(ChangeUnlocker(std::span(&path, 1), present_, next_, entropy_).ok());
  ASSERT_OK_AND_ASSIGN(const auto disk, ReadSecretFile(folder_.path() / "disk"));
  EXPECT_TRUE(std::ranges::all_of(disk.Expose(), [](uint8_t byte) { return byte == 0; }));
  EXPECT_FALSE(fs::exists(folder_.path() / "identity.key.old"));
}

}  // namespace
}  // namespace tacet::storage::file
