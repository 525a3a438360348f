// Populations shaped like people's data, questions about them, and the truth from every single row.
#ifndef TACET_LAB_BENCH_COVERAGE_SETTINGS_H_
#define TACET_LAB_BENCH_COVERAGE_SETTINGS_H_

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "lab/bench/query_trials.h"
#include "tacet/dp/noise_law.h"
#include "tacet/statistics/query.h"

namespace tacet::app::bench {

// A question about `rows` rows that are drawn from a population with replacement.
struct CoverageSetting {
  std::string name;
  std::shared_ptr<const TextTable> population;
  tacet::statistics::QuestionSpec question;
  std::vector<table::AgreedValues> values = {};
  size_t rows = 1000;
  double epsilon = 1;
  double floor = 0;
  dp::NoiseLaw noise_law = dp::NoiseLaw::kGaussian;
};

// Heaped, long-tailed, categorical and censored populations that are drawn by a seed. They need no
// data.
std::vector<CoverageSetting> DrawnSettings();

// For survival/{lung,rotterdam,flchain}.csv and sklearn/{diabetes,breast_cancer}.csv in `folder`.
// NotFound names a file that is missing (lab/bench/sklearn_tables.py writes the last two).
absl::StatusOr<std::vector<CoverageSetting>> SettingsOfTables(const std::filesystem::path& folder);

// The subject of a number of the answer: absent where counts in cells determine it, so that the
// answer without noise is the truth.
using Truth = std::function<std::optional<double>(const tacet::statistics::Estimate& estimate)>;

// For quantiles, curves of survival, and metrics of scores: from single rows.
Truth TruthOf(const CoverageSetting& setting);

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_COVERAGE_SETTINGS_H_
