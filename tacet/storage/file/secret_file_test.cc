#include "tacet/storage/file/secret_file.h"

#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::storage::file {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SecretFileTest, IsForItsOwnerAlone) {
  const base::TemporaryFolder folder;
  const auto path = folder.path() / "key";
  const mode_t before = ::umask(0);  // the mode does not depend on it
  ASSERT_TRUE(WriteSecretFile(path, base::AsBytes("secret")).ok());
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(base::AsText(ReadSecretFile(path)->Expose()), "secret");

  for (const mode_t mode : {0640, 0604, 0620, 0601}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const absl::Status refused = ReadSecretFile(path).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied) << mode;
    EXPECT_THAT(base::Message(refused), HasSubstr("others than its owner may use it"));
  }
  ASSERT_EQ(::chmod(path.c_str(), 0400), 0);
  EXPECT_TRUE(ReadSecretFile(path).ok());
}

TEST(SecretFileTest, AFolderOfKeysIsClosedToOthers) {
  const base::TemporaryFolder folder;
  EXPECT_TRUE(CheckKeyFolder(folder.path()).ok());
  for (const mode_t mode : {0750, 0705, 0710, 0701, 0720, 01777}) {
    ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0);
    const absl::Status refused = CheckKeyFolder(folder.path());
    EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied) << mode;
    EXPECT_THAT(base::Message(refused),
                HasSubstr(fmt::format("run `chmod 700 {}`", folder.path().string())));
  }
  ASSERT_EQ(::chmod(folder.path().c_str(), 0500), 0);
  EXPECT_TRUE(CheckKeyFolder(folder.path()).ok());
  ASSERT_EQ(::chmod(folder.path().c_str(), 0700), 0);
  EXPECT_EQ(CheckKeyFolder(folder.path() / "none").code(), absl::StatusCode::kNotFound);
  if (::geteuid() != 0) {
    EXPECT_THAT(base::Message(CheckKeyFolder("/")), HasSubstr("/ belongs to user 0"));
  }
}

TEST(SecretFileTest, IsNeverWrittenOver) {
  const base::TemporaryFolder folder;
  const auto path = folder.path() / "key";
  ASSERT_TRUE(WriteSecretFile(path, base::AsBytes("first")).ok());
  EXPECT_EQ(WriteSecretFile(path, base::AsBytes("second")).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(base::AsText(ReadSecretFile(path)->Expose()), "first");
}

TEST(SecretFileTest, IsOverwrittenWithZerosInItsPlace) {
  const base::TemporaryFolder folder;
  const auto path = folder.path() / "key";
  EXPECT_TRUE(OverwriteSecretFile(path).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(WriteSecretFile(path, base::AsBytes("secret")).ok());
  std::filesystem::create_hard_link(path, folder.path() / "same");
  ASSERT_TRUE(OverwriteSecretFile(path).ok());
  EXPECT_EQ(base::AsText(ReadSecretFile(folder.path() / "same")->Expose()), std::string(6, 0));
}

TEST(SecretFileTest, ALineIsTheSameInEveryEditor) {
  const base::TemporaryFolder folder;
  int files = 0;
  const auto line_of = [&](std::string_view content) {
    const auto path = folder.path() / std::to_string(files++);
    EXPECT_TRUE(WriteSecretFile(path, base::AsBytes(content)).ok());
    return ReadSecretLine(path);
  };
  for (const std::string mark : {"", "\xEF\xBB\xBF"}) {
    for (const char* const end : {"", "\n", "\r\n", "\r", "\nnext\n", "\r\nnext\r\n"}) {
      for (const std::string line : {" four words with blanks ", "cl\xC3\xA9", ""}) {
        const auto read = line_of(mark + line + end);
        ASSERT_TRUE(read.ok()) << read.status();
        EXPECT_EQ(base::AsText(read->Expose()), line);
      }
    }
  }
  // One end and one mark are taken off, so a key that was made with them can still be unlocked.
  EXPECT_EQ(base::AsText(line_of("old\r\r\n")->Expose()), "old\r");
  EXPECT_EQ(base::AsText(line_of("\xEF\xBB\xBF\xEF\xBB\xBF"
                                 "old")
                             ->Expose()),
            "\xEF\xBB\xBF"
            "old");
  using namespace std::string_view_literals;
  for (const std::string_view other :
       {"\xFF\xFE"
        "o\0l\0d\0"sv,
        "\xFE\xFF\0o\0l\0d"sv, "o\0l\0d\0\r\0\n\0"sv, "\0o\0l\0d"sv}) {
    const absl::Status refused = line_of(other).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(base::Message(refused), HasSubstr("is text in UTF-16, expected UTF-8: convert it"));
    EXPECT_THAT(base::Message(refused), Not(HasSubstr("old")));
  }
}

TEST(SecretFileTest, RefusesWhatIsNoFileOfItsOwn) {
  const base::TemporaryFolder folder;
  EXPECT_EQ(ReadSecretFile(folder.path() / "none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(base::Message(ReadSecretFile(folder.path()).status()),
              HasSubstr("is not a regular file"));
  const auto large = folder.path() / "large";
  ASSERT_TRUE(WriteSecretFile(large, {}).ok());
  EXPECT_TRUE(ReadSecretFile(large)->empty());
  std::filesystem::resize_file(large, kMaxSecretFileBytes + 1);
  EXPECT_THAT(base::Message(ReadSecretFile(large).status()), HasSubstr("at most 1048576 are read"));
}

}  // namespace
}  // namespace tacet::storage::file
