// Accuracy of queries on real tables, with baselines in the same run.
#ifndef TACET_LAB_BENCH_BENCH_STATISTICS_H_
#define TACET_LAB_BENCH_BENCH_STATISTICS_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

#include "tacet/base/json.h"

namespace tacet::app::bench {

struct BenchStatisticsSpec {
  // Holds survival/, heart-disease/ and, for coverage, sklearn/.
  std::filesystem::path data;
  std::filesystem::path configs = "configs";  // holds heart-disease.toml
  uint64_t runs = 200;
  std::string part = {};  // of those below; empty: all
};

// Four sites, unit record, replace-one, delta 1e-5. Every release is sealed, added and decrypted.
//   survival   sup-error of Kaplan-Meier curves at epsilon 1, and of two forms of per-site Laplace
//              noise: on each site's counts, and on each site's curve (arXiv 2509.00615)
//   log_rank   share of 5 % tests that reject for groups drawn at random, and for the real ones
//   auc        error of the AUC of the heart-disease model at epsilon 0.5
//   coverage   of 95 % intervals, for rows drawn again from populations like people's; these sums
//              are added in the clear
//   bins       bytes and milliseconds of a site for 10,000 bins
// NotFound names a file that is missing.
absl::StatusOr<base::JsonValue> BenchStatistics(const BenchStatisticsSpec& spec);

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_BENCH_STATISTICS_H_
