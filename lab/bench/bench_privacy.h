// Benchmark of guarantees and of what a site does around its ledger.
#ifndef TACET_LAB_BENCH_BENCH_PRIVACY_H_
#define TACET_LAB_BENCH_BENCH_PRIVACY_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace tacet::app::bench {

// Processor time, medians.
struct BenchPrivacyResult {
  double row_sketch_s = 0;   // keyed sketch of a million rows of ten columns
  double many_rounds_s = 0;  // `fixed-size-tight` of a million rounds
  // All rows of a federation, for every number of absent clients: 3596 clients, cohorts of 1000 by
  // coins, 842 needed, 100 rounds.
  double absent_clients_s = 0;
  double model_digest_s = 0;  // keyed digest of a model of `dimension` values
};

// InvalidArgument unless `dimension` is above 0 and `repetitions` is from 1 to 1001.
absl::StatusOr<BenchPrivacyResult> BenchPrivacy(uint64_t dimension, uint32_t repetitions);

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_BENCH_PRIVACY_H_
