#include "tacet/storage/file/unlock_source.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/crypto/random.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {
namespace {

using ::testing::HasSubstr;

class UnlockSourceTest : public ::testing::Test {
 protected:
  UnlockSource FileWith(std::string_view content) {
    const auto path = folder_.path() / std::to_string(files_++);
    EXPECT_TRUE(WriteSecretFile(path, base::AsBytes(content)).ok());
    return {.passphrase_file = path.string()};
  }

 private:
  const base::TemporaryFolder folder_;
  int files_ = 0;
};

TEST_F(UnlockSourceTest, APassphraseUnlocksFromAFileOfAnySystem) {
  ASSERT_OK_AND_ASSIGN(const crypto::Unlocker made, FileWith("four words with \n").New("keys"));
  crypto::SystemEntropy entropy;
  const crypto::SecretBytes secret = entropy.Draw(32);
  ASSERT_OK_AND_ASSIGN(const auto locked, crypto::LockSecret(secret, "test", made, entropy));
  ASSERT_OK_AND_ASSIGN(const crypto::Unlocker same, FileWith("\xEF\xBB\xBF"
                                                             "four words with \r\n")
                                                        .Existing("keys"));
  ASSERT_OK_AND_ASSIGN(const auto unlocked, crypto::UnlockSecret(locked, "test", same));
  EXPECT_TRUE(crypto::ConstantTimeEqual(unlocked.Expose(), secret.Expose()));
  ASSERT_OK_AND_ASSIGN(const crypto::Unlocker cut, FileWith("four words with").Existing("keys"));
  EXPECT_EQ(crypto::UnlockSecret(locked, "test", cut).status().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST_F(UnlockSourceTest, ANewPassphraseCountsWithoutItsEndAndMark) {
  EXPECT_TRUE(FileWith("twelve bytes\r\n").New("keys").ok());
  EXPECT_THAT(base::Message(FileWith("\xEF\xBB\xBF"
                                     "eleven byte\r\n")
                                .New("keys")
                                .status()),
              HasSubstr("the new passphrase has 11 bytes"));
  EXPECT_THAT(base::Message(FileWith("\xEF\xBB\xBF\r\n").Existing("keys").status()),
              HasSubstr("empty"));
}

}  // namespace
}  // namespace tacet::storage::file
