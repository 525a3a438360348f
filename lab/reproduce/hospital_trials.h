// One training of the hospitals' experiment, evaluated on held-out patients.
#ifndef TACET_LAB_REPRODUCE_HOSPITAL_TRIALS_H_
#define TACET_LAB_REPRODUCE_HOSPITAL_TRIALS_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/mutex.h"
#include "tacet/config/run_config.h"
#include "tacet/data/dataset.h"
#include "tacet/models/architecture.h"
#include "tacet/training/row_scores.h"

namespace tacet::app::reproduce {

// A way of training and the records that it uses.
struct HospitalVariant {
  std::string name;  // record, client, alone, pooled, record-left-out
  double epsilon = std::numeric_limits<double>::infinity();
  std::optional<uint64_t> hospital = {};  // alone: the only one; record-left-out: the one without
};

// All variants of the experiment, without their trials.
std::vector<HospitalVariant> HospitalVariants(uint64_t hospitals);

// One training, judged.
struct HospitalTrial {
  uint64_t seed = 0;
  training::Quality all;                       // held-out patients of all hospitals
  std::vector<training::Quality> by_hospital;  // of each; left out: all patients of that one
  double noise = 0;
  double epsilon = std::numeric_limits<double>::infinity();  // what the ledger counted
};

// Trains and judges variants. Run may be called by several threads after Prepare.
class HospitalTrials {
 public:
  HospitalTrials(config::RunConfig config, data::Dataset dataset)
      : config_(std::move(config)), dataset_(std::move(dataset)) {}

  absl::Status Prepare();
  absl::StatusOr<HospitalTrial> Run(const HospitalVariant& variant, uint64_t seed);
  const data::Dataset& dataset() const { return dataset_; }

 private:
  absl::StatusOr<config::RunConfig> ConfigOf(const HospitalVariant& variant, uint64_t sites,
                                             uint64_t seed);
  absl::Status Judge(const std::vector<float>& model, std::span<const uint32_t> rows,
                     training::Quality& quality) const;

  config::RunConfig config_;
  data::Dataset dataset_;
  std::optional<models::Architecture> architecture_;
  // Found once for each (variant, sites, epsilon): calibration takes longer than training.
  base::Mutex mutex_;
  std::map<std::tuple<std::string, uint64_t, double>, double> noise_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::app::reproduce

#endif  // TACET_LAB_REPRODUCE_HOSPITAL_TRIALS_H_
