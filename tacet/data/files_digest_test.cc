#include "tacet/data/files_digest.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::data {
namespace {

class FilesDigestTest : public testing::Test {
 protected:
  std::filesystem::path Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  static crypto::Digest Of(const std::filesystem::path& path) {
    const auto digest = FilesDigest(path);
    EXPECT_TRUE(digest.ok()) << digest.status();
    return *digest;
  }

  const base::TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
};

// Two agreements may read other columns of one table: it is one data set all the same.
TEST_F(FilesDigestTest, ATableIsTheSameWhereverItLies) {
  const crypto::Digest digest = Of(Write("a/ward.csv", "age,ill\n40,1\n"));
  EXPECT_EQ(Of(Write("b/moved.csv", "age,ill\n40,1\n")), digest);
  EXPECT_EQ(Of(folder_ / "a"), digest);  // as the only file of a folder
}

TEST_F(FilesDigestTest, EveryChangeOfAFileIsAnotherDataSet) {
  const crypto::Digest digest = Of(Write("ward.csv", "age,ill\n40,1\n41,0\n"));
  EXPECT_NE(Of(Write("ward.csv", "age,ill\n40,1\n41,1\n")), digest);  // a label
  EXPECT_NE(Of(Write("ward.csv", "age,ill\n40,1\n")), digest);        // an erased patient
  EXPECT_NE(Of(Write("ward.csv", "age,ill\n40,1\n41,0\n42,0\n")), digest);
  EXPECT_EQ(Of(Write("ward.csv", "age,ill\n40,1\n41,0\n")), digest);
}

TEST_F(FilesDigestTest, AFolderCountsTheFilesThatAreRead) {
  Write("data/1.csv", "age,ill\n40,1\n");
  Write("data/2.csv", "age,ill\n41,1\n");
  const crypto::Digest digest = Of(folder_ / "data");
  Write("data/README", "about the data");
  EXPECT_EQ(Of(folder_ / "data"), digest);
  std::filesystem::rename(folder_ / "data/1.csv", folder_ / "data/3.csv");
  EXPECT_EQ(Of(folder_ / "data"), digest);
  Write("data/4.csv", "age,ill\n42,1\n");
  EXPECT_NE(Of(folder_ / "data"), digest);
}

TEST_F(FilesDigestTest, WhatIsNoDataSetHasNone) {
  EXPECT_EQ(FilesDigest(folder_).status().code(), absl::StatusCode::kNotFound);
  Write("empty/.hidden", "x");
  EXPECT_EQ(FilesDigest(folder_ / "empty").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FilesDigest(folder_ / "missing.csv").status().code(), absl::StatusCode::kUnavailable);
}

// Data of a model that tacet does not know: scans, archives of arrays, a database's file.
TEST_F(FilesDigestTest, FilesOfAnyFormCountWhereNoneIsOfADataSet) {
  Write("scans/a/1.png", "first");
  Write("scans/b/2.png", "second");
  const crypto::Digest digest = Of(folder_ / "scans");
  Write("scans/.index", "of a file browser");
  Write("scans/.cache/1.png", "small");
  std::filesystem::rename(folder_ / "scans/b/2.png", folder_ / "scans/a/0.png");
  EXPECT_EQ(Of(folder_ / "scans"), digest);
  Write("scans/a/1.png", "other");
  EXPECT_NE(Of(folder_ / "scans"), digest);
  EXPECT_NE(Of(Write("one.npz", "first")), Of(Write("other.npz", "second")));
  Write("scans/table.csv", "age,ill\n40,1\n");
  EXPECT_EQ(Of(folder_ / "scans"), Of(folder_ / "scans/table.csv"));
}

}  // namespace
}  // namespace tacet::data
