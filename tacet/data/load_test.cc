#include "tacet/data/load.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::data {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A fresh folder for every test.
class LoadTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              (std::string("tacet_load_") +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Write(const std::string& file, const std::string& bytes) {
    std::ofstream(folder_ / file, std::ios::binary) << bytes;
  }
  // Three images of 1 x 2.
  void WriteImages() {
    Write("images-idx3-ubyte",
          std::string("\0\0\x08\x03\0\0\0\x03\0\0\0\x01\0\0\0\x02", 16) + "abcdef");
  }
  void WriteLabels() {
    Write("labels-idx1-ubyte", std::string("\0\0\x08\x01\0\0\0\x03\x01\x00\x04", 11));
  }
  void WriteClients(const std::string& name = "writers-idx1-int") {
    Write(name, std::string("\0\0\x0C\x01\0\0\0\x03\0\0\0\x09\0\0\0\x02\0\0\0\x09", 20));
  }
  void ExpectError(const fs::path& path, absl::StatusCode code, const std::string& message) {
    const auto dataset = LoadDataset(path);
    ASSERT_FALSE(dataset.ok());
    EXPECT_EQ(dataset.status().code(), code);
    EXPECT_THAT(base::Message(dataset.status()), HasSubstr(path.string()));
    EXPECT_THAT(base::Message(dataset.status()), HasSubstr(message));
  }

  fs::path folder_;
};

TEST_F(LoadTest, ReadsAFolderOfIdxFiles) {
  WriteImages();
  WriteLabels();
  WriteClients();
  EXPECT_TRUE(HoldsIdxImages(folder_));
  const auto dataset = LoadDataset(folder_);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(dataset->input_shape(), ElementsAre(1, 2));
  EXPECT_EQ(dataset->classes(), 5u);
  EXPECT_EQ(dataset->clients(), 2u);
  EXPECT_EQ(dataset->client_name(0), "9");
  EXPECT_THAT(dataset->rows(0), ElementsAre(0, 2));  // the client comes back after another
  EXPECT_THAT(dataset->pixels(2), ElementsAre('e', 'f'));
}

TEST_F(LoadTest, TheThirdFileMayBeCalledClients) {
  WriteImages();
  WriteLabels();
  WriteClients("clients-idx1-int");
  EXPECT_TRUE(LoadDataset(folder_).ok());
}

TEST_F(LoadTest, SaysWhichFileIsMissing) {
  EXPECT_FALSE(HoldsIdxImages(folder_));
  ExpectError(folder_, absl::StatusCode::kNotFound, "has no images-idx3-ubyte");
  WriteImages();
  ExpectError(folder_, absl::StatusCode::kNotFound, "has no labels-idx1-ubyte");
  WriteLabels();
  ExpectError(folder_, absl::StatusCode::kNotFound, "who owns which image?");
}

TEST_F(LoadTest, SaysWhichFileHasAnotherLength) {
  WriteImages();
  WriteClients();
  Write("labels-idx1-ubyte", std::string("\0\0\x08\x01\0\0\0\x02\x01\x00", 10));
  ExpectError(folder_, absl::StatusCode::kInvalidArgument,
              "labels-idx1-ubyte: 2 entries, but there are 3 images");
  WriteLabels();
  Write("writers-idx1-int", std::string("\0\0\x0C\x01\0\0\0\x01\0\0\0\x09", 12));
  ExpectError(folder_, absl::StatusCode::kInvalidArgument,
              "writers-idx1-int: 1 entries, but there are 3 images");
}

TEST_F(LoadTest, AMalformedFileIsNamed) {
  WriteImages();
  WriteLabels();
  Write("writers-idx1-int", "nonsense");
  ExpectError(folder_, absl::StatusCode::kDataLoss, "writers-idx1-int: not an IDX file");
}

TEST_F(LoadTest, RecognisesTables) {
  Write("rows.csv", "a,client,label\n1,x,0\n2,y,1\n");
  Write("rows.tsv", "a\tclient\tlabel\n1\tx\t0\n2\ty\t1\n");
  for (const char* file : {"rows.csv", "rows.tsv"}) {
    const auto dataset = LoadDataset(folder_ / file);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ(dataset->clients(), 2u);
    EXPECT_FALSE(dataset->has_pixels());
  }
}

TEST_F(LoadTest, RefusesOtherPaths) {
  ExpectError(folder_ / "nothing", absl::StatusCode::kNotFound, "no such file or folder");
  Write("model.bin", "x");
  ExpectError(folder_ / "model.bin", absl::StatusCode::kInvalidArgument, "not a data set");
}

}  // namespace
}  // namespace tacet::data
