#include "lab/bench/bench_train.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "lab/bench/bench_timing.h"
#include "lab/bench/machine_rates.h"
#include "tacet/base/parallel.h"
#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"
#include "tacet/crypto/random.h"
#include "tacet/data/handwriting.h"

namespace tacet::app::bench {
namespace {

using models::Network;

constexpr uint32_t kMax = 1024;
constexpr uint32_t kEvaluationBatch = 64;
constexpr double kSeconds = 0.25;  // of a repetition
constexpr float kLearningRate = 0.01f;

// One thread's network with a batch.
struct Worker {
  std::unique_ptr<Network> network;
  std::vector<uint32_t> labels;
  absl::Status status;
  double rate = 0;     // by the processor time of its thread
  double elapsed = 0;  // by the clock
};

// Sets the worker's rates to the calls of `step` a second times `samples`.
void Measure(Worker& worker, double samples, const std::function<absl::Status()>& step) {
  worker.status.Update(step());  // warms caches, makes primitives
  uint64_t steps = 0;
  const base::Stopwatch watch;
  const double before = ThreadSeconds();
  double seconds = 0;
  while (worker.status.ok() && seconds < kSeconds) {
    worker.status.Update(step());
    ++steps;
    seconds = watch.Seconds();
  }
  const double done = samples * static_cast<double>(steps);
  worker.rate = done / (ThreadSeconds() - before);
  worker.elapsed = done / seconds;
}

// A product and a sum for every weight and place it is used at; three times for layers that also
// give gradients of weights and inputs, twice for the first.
double FlopPerSample(const models::Architecture& architecture) {
  double flop = 0;
  bool first = true;
  for (const models::Layer& layer : architecture.layers()) {
    if (layer.weights == 0) continue;
    const double places =
        static_cast<double>(layer.output.height) * static_cast<double>(layer.output.width);
    flop += 2 * (first ? 2 : 3) * places * static_cast<double>(layer.weights);
    first = false;
  }
  return flop;
}

absl::Status CheckSpec(const BenchTrainSpec& spec) {
  for (const auto& [name, value] :
       {std::pair{"batch", spec.batch}, std::pair{"threads", spec.threads},
        std::pair{"repetitions", spec.repetitions}}) {
    if (value < 1 || value > kMax) {
      return base::InvalidArgument("{} is {}, it must be from 1 to {}", name, value, kMax);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BenchTrainResult> BenchTrain(const BenchTrainSpec& spec) {
  TACET_RETURN_IF_ERROR(CheckSpec(spec));
  TACET_ASSIGN_OR_RETURN(
      const models::Architecture architecture,
      models::Architecture::Create(
          {.model = spec.model, .input_shape = {28, 28}, .hidden = {128}, .classes = 62}));
  const std::vector<float> model = architecture.InitialParameters(1, 0.2);
  TACET_ASSIGN_OR_RETURN(const data::Dataset handwriting, data::DrawHandwriting({.writers = 20}));
  std::vector<Worker> workers(spec.threads);
  crypto::SystemEntropy entropy;
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  for (Worker& worker : workers) {
    TACET_ASSIGN_OR_RETURN(
        worker.network, Network::Create(architecture, std::max(spec.batch, kEvaluationBatch),
                                        Network::Mode::kTraining, {.precision = spec.precision}));
    TACET_RETURN_IF_ERROR(worker.network->Load(model));
    const std::span<float> input = worker.network->input();
    if (spec.noise) {
      for (float& value : input) {
        value = static_cast<float>(static_cast<double>(random.NextU64() >> 11) * 0x1p-53);
      }
    } else {
      const size_t size = handwriting.input_size();
      for (size_t first = 0; first < input.size(); first += size) {
        handwriting.CopyInput(random.Below(handwriting.samples()), input.subspan(first, size));
      }
    }
    for (uint32_t i = 0; i < spec.batch; ++i) {
      worker.labels.push_back(static_cast<uint32_t>(random.Below(architecture.classes())));
    }
  }

  std::vector<double> trained, elapsed, evaluated, peaks;
  const auto total = [&workers](double Worker::*rate) {
    double sum = 0;
    for (const Worker& worker : workers) sum += worker.*rate;
    return sum;
  };
  for (uint32_t repetition = 0; repetition < spec.repetitions; ++repetition) {
    base::RunOnThreads(spec.threads, [&](size_t i) {
      Worker& worker = workers[i];
      Measure(worker, spec.batch,
              [&worker] { return worker.network->Step(worker.labels, kLearningRate); });
    });
    trained.push_back(total(&Worker::rate));
    elapsed.push_back(total(&Worker::elapsed));
    base::RunOnThreads(spec.threads, [&](size_t i) {
      Worker& worker = workers[i];
      Measure(worker, kEvaluationBatch,
              [&worker] { return worker.network->Forward(kEvaluationBatch).status(); });
    });
    evaluated.push_back(total(&Worker::rate));
    for (const Worker& worker : workers) TACET_RETURN_IF_ERROR(worker.status);
    // Two operations each; a lane of double is two of float.
    base::RunOnThreads(spec.threads, [&](size_t i) { workers[i].rate = 2 * 2 * MeasureFma(); });
    peaks.push_back(total(&Worker::rate));
  }

  BenchTrainResult result;
  result.form = workers.front().network->form();
  result.dimension = architecture.dimension();
  result.flop_per_sample = FlopPerSample(architecture);
  result.samples_per_s = Median(std::move(trained));
  result.elapsed_samples_per_s = Median(std::move(elapsed));
  result.evaluated_per_s = Median(std::move(evaluated));
  result.gflops = 1e-9 * result.flop_per_sample * result.samples_per_s;
  result.fma_peak_gflops = 1e-9 * Median(std::move(peaks));
  result.share = result.gflops / result.fma_peak_gflops;
  return result;
}

}  // namespace tacet::app::bench
