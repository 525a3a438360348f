#include "lab/reproduce/hospital_trials.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "apps/tacet/simulate/memory_run.h"
#include "tacet/base/status.h"
#include "tacet/data/split.h"
#include "tacet/run/configured_simulation.h"

namespace tacet::app::reproduce {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kEpsilons[] = {0.5, 1, 2, 4, 8, kInfinity};
constexpr double kLeaveOneOutEpsilons[] = {2, kInfinity};

// Without privacy: the gradient of all records in every round. Both overfit soon; these many were
// the best of 20, 60, 200 for a hospital alone and for all together
// (docs/experiments/hospitals/README.md).
constexpr uint64_t kPlainRounds = 20;
constexpr double kPlainRate = 0.5;
// Client-level privacy: few rounds, since every one of them costs a whole hospital's data.
constexpr uint64_t kClientRounds = 10;

}  // namespace

std::vector<HospitalVariant> HospitalVariants(uint64_t hospitals) {
  std::vector<HospitalVariant> variants;
  for (const double epsilon : kEpsilons) variants.push_back({"record", epsilon, {}});
  for (const double epsilon : kEpsilons) variants.push_back({"client", epsilon, {}});
  variants.push_back({"pooled", kInfinity, {}});
  for (uint64_t h = 0; h < hospitals; ++h) variants.push_back({"alone", kInfinity, h});
  for (uint64_t h = 0; h < hospitals; ++h) {
    for (const double epsilon : kLeaveOneOutEpsilons) {
      variants.push_back({"record-left-out", epsilon, h});
    }
  }
  return variants;
}

absl::Status HospitalTrials::Prepare() {
  if (dataset_.clients() < 2 || dataset_.classes() != 2) {
    return base::InvalidArgument("{}: {} hospitals and {} classes, expected at least 2 and just 2",
                                 dataset_.name(), dataset_.clients(), dataset_.classes());
  }
  if (config_.agreement.privacy.unit != accounting::Unit::kRecord) {
    return base::InvalidArgument("the configuration's privacy.unit is {}, expected record",
                                 accounting::UnitName(config_.agreement.privacy.unit));
  }
  TACET_ASSIGN_OR_RETURN(architecture_,
                         models::Architecture::Create({.model = config_.model.name,
                                                       .input_shape = dataset_.input_shape(),
                                                       .hidden = config_.model.hidden,
                                                       .classes = dataset_.classes()}));
  return absl::OkStatus();
}

absl::StatusOr<config::RunConfig> HospitalTrials::ConfigOf(const HospitalVariant& variant,
                                                           uint64_t sites, uint64_t seed) {
  config::RunConfig config = config_;
  agreement::ManifestSpec& agreed = config.agreement;
  config.run.seed = seed;
  config.run.insecure_seed = seed;
  config.run.threads = 1;
  agreed.mechanism.noise_stddev = 0;
  agreed.privacy.target_epsilon = 0;
  agreed.privacy.budget_epsilon = 0;
  const bool alone = variant.name == "alone" || variant.name == "pooled";
  if (alone) {
    agreed.rounds = kPlainRounds;
    agreed.optimizer.learning_rate = agreed.optimizer.learning_rate_final = kPlainRate;
    agreed.sampling.record_rate = 1;
    agreed.mechanism.without_noise = agreed.mechanism.without_clipping = true;
    agreed.without_encryption = config.run.no_quantisation = true;
    return config;
  }
  agreed.sampling.min_participants = sites;  // every sum is of all hospitals
  if (variant.name == "client") {
    agreed.rounds = kClientRounds;
    agreed.sampling.cohort = sites;
    config.training.learning_rate = config.training.learning_rate_final = 0.1;
    agreed.privacy.unit = accounting::Unit::kClient;
    agreed.sampling.record_rate = 0;
    agreed.sampling.expected_batch = 0;
    agreed.privacy.colluders = agreed.sampling.appearances = 0;
    agreed.optimizer.learning_rate = 1;
    agreed.optimizer.learning_rate_final = 0.2;
  }
  if (!std::isfinite(variant.epsilon)) {
    agreed.mechanism.without_noise = true;
    return config;
  }
  const base::MutexLock lock(mutex_);
  double& noise = noise_[{variant.name, sites, variant.epsilon}];
  if (noise == 0) {
    config::RunConfig calibrated = config;
    calibrated.agreement.privacy.target_epsilon = variant.epsilon;
    TACET_ASSIGN_OR_RETURN(simulation::SimulationSpec spec, run::SimulationSpecOf(calibrated));
    spec.manifest.dimension = architecture_->dimension();
    spec.manifest.sampling.clients = sites;
    spec.manifest.members.resize(sites);
    if (spec.manifest.privacy.unit != accounting::Unit::kClient)
      spec.manifest.sampling.expected_batch = 1;
    TACET_ASSIGN_OR_RETURN(const agreement::Manifest manifest,
                           agreement::Manifest::Create(spec.manifest));
    noise = manifest.spec().mechanism.noise_stddev;
  }
  agreed.mechanism.noise_stddev = noise;
  return config;
}

absl::Status HospitalTrials::Judge(const std::vector<float>& model, std::span<const uint32_t> rows,
                                   training::Quality& quality) const {
  TACET_ASSIGN_OR_RETURN(const std::vector<double> margins,
                         training::Margins(*architecture_, model, dataset_, rows));
  quality = training::QualityOf(margins, dataset_, rows);
  return absl::OkStatus();
}

absl::StatusOr<HospitalTrial> HospitalTrials::Run(const HospitalVariant& variant, uint64_t seed) {
  const data::Split split(dataset_, seed, config_.data.held_out, config_.agreement.privacy.unit);
  const bool left_out = variant.name == "record-left-out";
  std::vector<data::ChosenRows> chosen;
  for (uint64_t h = 0; h < dataset_.clients(); ++h) {
    if (variant.hospital.has_value() && (h == *variant.hospital) == left_out) continue;
    const std::span<const uint32_t> rows = split.training_rows(h);
    if (variant.name == "pooled" && !chosen.empty()) {
      chosen[0].rows.insert(chosen[0].rows.end(), rows.begin(), rows.end());
    } else {
      chosen.push_back({h, {rows.begin(), rows.end()}});
    }
  }
  TACET_ASSIGN_OR_RETURN(const data::Dataset training,
                         data::SelectRows(dataset_, chosen, dataset_.name()));
  TACET_ASSIGN_OR_RETURN(const config::RunConfig config,
                         ConfigOf(variant, training.clients(), seed));
  TACET_ASSIGN_OR_RETURN(const app::simulate::MemoryRun run,
                         app::simulate::TrainInMemory(config, training));

  HospitalTrial trial{.seed = seed,
                      .all = {},
                      .by_hospital = std::vector<training::Quality>(dataset_.clients()),
                      .noise = run.agreed.mechanism.noise_stddev,
                      .epsilon = run.epsilon};
  const std::span<const uint32_t> held_out = split.held_out_rows();
  TACET_RETURN_IF_ERROR(Judge(run.model, held_out, trial.all));
  for (uint64_t h = 0; h < dataset_.clients(); ++h) {
    const std::span<const uint32_t> own = dataset_.rows(h);
    std::vector<uint32_t> rows;
    if (left_out) {
      rows.assign(own.begin(), own.end());
    } else {
      std::ranges::copy_if(held_out, std::back_inserter(rows),
                           [&](uint32_t row) { return std::ranges::binary_search(own, row); });
    }
    TACET_RETURN_IF_ERROR(Judge(run.model, rows, trial.by_hospital[h]));
  }
  return trial;
}

}  // namespace tacet::app::reproduce
