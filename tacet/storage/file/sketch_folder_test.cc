#include "tacet/storage/file/sketch_folder.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <sys/stat.h>

#include "tacet/base/damaged_file_for_test.h"
#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SketchFolderTest : public ::testing::Test {
 protected:
  // Rows of numbers from `first` to before `last`, of a table of a population.
  absl::StatusOr<std::vector<SharedRows>> Add(std::string_view population, int first, int last) {
    TACET_ASSIGN_OR_RETURN(const SketchFolder folder, SketchFolder::Open(ledgers_));
    ledger::RowSketcher sketcher(folder.key());
    for (int i = first; i < last; ++i) {
      sketcher.Add(std::vector<std::string>{std::to_string(i), std::to_string(i % 7)});
    }
    return folder.Add(population, sketcher.Finish());
  }
  static mode_t ModeOf(const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }

  const base::TemporaryFolder temporary_{base::TemporaryFolder::kInMemory};
  const fs::path ledgers_ = fs::path(temporary_.path()) / "ledger";
  const fs::path sketches_ = ledgers_ / "sketch";
};

TEST_F(SketchFolderTest, TellsWhoSharesRows) {
  EXPECT_THAT(Add("main", 0, 1000).value(), IsEmpty());
  EXPECT_THAT(Add("main", 1000, 2000).value(), IsEmpty());  // more of its own
  EXPECT_THAT(Add("staff", 5000, 5500).value(), IsEmpty());
  const auto shared = Add("staff", 500, 2000);
  ASSERT_THAT(shared.value(), SizeIs(1));
  EXPECT_EQ(shared->front().population, "main");
  EXPECT_EQ(shared->front().share, 1);
  EXPECT_THAT(Add("others", 5100, 5200).value(), SizeIs(1));
  EXPECT_THAT(Add("others", 0, 400).value(), SizeIs(1));
}

// It confirms single records to anyone who has it and its key.
TEST_F(SketchFolderTest, NobodyElseReadsItAndBackupsLeaveItOut) {
  ::umask(0);
  ASSERT_TRUE(Add("main", 0, 1000).ok());
  EXPECT_EQ(ModeOf(sketches_), 0700u);
  for (const char* const name : {"key", "main.rows"}) {
    EXPECT_EQ(ModeOf(sketches_ / name), 0600u) << name;
  }
  std::ifstream tag(sketches_ / "CACHEDIR.TAG");
  std::string line;
  std::getline(tag, line);
  EXPECT_EQ(line, "Signature: 8a477f597d28d172789f06886806bc55");
  for (const char* const name : {"key", "main.rows"}) {
    fs::permissions(sketches_ / name, fs::perms::group_read, fs::perm_options::add);
    const auto refused = Add("staff", 0, 10);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(base::Message(refused.status()), HasSubstr("think of what it holds as known"));
    fs::permissions(sketches_ / name, fs::perms::group_read, fs::perm_options::remove);
  }
}

TEST_F(SketchFolderTest, DamageIsToldAndForgottenWithTheFolder) {
  ASSERT_TRUE(Add("main", 0, 1000).ok());
  base::FlipBit(sketches_ / "main.rows", 60);
  EXPECT_THAT(base::Message(Add("staff", 0, 10).status()), HasSubstr("main.rows"));
  fs::remove_all(sketches_);
  EXPECT_THAT(Add("staff", 0, 1000).value(), IsEmpty());
  fs::remove(sketches_ / "key");  // a new one does not know the old digests
  EXPECT_THAT(base::Message(Add("main", 0, 10).status()), HasSubstr("made under another key"));
}

}  // namespace
}  // namespace tacet::storage::file
