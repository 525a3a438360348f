// Intervals of linear models hold the fit of the whole table, in settings of the record in
// docs/experiments/models.
#include <cstdlib>

#include "gtest/gtest.h"

#include "lab/bench/bench_models.h"
#include "tacet/base/status.h"

namespace tacet::app::bench {
namespace {

// An interval that covers in 95 % holds the truth in fewer than 250 of 300 releases with
// probability 3e-14, so one of about 800 numbers fails for 3e-11 of all seeds. One that covers in
// 75 % is seen with probability 0.9997. Where coefficients are suppressed as a rule, the few that
// noise lifted say little.
TEST(ModelsLongTest, IntervalsHoldTheFitOfTheWholeTable) {
  constexpr uint64_t kModelReleases = 300;
  const char* folder = std::getenv("TACET_DATA");
  if (folder == nullptr) GTEST_SKIP() << "TACET_DATA names no folder of tables";
  const auto settings = ModelSettingsOfTables(folder);
  if (absl::IsNotFound(settings.status())) GTEST_SKIP() << settings.status();
  ASSERT_TRUE(settings.ok()) << settings.status();
  for (const ModelSetting& setting : *settings) {
    for (const auto& [rows, epsilon] : {std::pair{2000, 4.0}, {4000, 2.0}, {12000, 1.0}}) {
      const auto coverage =
          ModelCoverageOf(setting, static_cast<size_t>(rows), epsilon, kModelReleases, 2);
      ASSERT_TRUE(coverage.ok()) << coverage.status();
      if (2 * coverage->shown < kModelReleases) continue;
      for (const CoveredCoefficient& of : coverage->coefficients) {
        EXPECT_GE(of.covered + kModelReleases - coverage->shown, 250u)
            << setting.table->name << " " << setting.question.formula << ", " << rows
            << " rows, epsilon " << epsilon << ": " << of.label;
      }
    }
  }
}

}  // namespace
}  // namespace tacet::app::bench
