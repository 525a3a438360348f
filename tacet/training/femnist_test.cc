// Tests on real handwriting, registered only where the data are (CMakeLists.txt).
#include <filesystem>

#include "gtest/gtest.h"

#include "tacet/data/load.h"

namespace tacet::data {
namespace {

TEST(FemnistTest, ASmallSelectionLoads) {
  const std::filesystem::path folder = TACET_FEMNIST_400;
  if (!HoldsIdxImages(folder)) GTEST_SKIP() << folder << " is no longer there";
  const auto dataset = LoadDataset(folder);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->clients(), 400u);
  EXPECT_EQ(dataset->classes(), 62u);
  EXPECT_GT(dataset->samples(), 91'000u);
  EXPECT_EQ(dataset->input_size(), 784u);
  EXPECT_LT(MostFrequentClassShare(*dataset), 0.06);
}

}  // namespace
}  // namespace tacet::data
