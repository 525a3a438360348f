// Benchmark of local training: steps of SGD on batches, on one or several cores.
#ifndef TACET_LAB_BENCH_BENCH_TRAIN_H_
#define TACET_LAB_BENCH_BENCH_TRAIN_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/models/network.h"

namespace tacet::app::bench {

struct BenchTrainSpec {
  std::string model = "femnist-cnn";  // on images of 28 x 28 in 62 classes; mlp with 128 hidden
  uint32_t batch = 20;                // 1 to 1024
  uint32_t threads = 1;               // 1 to 1024, each with its own network
  models::Precision precision = models::Precision::kAuto;
  bool noise = false;        // images without paper, in place of drawn handwriting
  uint32_t repetitions = 9;  // 1 to 1024, of a quarter of a second each
};

// Medians over the repetitions.
struct BenchTrainResult {
  std::string_view form;   // what ran: conv-f32, conv-bf16, conv-amx or onednn
  uint64_t dimension = 0;  // parameters
  // All threads together: by the processor time that each had, which on an idle machine is the
  // time that passed; and by the clock.
  double samples_per_s = 0;
  double elapsed_samples_per_s = 0;
  double evaluated_per_s = 0;  // forward passes, batches of 64, by processor time
  double flop_per_sample = 0;  // forward and backward, every product and sum of dense layers
  // flop_per_sample * samples_per_s: beyond the peak where products are avoided.
  double gflops = 0;
  double fma_peak_gflops = 0;  // f32, of all threads at once, measured between the repetitions
  double share = 0;            // gflops / fma_peak_gflops
};

// InvalidArgument when something is out of its range or cannot be had here.
absl::StatusOr<BenchTrainResult> BenchTrain(const BenchTrainSpec& spec);

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_BENCH_TRAIN_H_
