#include "tacet/dp/poisson_quantizer.h"

#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/dp/poisson.h"
#include "tacet/dp/quantize_for_test.h"

namespace tacet::dp {
namespace {

using ::testing::HasSubstr;

TEST(PoissonQuantizerTest, RefusesWithOneReasonEach) {
  const double infinity = std::numeric_limits<double>::infinity();
  const struct {
    PoissonQuantizerSpec spec;
    const char* reason;
  } cases[] = {
      {{.scale = 0, .offset = -1}, "scale must be finite and positive, got 0"},
      {{.scale = -1e-4, .offset = -1}, "scale must be finite and positive, got -0.0001"},
      {{.scale = infinity, .offset = -1}, "scale must be finite and positive, got inf"},
      {{.scale = 1e-4, .offset = 0}, "offset must be finite and negative, got 0"},
      {{.scale = 1e-4, .offset = 1}, "offset must be finite and negative, got 1"},
      {{.scale = 1e-4, .offset = -infinity}, "offset must be finite and negative, got -inf"},
      {{.scale = 0.5, .offset = -1.25}, "must be a multiple of the scale 0.5"},
      {{.scale = 1.0, .offset = -0.25}, "must be a multiple of the scale 1"},
      {{.scale = 1e-9, .offset = -4}, "expected less than 2^31 times"},
  };
  for (const auto& test : cases) {
    const auto quantizer = PoissonQuantizer::Create(test.spec);
    EXPECT_EQ(quantizer.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(base::Message(quantizer.status()), HasSubstr(test.reason));
  }
}

TEST(PoissonQuantizerTest, OffsetIsAWholeNumberOfScales) {
  ASSERT_OK_AND_ASSIGN(const auto quantizer,
                       PoissonQuantizer::Create({.scale = 1e-4, .offset = -1e-4 * 26276}));
  EXPECT_EQ(quantizer.offset_count(), 26276u);
  EXPECT_EQ(quantizer.scale(), 1e-4);
}

TEST(PoissonQuantizerTest, DrawsAtTheRateOfEachValue) {
  ASSERT_OK_AND_ASSIGN(const auto quantizer,
                       PoissonQuantizer::Create({.scale = 0.5, .offset = -40}));
  std::vector<double> x;
  std::vector<double> rates;
  for (int i = 0; i < 5000; ++i) {
    x.push_back(-39.0 + 0.013 * i);
    rates.push_back(x.back() / 0.5 + 80);
  }
  std::vector<uint32_t> counts(x.size());
  std::vector<uint32_t> expected(x.size());
  crypto::Random random = crypto::SeededRandom(1, "quantizer");
  crypto::Random twin = crypto::SeededRandom(1, "quantizer");
  Quantize(quantizer, x, random, counts);
  FillPoisson(rates, twin, expected);
  EXPECT_EQ(counts, expected);
}

}  // namespace
}  // namespace tacet::dp
