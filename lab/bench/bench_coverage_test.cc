// Intervals hold the truth about populations like people's: heaped, long-tailed, categorical and
// censored. A sample of the releases of bench_coverage_long_test.cc.
#include "lab/bench/bench_coverage.h"

#include <cctype>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::app::bench {
namespace {

using tacet::statistics::QuestionKind;

class CoverageTest : public testing::TestWithParam<CoverageSetting> {};

// 60 releases. An interval that covers in 95 % holds the truth in fewer than 40 of them with
// probability 5.7e-13, so one of about 800 numbers fails for 5e-10 of all seeds. An interval that
// covers in half of the releases passes with probability 0.007. Those of quartiles covered in none
// to 6 %.
TEST_P(CoverageTest, IntervalsHoldTheTruth) {
  constexpr uint64_t kReleases = 60;
  const auto numbers = CoverageOf(GetParam(), kReleases, 7);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_FALSE(numbers->empty());
  for (const Covered& number : *numbers) {
    if (!IsShownAsARule(number, kReleases)) continue;
    EXPECT_GE(number.covered + kReleases - number.shown, 40u)
        << number.quantity << " " << number.group << " " << number.at;
  }
}

// The settings with the fewest rows; 50 cells of scores take as long as all others together.
std::vector<CoverageSetting> Sample() {
  std::vector<CoverageSetting> settings = DrawnSettings();
  std::erase_if(settings, [](const CoverageSetting& setting) {
    return setting.rows > 1000 || (setting.question.kind == QuestionKind::kEvaluation &&
                                   setting.question.cells.edges.size() > 50);
  });
  return settings;
}

std::string NameOf(const testing::TestParamInfo<CoverageSetting>& info) {
  std::string name;
  for (const char letter : fmt::format("{} {} {}", info.param.name, info.param.rows,
                                       QuestionKindName(info.param.question.kind))) {
    name += std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
  }
  return fmt::format("{}_{}", name, info.index);
}

INSTANTIATE_TEST_SUITE_P(Drawn, CoverageTest, testing::ValuesIn(Sample()), NameOf);

// An interval that is as wide as all that is possible would hold every truth.
TEST(CoverageWidthTest, QuartilesOfHeapedValuesTakeTwoCells) {
  for (const CoverageSetting& setting : DrawnSettings()) {
    if (!setting.name.starts_with("pressures, ") || setting.rows < 4000) continue;
    const std::vector<double>& edges = setting.question.cells.edges;
    const auto numbers = CoverageOf(setting, 40, 8);
    ASSERT_TRUE(numbers.ok()) << numbers.status();
    for (const Covered& number : *numbers) {
      if (number.quantity != "quantile") continue;
      EXPECT_LE(number.width, 2 * (edges[1] - edges[0])) << setting.name << " " << number.at;
    }
  }
}

}  // namespace
}  // namespace tacet::app::bench
