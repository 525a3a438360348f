// Calibration: the noise, the number of rounds or the cohort size that spends a given epsilon.
#ifndef TACET_ACCOUNTING_CALIBRATION_H_
#define TACET_ACCOUNTING_CALIBRATION_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

#include "tacet/accounting/observers.h"
#include "tacet/accounting/privacy_rows.h"

namespace tacet::accounting {

struct CalibrationTarget {
  double epsilon = 0;  // > 0
  // The observer against whom it must hold; none: the worst that has a guarantee, or with an
  // accountant the external observer.
  std::optional<Observer> observer = std::nullopt;
  // The accountant that must not exceed epsilon; none: the smallest valid bound.
  std::optional<Accountant> accountant = std::nullopt;
};

// epsilon of the target's observer; infinity when it has no guarantee. InvalidArgument when the
// federation has no such observer.
absl::StatusOr<double> EpsilonOf(const FederationPrivacySpec& federation,
                                 const CalibrationTarget& target);

// The least noise_stddev whose epsilon is at most the target's, to 1e-6 relative and never below.
// NotFound when no noise up to 1e6 clip norms is enough.
absl::StatusOr<double> CalibrateNoise(const FederationPrivacySpec& federation,
                                      const CalibrationTarget& target);

// The most rounds whose epsilon is at most the target's. NotFound when one round is too many, or
// when a billion are not too many.
absl::StatusOr<uint64_t> CalibrateRounds(const FederationPrivacySpec& federation,
                                         const CalibrationTarget& target);

enum class HeldFixed {
  kNoise,             // sigma: the largest cohort
  kNoiseOfTheAverage  // sigma / K, the federation's own: the smallest cohort (epsilon falls with K)
};

// The cohort, 1..pool, as far as epsilon allows; K_min keeps its share of the cohort. NotFound when
// no cohort does.
absl::StatusOr<uint64_t> CalibrateCohort(const FederationPrivacySpec& federation,
                                         const CalibrationTarget& target, HeldFixed held);

// `federation` with another cohort, and with it the noise that stays fixed and K_min.
FederationPrivacySpec WithCohort(const FederationPrivacySpec& federation, uint64_t cohort,
                                 HeldFixed held);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_CALIBRATION_H_
