// Intervals of queries of every kind: how often they hold the truth.
#ifndef TACET_LAB_BENCH_BENCH_COVERAGE_H_
#define TACET_LAB_BENCH_BENCH_COVERAGE_H_

#include <cstdint>
#include <filesystem>

#include "absl/status/statusor.h"

#include "tacet/base/json.h"

namespace tacet::app::bench {

// `folder` holds rotterdam.csv, of which 500, 2,982 and 12,000 rows are drawn with replacement and
// asked questions of every kind at epsilon 0.5, 1 and 4, and lung.csv, asked for survival by sex at
// epsilon 4.
absl::StatusOr<base::JsonValue> BenchIntervals(const std::filesystem::path& folder, uint64_t runs);

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_BENCH_COVERAGE_H_
