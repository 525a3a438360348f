#include "lab/kernels/conv_second.h"

#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "fmt/core.h"
#include "gtest/gtest.h"

#include "lab/kernels/aligned_buffer.h"
#include "lab/kernels/conv_kernels.h"
#include "tacet/base/cpu.h"
#include "tacet/crypto/seeded_random.h"

namespace tacet::lab::kernels::conv {
namespace {

// Uniform in [-bound, bound], rounded to a bf16 value, so that no form has to round it again.
float SomeBf16(crypto::Random& random, double bound) {
  const auto value = static_cast<float>((2 * crypto::Uniform(random) - 1) * bound);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xffff0000u);
}

void Fill(crypto::Random& random, double bound, AlignedBuffer<float>& buffer) {
  for (size_t n = 0; n < buffer.size(); ++n) buffer.data()[n] = SomeBf16(random, bound);
}

// The results of two samples: outputs, and gradients added up over both.
struct Results {
  std::vector<float> outputs, bias_gradients, weight_gradients, map_gradients;
};

class SecondTest : public testing::Test {
 protected:
  SecondTest(size_t height, size_t width)
      : sizes_(height, width),
        image_(2 * sizes_.image_size()),
        first_(kFirstSize),
        weights_(kSecondSize),
        biases_(kSecondMaps),
        output_gradients_(2 * sizes_.outputs()),
        map_(2 * sizes_.map_size()),
        winner1_(sizes_.positions1() * kFirstMaps),
        regions_(2, BlankRegions(sizes_)),
        height_(height),
        width_(width) {}

  // The first convolution is vector code, too: nothing is computed before the machine is asked.
  void SetUp() override {
    if (!base::MayUse(base::Target::kAmxBf16) || !base::MayUse(base::Target::kAvx512Bf16)) {
      GTEST_SKIP() << "no bf16 tiles and dot products here";
    }
    crypto::Random random = crypto::SeededRandom(7, "second convolution", height_, width_);
    // Writing in the lower right of the first image, none in the second but for a stroke.
    for (size_t i = 0; i < height_; ++i) {
      for (size_t j = 0; j < width_; ++j) {
        const size_t at = (i + 2) * sizes_.image_stride + j + 2;
        if (i >= height_ / 3 && j >= width_ / 4) image_.data()[at] = SomeBf16(random, 1);
        if (i == height_ / 2) image_.data()[sizes_.image_size() + at] = SomeBf16(random, 1);
      }
    }
    Fill(random, 0.3, first_);
    Fill(random, 0.1, weights_);
    Fill(random, 0.1, biases_);
    Fill(random, 1, output_gradients_);
    for (size_t s = 0; s < 2; ++s) {
      const float* image = image_.data() + s * sizes_.image_size();
      regions_[s].Find(sizes_, image);
      FirstForward(sizes_, regions_[s], image, first_.data(), map_.data() + s * sizes_.map_size(),
                   winner1_.data());
    }
  }

  template <typename Second>
  Results Run() {
    Second second(sizes_, 2, true);
    second.Prepare(weights_.data());
    Results results;
    results.outputs.resize(2 * sizes_.outputs());
    for (size_t s = 0; s < 2; ++s) {
      second.Forward(s, regions_[s], map_.data() + s * sizes_.map_size(), biases_.data(),
                     results.outputs.data() + s * sizes_.outputs());
    }
    AlignedBuffer<float> bias_gradients(kSecondMaps), weight_gradients(kSecondSize),
        map_gradients(sizes_.map_size());
    for (size_t s = 0; s < 2; ++s) {
      second.Backward(s, regions_[s], map_.data() + s * sizes_.map_size(), weights_.data(),
                      output_gradients_.data() + s * sizes_.outputs(), bias_gradients.data(),
                      weight_gradients.data(), map_gradients.data());
      AppendMapGradients(map_gradients.data(), regions_[s], results.map_gradients);
    }
    const auto copy = [](AlignedBuffer<float>& buffer) {
      return std::vector<float>(buffer.data(), buffer.data() + buffer.size());
    };
    results.bias_gradients = copy(bias_gradients);
    results.weight_gradients = copy(weight_gradients);
    return results;
  }

  const Sizes sizes_;

 private:
  // By channel within the map, without its border: each written place, and the sum of all others,
  // which is all that counts of them.
  void AppendMapGradients(const float* gradients, const BlankRegions& regions,
                          std::vector<float>& to) {
    for (size_t c = 0; c < kFirstMaps; ++c) {
      double of_blank = 0;
      for (size_t i = 0; i < sizes_.rows1; ++i) {
        for (size_t j = 0; j < sizes_.cols1; ++j) {
          const float value =
              gradients[((c / kLanes * sizes_.map_rows + i + 1) * sizes_.map_stride + j + 1) *
                            kLanes +
                        c % kLanes];
          if (regions.first(i * sizes_.cols1 + j)) {
            of_blank += value;
          } else {
            to.push_back(value);
          }
        }
      }
      to.push_back(static_cast<float>(of_blank));
    }
  }

  AlignedBuffer<float> image_, first_, weights_, biases_, output_gradients_;
  AlignedBuffer<uint16_t> map_;
  AlignedBuffer<uint8_t> winner1_;
  std::vector<BlankRegions> regions_;
  const size_t height_, width_;
};

// ||a - b|| / ||b||.
double Distance(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, norm = 0;
  for (size_t n = 0; n < a.size(); ++n) {
    difference += std::pow(static_cast<double>(a[n]) - static_cast<double>(b[n]), 2);
    norm += std::pow(static_cast<double>(b[n]), 2);
  }
  return std::sqrt(difference / norm);
}

class SizedSecondTest : public SecondTest, public testing::WithParamInterface<std::pair<int, int>> {
 protected:
  SizedSecondTest()
      : SecondTest(static_cast<size_t>(GetParam().first), static_cast<size_t>(GetParam().second)) {}
};

// All values are bf16 and all sums f32: tiles and vectors differ in the order of their sums alone.
TEST_P(SizedSecondTest, TilesGiveWhatVectorsGive) {
  const Results vectors = Run<VectorSecond<uint16_t>>();
  const Results tiles = Run<TileSecond>();
  EXPECT_LT(Distance(tiles.outputs, vectors.outputs), 1e-6);
  EXPECT_LT(Distance(tiles.bias_gradients, vectors.bias_gradients), 1e-6);
  EXPECT_LT(Distance(tiles.weight_gradients, vectors.weight_gradients), 1e-6);
  EXPECT_LT(Distance(tiles.map_gradients, vectors.map_gradients), 1e-6);
}

// Extents of one pool only, odd ones in both maps, FEMNIST's, wider and higher than a tile.
INSTANTIATE_TEST_SUITE_P(Images, SizedSecondTest,
                         testing::Values(std::pair(4, 4), std::pair(9, 7), std::pair(10, 23),
                                         std::pair(28, 28), std::pair(17, 67), std::pair(70, 12)),
                         [](const auto& test) {
                           return fmt::format("{}x{}", test.param.first, test.param.second);
                         });

}  // namespace
}  // namespace tacet::lab::kernels::conv
