#include "lab/kernels/conv_first.h"

#include <cmath>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "gtest/gtest.h"

#include "lab/kernels/aligned_buffer.h"
#include "lab/kernels/conv_kernels.h"
#include "tacet/base/cpu.h"
#include "tacet/crypto/seeded_random.h"

namespace tacet::lab::kernels::conv {
namespace {

// A multiple of 1/64 in [-1, 1]: a bf16 value, and sums of products of some are exact in f32.
float SomeValue(crypto::Random& random) {
  return static_cast<float>(std::round((2 * crypto::Uniform(random) - 1) * 64) / 64);
}

class FirstTest : public testing::TestWithParam<std::pair<int, int>> {
 protected:
  template <typename First>
  std::pair<std::vector<uint16_t>, std::vector<uint8_t>> Run() {
    const auto height = static_cast<size_t>(GetParam().first);
    const auto width = static_cast<size_t>(GetParam().second);
    const Sizes sizes(height, width);
    crypto::Random random = crypto::SeededRandom(8, "first convolution", height, width);
    AlignedBuffer<float> image(sizes.image_size()), weights(kFirstSize);
    // A blank region to the left and above.
    for (size_t i = height / 3; i < height; ++i) {
      for (size_t j = width / 4; j < width; ++j) {
        image.data()[(i + 2) * sizes.image_stride + j + 2] = SomeValue(random);
      }
    }
    for (size_t n = 0; n < weights.size(); ++n) weights.data()[n] = SomeValue(random);
    BlankRegions regions(sizes);
    regions.Find(sizes, image.data());
    First first(sizes);
    first.Prepare(weights.data());
    AlignedBuffer<uint16_t> map(sizes.map_size());
    AlignedBuffer<uint8_t> winner(sizes.positions1() * kFirstMaps);
    first.Forward(regions, image.data(), weights.data(), map.data(), winner.data());
    return {{map.data(), map.data() + map.size()}, {winner.data(), winner.data() + winner.size()}};
  }
};

TEST_P(FirstTest, TilesGiveTheBitsOfVectorsWhereSumsAreExact) {
  if (!base::MayUse(base::Target::kAmxBf16)) GTEST_SKIP() << "no bf16 tiles here";
  const auto vectors = Run<VectorFirst<uint16_t>>();
  const auto tiles = Run<TileFirst>();
  EXPECT_EQ(tiles.first, vectors.first);
  EXPECT_EQ(tiles.second, vectors.second);
}

INSTANTIATE_TEST_SUITE_P(Images, FirstTest,
                         testing::Values(std::pair(2, 2), std::pair(4, 4), std::pair(9, 7),
                                         std::pair(10, 23), std::pair(28, 28), std::pair(17, 67)),
                         [](const auto& test) {
                           return fmt::format("{}x{}", test.param.first, test.param.second);
                         });

}  // namespace
}  // namespace tacet::lab::kernels::conv
