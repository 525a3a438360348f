#include "tacet/storage/file/exchange_key_files.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/storage/file/key_file_for_test.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ExchangeKeyFilesTest : public ::testing::Test {
 protected:
  crypto::ExchangePublicKey Prepare() {
    const auto next = base::ValueOf(files_.PrepareNext(unlocker_, entropy_));
    return next.keys.exchange;
  }
  crypto::ExchangePublicKey TakeUp(const crypto::ExchangePublicKey& named) {
    const auto keys = base::ValueOf(files_.TakeUp(named, unlocker_));
    return keys.exchange.public_key();
  }
  bool Has(const crypto::ExchangePublicKey& named) {
    const auto keys = files_.Find(named, unlocker_);
    EXPECT_TRUE(keys.ok() || keys.status().code() == absl::StatusCode::kNotFound) << keys.status();
    return keys.ok() && keys->exchange.public_key() == named;
  }
  fs::path Path(std::string_view name) const { return folder_.path() / name; }

  base::TemporaryFolder folder_;
  ExchangeKeyFiles files_{folder_.path()};
  crypto::SystemEntropy entropy_;
  crypto::Unlocker unlocker_ = KeyFile(1);
};

TEST_F(ExchangeKeyFilesTest, TheNextKeyIsTheSameUntilItIsUsed) {
  ASSERT_OK_AND_ASSIGN(const auto made, files_.PrepareNext(unlocker_, entropy_));
  EXPECT_TRUE(made.is_new);
  ASSERT_OK_AND_ASSIGN(const auto again, files_.PrepareNext(unlocker_, entropy_));
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.keys, made.keys);
  ASSERT_OK_AND_ASSIGN(const auto used, files_.TakeUp(made.keys.exchange, unlocker_));
  EXPECT_EQ(used.public_keys(), made.keys);
  ASSERT_OK_AND_ASSIGN(const auto next, files_.PrepareNext(unlocker_, entropy_));
  EXPECT_NE(next.keys.exchange, made.keys.exchange);
  EXPECT_NE(next.keys.kem, made.keys.kem);
}

TEST_F(ExchangeKeyFilesTest, FilesAreLockedAndForTheirOwnerAlone) {
  const auto key = Prepare();
  for (const char* name : {"exchange-next.key", "exchange.key"}) {
    struct stat info {};
    ASSERT_EQ(::stat(Path(name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 07777, 0600u) << name;
    const absl::Status refused = files_.Find(key, KeyFile(2)).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(base::Message(refused), HasSubstr(name));
    TakeUp(key);
  }
}

TEST_F(ExchangeKeyFilesTest, TheKeyBeforeIsDeletedWithTheNextInUse) {
  const auto first = Prepare();
  TakeUp(first);
  const auto second = Prepare();
  // Both are there until an epoch names the second. Looking changes nothing.
  EXPECT_TRUE(Has(first));
  EXPECT_TRUE(Has(second));
  EXPECT_EQ(TakeUp(first), first);
  EXPECT_TRUE(Has(second));

  fs::create_hard_link(Path("exchange.key"), Path("blocks-on-disk"));
  EXPECT_EQ(TakeUp(second), second);
  EXPECT_FALSE(Has(first));
  EXPECT_TRUE(Has(second));
  EXPECT_FALSE(fs::exists(Path("exchange-next.key")));
  // The bytes are gone too, not the name alone.
  std::ifstream blocks(Path("blocks-on-disk"), std::ios::binary);
  const std::string left{std::istreambuf_iterator<char>(blocks), {}};
  EXPECT_GT(left.size(), 96u);
  EXPECT_EQ(left.find_first_not_of('\0'), std::string::npos);
}

// A crash leaves the next key next to one that is whole, or that is zeros already.
TEST_F(ExchangeKeyFilesTest, ACrashOnTheWayIsFinished) {
  const auto first = Prepare();
  TakeUp(first);
  const auto second = Prepare();
  ASSERT_TRUE(OverwriteSecretFile(Path("exchange.key")).ok());
  EXPECT_EQ(TakeUp(second), second);
  EXPECT_EQ(TakeUp(second), second);
  EXPECT_FALSE(fs::exists(Path("exchange-next.key")));
}

TEST_F(ExchangeKeyFilesTest, AKeyThatIsLostIsNamedWithTheNextStep) {
  const auto key = Prepare();
  fs::remove(Path("exchange-next.key"));
  const absl::Status lost = files_.TakeUp(key, unlocker_).status();
  EXPECT_EQ(lost.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(base::Message(lost), HasSubstr("run `tacet client renew`"));
  EXPECT_NE(Prepare(), key);
}

}  // namespace
}  // namespace tacet::storage::file
