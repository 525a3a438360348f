// Linear, logistic, Poisson and hazard models of queries over many releases: how often their
// intervals hold the fit of the whole table, how wide they are, and how often the coefficients are
// suppressed.
#ifndef TACET_LAB_BENCH_BENCH_MODELS_H_
#define TACET_LAB_BENCH_BENCH_MODELS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "lab/bench/query_trials.h"
#include "tacet/base/json.h"
#include "tacet/statistics/query.h"

namespace tacet::app::bench {

// A model of a table.
struct ModelSetting {
  std::shared_ptr<const TextTable> table;
  tacet::statistics::QuestionSpec question;
  std::vector<table::AgreedValues> values = {};
  size_t columns = 0;  // that explain the response
};

// Models of three and of six columns, of survival/{rotterdam,flchain,lung}.csv and
// statsmodels/{fair,randhie}.csv in `folder`: long-tailed columns, counts, strong effects,
// categories and products. NotFound names a file that is missing
// (lab/bench/statsmodels_tables.py writes the last two).
absl::StatusOr<std::vector<ModelSetting>> ModelSettingsOfTables(
    const std::filesystem::path& folder);

struct CoveredCoefficient {
  std::string label;  // empty: the intercept
  uint64_t covered = 0;
  double width = 0;  // mean half width over the normal deviate: the stated error
  double error = 0;  // root mean square of what was seen
  // The same where one trusted party adds the noise.
  double central_error = 0;
};

struct ModelCoverage {
  uint64_t releases = 0;
  uint64_t shown = 0;  // releases that do not suppress the coefficients
  std::vector<CoveredCoefficient> coefficients = {};
};

// `releases` releases of `rows` rows that are drawn from the table with replacement, over four
// sites. The truth is the fit of the whole table, values cut to their bounds. The plan, the noise,
// its quantisation and the estimators are the product's; the sums are added without encryption. The
// same seed gives the same result.
absl::StatusOr<ModelCoverage> ModelCoverageOf(const ModelSetting& setting, size_t rows,
                                              double epsilon, uint64_t releases, uint64_t seed);

// Part of a record that a model belongs to: models, logistic, poisson or cox.
std::string_view PartOf(const tacet::statistics::QuestionSpec& question);

// Those of ModelSettingsOfTables of one part at 2,000 to 20,000 rows and epsilon 1, 2 and 4, of cox
// at 2,982 and 11,928 rows and epsilon 2 and 4 (docs/formats/experiments.md).
absl::StatusOr<base::JsonValue> BenchModels(const std::filesystem::path& folder,
                                            std::string_view part, uint64_t releases);

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_BENCH_MODELS_H_
