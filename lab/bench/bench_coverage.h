// Intervals of queries over many releases: how often they hold the truth, and how wide they are.
#ifndef TACET_LAB_BENCH_BENCH_COVERAGE_H_
#define TACET_LAB_BENCH_BENCH_COVERAGE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "lab/bench/coverage_settings.h"
#include "tacet/base/json.h"

namespace tacet::app::bench {

// One number of an answer over many releases.
struct Covered {
  std::string quantity;
  std::string group;
  std::string at;
  uint64_t shown = 0;    // releases that do not suppress it
  uint64_t covered = 0;  // of these, whose interval holds the truth
  double width = 0;      // mean over releases that show it; infinite for intervals of one side
};

// `releases` releases of rows that are drawn again for each. Numbers about the rows have their
// truth in the rows drawn, the others in the population. The plan, the noise, its quantisation and
// the estimators are the product's; the sums are added without encryption. The same seed gives the
// same result. Estimates without an interval, and numbers that nobody has, are left out.
absl::StatusOr<std::vector<Covered>> CoverageOf(const CoverageSetting& setting, uint64_t releases,
                                                uint64_t seed);

// Numbers that fewer than half of the releases show are suppressed as a rule. Those releases that
// noise lifted above the floor say nothing about the intervals.
bool IsShownAsARule(const Covered& number, uint64_t releases);

// For DrawnSettings and SettingsOfTables: for each quantity the share of intervals that hold the
// truth, its lowest one, and the mean width, in cells for quantiles (docs/formats/experiments.md).
absl::StatusOr<base::JsonValue> BenchIntervals(const std::filesystem::path& folder,
                                               uint64_t releases);

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_BENCH_COVERAGE_H_
