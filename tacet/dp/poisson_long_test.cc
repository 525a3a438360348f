#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/random.h"
#include "tacet/dp/acceptance_points_for_test.h"
#include "tacet/dp/poisson.h"
#include "tacet/dp/statistics_for_test.h"

namespace tacet::dp {
namespace {

TEST(PoissonLongTest, AcceptanceAgreesWithTwoHundredBitsAtAHundredThousandPoints) {
  const testing::AcceptanceErrors errors = testing::MeasureAcceptance(2, 100000);
  EXPECT_LT(errors.within_12, 1e-13);
  EXPECT_LT(errors.within_5, 1e-14);
  EXPECT_LT(errors.quick, 0x1p-14);
  RecordProperty("within_12", std::to_string(errors.within_12 * 1e15) + "e-15");
  RecordProperty("within_5", std::to_string(errors.within_5 * 1e15) + "e-15");
}

// A thousand million draws at each of these rates: a hundred cells off by one part in a thousand
// each are noticed with probability above 0.999; false alarm 1e-11 a rate.
class PoissonLawLongTest : public ::testing::TestWithParam<double> {};

TEST_P(PoissonLawLongTest, AThousandMillionDrawsFitTheLaw) {
  const double rate = GetParam();
  constexpr size_t kBlock = 1 << 16;
  constexpr size_t kBlocks = 1000000000 / kBlock + 1;
  crypto::InsecureSeededEntropy entropy(7, "thousand million");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  PoissonSampler sampler(random);
  const std::vector<double> rates(kBlock, rate);
  std::vector<uint32_t> values(kBlock);
  const testing::PoissonCells cells(rate);
  std::vector<double> observed(cells.cells);
  for (size_t block = 0; block < kBlocks; ++block) {
    sampler.Fill(rates, values);
    for (const uint32_t value : values) observed[cells.CellOf(value)] += 1;
  }
  std::vector<double> expected = cells.Probabilities(rate);
  for (double& value : expected) value *= static_cast<double>(kBlock * kBlocks);
  const testing::ChiSquare fit = testing::PearsonChiSquare(observed, expected);
  EXPECT_TRUE(fit.passes()) << fit.statistic << " with " << fit.degrees << " degrees";
  RecordProperty("chi_square", std::to_string(fit.statistic));
  RecordProperty("degrees", std::to_string(fit.degrees));
}

INSTANTIATE_TEST_SUITE_P(Rates, PoissonLawLongTest,
                         ::testing::Values(1.0, 12.75, 300.0, 26277.25, 4e4, 1e7));

}  // namespace
}  // namespace tacet::dp
