// Benchmark of the inner loops alone: every version of every kernel set that the processor has.
#ifndef TACET_LAB_BENCH_BENCH_KERNELS_H_
#define TACET_LAB_BENCH_BENCH_KERNELS_H_

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/target.h"

namespace tacet::app::bench {

// One loop. Seconds of processor time, medians, with the data in the caches.
struct KernelTimes {
  std::string_view name;
  // "polynomial" (4096 coefficients, in an upload 3 words each), "value", "record", or "update"
  // (486,654 values).
  std::string_view per;
  std::vector<std::pair<base::Target, double>> seconds;  // the oracle first
};

// Whole updates and the key stream are measured with the active version only. InvalidArgument
// unless `repetitions` is from 1 to 1001.
absl::StatusOr<std::vector<KernelTimes>> BenchKernels(uint32_t repetitions);

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_BENCH_KERNELS_H_
