#include "lab/bench/bench_records.h"

#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include "lab/bench/bench_timing.h"
#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/training/learner.h"

namespace tacet::app::bench {
namespace {

constexpr uint32_t kSamples = 400;
constexpr uint32_t kSamplesOfPerson = 20;

struct Setting {
  std::string model;
  uint64_t hidden;
  std::vector<uint64_t> shape;
  uint32_t classes;
};

absl::StatusOr<std::unique_ptr<trainer::Learner>> NewLearner(const Setting& setting,
                                                             accounting::Unit unit) {
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
    spec.sample_persons.push_back(i / kSamplesOfPerson);
  }
  TACET_ASSIGN_OR_RETURN(data::Dataset dataset, data::Dataset::Create(std::move(spec)));
  return training::NewLearner({.model = setting.model,
                               .hidden = {setting.hidden},
                               .held_out_share = 0,
                               .batch = 20,
                               .unit = unit},
                              std::move(dataset));
}

// Seconds a sample of one round of a client.
absl::StatusOr<double> SecondsOf(const Setting& setting, accounting::Unit unit,
                                 uint32_t repetitions) {
  TACET_ASSIGN_OR_RETURN(const auto learner, NewLearner(setting, unit));
  TACET_ASSIGN_OR_RETURN(const auto trainer, learner->NewTrainer());
  const std::vector<float> model = learner->InitialModel();
  std::vector<float> result(model.size());
  std::vector<uint32_t> units(learner->units(0));
  std::iota(units.begin(), units.end(), uint32_t{0});
  absl::Status failure;
  const double seconds = MedianThreadSeconds(repetitions, [&] {
    failure.Update(unit == accounting::Unit::kClient
                       ? trainer->Train(model, 0, 0, result)
                       : trainer->SumClippedGradients(model, 0, units, 0.5, result));
  });
  TACET_RETURN_IF_ERROR(failure);
  return seconds / kSamples;
}

}  // namespace

absl::StatusOr<std::vector<RecordTimes>> BenchRecords(uint32_t repetitions) {
  TACET_RETURN_IF_ERROR(CheckRepetitions(repetitions));
  const Setting settings[] = {{"logistic", 0, {28, 28}, 62},
                              {"mlp", 64, {28, 28}, 62},
                              {"femnist-cnn", 0, {28, 28}, 62},
                              {"logistic", 0, {28}, 2},
                              {"mlp", 8, {28}, 2}};
  std::vector<RecordTimes> rows;
  for (const Setting& setting : settings) {
    RecordTimes row = {.model = setting.model,
                       .inputs = std::accumulate(setting.shape.begin(), setting.shape.end(),
                                                 uint64_t{1}, std::multiplies{}),
                       .classes = setting.classes};
    for (const auto& [unit, seconds] :
         {std::pair{accounting::Unit::kClient, &RecordTimes::plain_s},
          std::pair{accounting::Unit::kRecord, &RecordTimes::record_s},
          std::pair{accounting::Unit::kPerson, &RecordTimes::person_s}}) {
      TACET_ASSIGN_OR_RETURN(row.*seconds, SecondsOf(setting, unit, repetitions));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tacet::app::bench
