// Calibration: the noise, the number of rounds or the cohort size that spends a given epsilon.
#ifndef TACET_CALIBRATE_H_
#define TACET_CALIBRATE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

#include "tacet/federation_options.h"
#include "tacet/privacy_model.h"

namespace tacet {

struct CalibrationTarget {
  // Epsilon that may be spent, above 0 and finite.
  double epsilon = 0;

  // Observer against whom it must hold.
  //
  // Default: absent, the worst observer that has a guarantee
  std::optional<Observer> observer = std::nullopt;

  // Accountant whose figure must not exceed it. With an accountant and no observer the external
  // observer is meant.
  //
  // Default: absent, the smallest valid bound
  std::optional<Accountant> accountant = std::nullopt;
};

// Each ignores the option of `federation` that it returns. Errors: InvalidArgument names the option
// or the target that is wrong; NotFound when no value reaches the target. Take a few seconds.

// The least noise_multiplier, to 1e-6 relative and never below it; the federation's own noise is
// ignored. NotFound above 1e6.
absl::StatusOr<double> CalibrateNoise(const FederationOptions& federation,
                                      const CalibrationTarget& target);

// The most rounds.
absl::StatusOr<uint64_t> CalibrateRounds(const FederationOptions& federation,
                                         const CalibrationTarget& target);

// The largest cohort at the given noise in the sum. A K_min keeps its share of the cohort that is
// given with it.
absl::StatusOr<uint64_t> CalibrateCohort(const FederationOptions& federation,
                                         const CalibrationTarget& target);

}  // namespace tacet

#endif  // TACET_CALIBRATE_H_
