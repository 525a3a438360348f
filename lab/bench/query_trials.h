// Repeated releases of one query over four sites, and tables to ask.
#ifndef TACET_LAB_BENCH_QUERY_TRIALS_H_
#define TACET_LAB_BENCH_QUERY_TRIALS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/crypto/random.h"
#include "tacet/simulation/simulation.h"
#include "tacet/statistics/answers.h"
#include "tacet/statistics/site_table.h"
#include "tacet/statistics/site_units.h"
#include "tacet/trainer/learner.h"

namespace tacet::app::bench {

inline constexpr size_t kSites = 4;

// Rows to draw from and to change.
struct TextTable {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;

  tacet::statistics::SiteTable AsSite() const;
};

// All rows of a CSV file with these columns; rows that lack one of them are left out.
absl::StatusOr<TextTable> LoadTable(const std::filesystem::path& path,
                                    const std::vector<std::string>& columns);

// The rows over four sites, by a seeded shuffle.
std::vector<TextTable> SpreadOverSites(const TextTable& table, uint64_t seed);

// `rows` of its rows, drawn with replacement.
TextTable Resampled(const TextTable& table, size_t rows, crypto::Random& random);

// A query that was calibrated once.
class QueryTrials {
 public:
  static absl::StatusOr<QueryTrials> Create(std::vector<tacet::statistics::QuestionSpec> questions,
                                            double epsilon, uint64_t max_units, double floor = 0,
                                            dp::NoiseLaw law = dp::NoiseLaw::kGaussian,
                                            std::vector<table::AgreedValues> values = {});

  const tacet::statistics::Query& query() const { return *query_; }
  // The whole table as the query sees it.
  absl::StatusOr<tacet::statistics::SiteUnits> Read(const TextTable& table) const;
  double noise() const { return terms_.mechanism.noise_stddev; }
  // One release, with fresh keys and noise.
  absl::StatusOr<std::vector<tacet::statistics::Answer>> Release(
      const std::vector<TextTable>& sites,
      const std::function<void(const simulation::RoundRecord&)>& on_round = {}) const;
  // The same noise from a seed, without keys: the sums are added in the clear.
  absl::StatusOr<std::vector<tacet::statistics::Answer>> ReleaseInTheClear(
      const std::vector<TextTable>& sites, uint64_t seed) const;
  // The same of sites whose vectors were summed before.
  absl::StatusOr<std::vector<tacet::statistics::Answer>> ReleaseSumsInTheClear(
      std::vector<std::vector<float>> sums, uint64_t seed) const;
  // The same of sites that have these rows of one table, some more than once. `table` was read with
  // the query.
  absl::StatusOr<std::vector<tacet::statistics::Answer>> ReleaseRowsInTheClear(
      const tacet::statistics::SiteUnits& table, const std::vector<std::vector<uint32_t>>& rows,
      uint64_t seed) const;
  // The answers without noise and without floor.
  absl::StatusOr<std::vector<tacet::statistics::Answer>> Exact(const TextTable& table) const;

 private:
  QueryTrials() = default;
  simulation::SimulationSpec InTheClear(uint64_t seed) const;
  absl::StatusOr<std::vector<tacet::statistics::Answer>> Simulate(
      const std::vector<TextTable>& sites, simulation::SimulationSpec spec,
      const std::function<void(const simulation::RoundRecord&)>& on_round) const;
  absl::StatusOr<std::vector<tacet::statistics::Answer>> Simulate(
      const trainer::Learner& learner, simulation::SimulationSpec spec,
      const std::function<void(const simulation::RoundRecord&)>& on_round) const;

  std::shared_ptr<const tacet::statistics::Query> query_;
  agreement::ManifestSpec terms_;
};

// The estimate; absent when it is suppressed or not there.
std::optional<tacet::statistics::Estimate> Find(const tacet::statistics::Answer& answer,
                                                std::string_view quantity,
                                                std::string_view group = "",
                                                std::string_view at = "");
// The values of a quantity in order, 0 where suppressed.
std::vector<double> ValuesOf(const tacet::statistics::Answer& answer, std::string_view quantity,
                             std::string_view group = "");

double LargestDifference(std::span<const double> a, std::span<const double> b);
// The value below which a share of `values` lies.
double QuantileOf(std::vector<double> values, double share);

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_QUERY_TRIALS_H_
