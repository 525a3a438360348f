// Benchmark of clipping every record, or every person, compared with a plain training step.
#ifndef TACET_LAB_BENCH_BENCH_RECORDS_H_
#define TACET_LAB_BENCH_BENCH_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tacet::app::bench {

// Processor time a sample, medians. A client has 400 samples, a person 20 of them.
struct RecordTimes {
  std::string model;
  uint64_t inputs = 0;
  uint32_t classes = 0;
  double plain_s = 0;   // an epoch of local training, batches of 20
  double record_s = 0;  // the sum of the clipped gradients of all records
  double person_s = 0;  // of all persons
};

// Five networks: three on images of 28 x 28 in 62 classes, two on 28 features in 2 classes.
// InvalidArgument unless `repetitions` is from 1 to 1001.
absl::StatusOr<std::vector<RecordTimes>> BenchRecords(uint32_t repetitions);

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_BENCH_RECORDS_H_
