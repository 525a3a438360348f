#include "tacet/storage/file/data_key.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::storage::file {
namespace {

using ::testing::HasSubstr;

class DataKeyTest : public ::testing::Test {
 protected:
  std::vector<uint8_t> Ensure() {
    const auto key = EnsureDataKey(path_, ledger_);
    EXPECT_TRUE(key.ok()) << key.status();
    if (!key.ok()) return {};
    return {key->Expose().begin(), key->Expose().end()};
  }

  base::TemporaryFolder folder_;
  const std::filesystem::path path_ = std::filesystem::path(folder_.path()) / "data.key";
  const std::filesystem::path ledger_ = std::filesystem::path(folder_.path()) / "ledger";
};

TEST_F(DataKeyTest, IsDrawnOnceAndKeptFromOthers) {
  // What a process leaves that ended while it made the key.
  std::ofstream(path_.string() + ".new") << "half";
  const std::vector<uint8_t> key = Ensure();
  EXPECT_EQ(key.size(), 32u);
  EXPECT_EQ(Ensure(), key);
  std::ofstream(ledger_) << "ledger";
  EXPECT_EQ(Ensure(), key);
  EXPECT_EQ(std::filesystem::status(path_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".new"));
}

TEST_F(DataKeyTest, ALostKeyIsNotReplacedBesideALedger) {
  std::ofstream(ledger_) << "ledger";
  const auto key = EnsureDataKey(path_, ledger_);
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
  EXPECT_THAT(base::Message(EnsureDataKey(path_, ledger_).status()), HasSubstr("chmod 600"));
}

}  // namespace
}  // namespace tacet::storage::file
