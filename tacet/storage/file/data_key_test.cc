#include "tacet/storage/file/data_key.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::storage::file {
namespace {

using ::testing::HasSubstr;

class DataKeyTest : public ::testing::Test {
 protected:
  std::vector<uint8_t> Ensure() {
    const auto key = EnsureDataKey(path_, digest_);
    EXPECT_TRUE(key.ok()) << key.status();
    if (!key.ok()) return {};
    return {key->Expose().begin(), key->Expose().end()};
  }

  base::TemporaryFolder folder_;
  const std::filesystem::path path_ = std::filesystem::path(folder_.path()) / "data.key";
  const std::filesystem::path digest_ = std::filesystem::path(folder_.path()) / "data.digest";
};

TEST_F(DataKeyTest, IsDrawnOnceAndKeptFromOthers) {
  // The rest of a process that ended while it made the key.
  std::ofstream(path_.string() + ".new") << "half";
  const std::vector<uint8_t> key = Ensure();
  EXPECT_EQ(key.size(), 32u);
  EXPECT_EQ(Ensure(), key);
  std::ofstream(digest_) << "digest";
  EXPECT_EQ(Ensure(), key);
  EXPECT_EQ(std::filesystem::status(path_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".new"));
}

TEST_F(DataKeyTest, ALostKeyIsNotReplacedBesideADigest) {
  std::ofstream(digest_) << "digest";
  const auto key = EnsureDataKey(path_, digest_);
  EXPECT_EQ(key.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(key.status()), HasSubstr("put the key back"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(DataKeyTest, AFileThatIsNoKeyIsRefused) {
  Ensure();
  std::ofstream(path_, std::ios::app) << "x";
  EXPECT_THAT(base::Message(ReadDataKey(path_).status()), HasSubstr("has 33 bytes"));
  std::filesystem::permissions(path_, std::filesystem::perms::group_read,
                               std::filesystem::perm_options::add);
  EXPECT_THAT(base::Message(EnsureDataKey(path_, digest_).status()), HasSubstr("chmod 600"));
}

TEST_F(DataKeyTest, ARunKnowsItsData) {
  Ensure();
  ASSERT_OK_AND_ASSIGN(const auto key, ReadDataKey(path_));
  EXPECT_TRUE(AreDataOfRun(digest_, key, {1}).value());  // written down
  EXPECT_TRUE(AreDataOfRun(digest_, key, {1}).value());
  EXPECT_FALSE(AreDataOfRun(digest_, key, {2}).value());
  ASSERT_TRUE(WriteDataOfRun(digest_, key, {2}).ok());
  EXPECT_TRUE(AreDataOfRun(digest_, key, {2}).value());
  EXPECT_FALSE(AreDataOfRun(digest_, crypto::SecretBytes(32), {2}).value());
  std::ofstream(digest_, std::ios::app) << "x";
  EXPECT_THAT(base::Message(AreDataOfRun(digest_, key, {2}).status()), HasSubstr("has 33 bytes"));
}

}  // namespace
}  // namespace tacet::storage::file
