// Intervals hold the truth in all settings of the record in docs/experiments/intervals.
#include <cstdlib>
#include <filesystem>

#include "gtest/gtest.h"

#include "lab/bench/bench_coverage.h"
#include "tacet/base/status.h"

namespace tacet::app::bench {
namespace {

constexpr uint64_t kReleases = 300;

// An interval that covers in 95 % holds the truth in fewer than 250 of 300 releases with
// probability 3e-14, so one of about 5,500 numbers fails for 2e-10 of all seeds. One that covers in
// 75 % is seen with probability 0.9997.
void ExpectCovered(const std::vector<CoverageSetting>& settings) {
  for (const CoverageSetting& setting : settings) {
    const auto numbers = CoverageOf(setting, kReleases, 2);
    ASSERT_TRUE(numbers.ok()) << numbers.status();
    for (const Covered& number : *numbers) {
      if (!IsShownAsARule(number, kReleases)) continue;
      EXPECT_GE(number.covered + kReleases - number.shown, 250u)
          << setting.name << ", epsilon " << setting.epsilon << ": " << number.quantity << " "
          << number.group << " " << number.at;
    }
  }
}

TEST(CoverageLongTest, OfDrawnPopulations) { ExpectCovered(DrawnSettings()); }

// Real tables are not part of the project.
TEST(CoverageLongTest, OfTables) {
  const char* folder = std::getenv("TACET_DATA");
  if (folder == nullptr) GTEST_SKIP() << "TACET_DATA names no folder of tables";
  const auto settings = SettingsOfTables(folder);
  if (absl::IsNotFound(settings.status())) GTEST_SKIP() << settings.status();
  ASSERT_TRUE(settings.ok()) << settings.status();
  ExpectCovered(*settings);
}

}  // namespace
}  // namespace tacet::app::bench
