// Cost of clipping every record: processor time a sample of a plain training step (batches of 20,
// as a client trains), of a site's sum of clipped gradients of all its records, and of persons with
// 20 records each. Argument: 0 logistic, 1 mlp, 2 femnist-cnn on 28 x 28 images with 62 classes; 3
// logistic, 4 mlp (8 hidden) on 28 features with 2 classes.
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"

#include "tacet/crypto/seeded_random.h"
#include "tacet/training/learner.h"

namespace tacet::learning {
namespace {

struct Setting {
  const char* model;
  uint64_t hidden;
  std::vector<uint64_t> shape;
  uint32_t classes;
};

Setting SettingOf(int64_t argument) {
  switch (argument) {
    case 0:
      return {"logistic", 0, {28, 28}, 62};
    case 1:
      return {"mlp", 64, {28, 28}, 62};
    case 2:
      return {"femnist-cnn", 0, {28, 28}, 62};
    case 3:
      return {"logistic", 0, {28}, 2};
    default:
      return {"mlp", 8, {28}, 2};
  }
}

constexpr uint32_t kSamples = 400;
constexpr uint32_t kBatch = 20;

std::unique_ptr<trainer::Learner> MakeLearner(const Setting& setting, accounting::Unit unit) {
  data::DatasetSpec spec;
  spec.name = "bench";
  spec.input_shape = setting.shape;
  spec.classes = setting.classes;
  spec.client_names = {"client"};
  const uint64_t inputs =
      std::accumulate(setting.shape.begin(), setting.shape.end(), uint64_t{1}, std::multiplies{});
  crypto::Random random = crypto::SeededRandom(1, "bench");
  std::vector<float> features(kSamples * inputs);
  for (float& value : features) value = static_cast<float>(crypto::Uniform(random));
  spec.features = std::move(features);
  for (uint32_t i = 0; i < kSamples; ++i) {
    spec.labels.push_back(static_cast<uint32_t>(random.Below(setting.classes)));
    spec.sample_clients.push_back(0);
    spec.sample_persons.push_back(i / 20);
  }
  training::LearnerSpec learner;
  learner.model = setting.model;
  learner.hidden = {setting.hidden};
  learner.held_out_share = 0;
  learner.batch = kBatch;
  learner.unit = unit;
  return *training::NewLearner(learner, *data::Dataset::Create(std::move(spec)));
}

void Report(benchmark::State& state, const Setting& setting) {
  state.SetLabel(setting.model);
  state.counters["per_sample"] = benchmark::Counter(
      kSamples, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void PlainStep(benchmark::State& state) {
  const Setting setting = SettingOf(state.range(0));
  const auto learner = MakeLearner(setting, accounting::Unit::kClient);
  const auto trainer = *learner->NewTrainer();
  const std::vector<float> model = learner->InitialModel();
  std::vector<float> update(model.size());
  uint32_t round = 0;
  for (auto _ : state) {
    if (!trainer->Train(model, round++, 0, update).ok()) state.SkipWithError("training failed");
  }
  Report(state, setting);
}
BENCHMARK(PlainStep)->DenseRange(0, 4)->Unit(benchmark::kMillisecond);

void Clipped(benchmark::State& state, accounting::Unit unit) {
  const Setting setting = SettingOf(state.range(0));
  const auto learner = MakeLearner(setting, unit);
  const auto trainer = *learner->NewTrainer();
  const std::vector<float> model = learner->InitialModel();
  std::vector<float> sum(model.size());
  std::vector<uint32_t> units(learner->units(0));
  std::iota(units.begin(), units.end(), uint32_t{0});
  for (auto _ : state) {
    if (!trainer->SumClippedGradients(model, 0, units, 0.5, sum).ok()) {
      state.SkipWithError("training failed");
    }
  }
  Report(state, setting);
}
void ClippedRecords(benchmark::State& state) { Clipped(state, accounting::Unit::kRecord); }
void ClippedPersons(benchmark::State& state) { Clipped(state, accounting::Unit::kPerson); }
BENCHMARK(ClippedRecords)->DenseRange(0, 4)->Unit(benchmark::kMillisecond);
BENCHMARK(ClippedPersons)->DenseRange(0, 4)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tacet::learning
