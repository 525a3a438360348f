#include "tacet/calibrate.h"

#include <cmath>
#include <limits>

#include "tacet/accounting/calibration.h"
#include "tacet/api/core/options.h"
#include "tacet/api/core/privacy_model.h"
#include "tacet/base/status.h"

namespace tacet {
namespace {

accounting::CalibrationTarget TargetOf(const CalibrationTarget& target) {
  accounting::CalibrationTarget result{.epsilon = target.epsilon};
  if (target.observer) result.observer = api::Internal(*target.observer);
  if (target.accountant) result.accountant = api::Internal(*target.accountant);
  return result;
}

}  // namespace

absl::StatusOr<double> CalibrateNoise(const FederationOptions& federation,
                                      const CalibrationTarget& target) {
  FederationOptions known = federation;
  known.noise_multiplier = 1;
  known.noise_stddev.reset();
  TACET_ASSIGN_OR_RETURN(const accounting::FederationPrivacySpec spec, api::PrivacySpecOf(known));
  TACET_ASSIGN_OR_RETURN(const double noise, accounting::CalibrateNoise(spec, TargetOf(target)));
  // Rounded up: the multiplier times the clip norm is never below the noise that was found.
  double multiplier = noise / known.clip_norm;
  while (multiplier * known.clip_norm < noise) {
    multiplier = std::nextafter(multiplier, std::numeric_limits<double>::infinity());
  }
  return multiplier;
}

absl::StatusOr<uint64_t> CalibrateRounds(const FederationOptions& federation,
                                         const CalibrationTarget& target) {
  FederationOptions known = federation;
  known.rounds = 1;
  TACET_ASSIGN_OR_RETURN(const accounting::FederationPrivacySpec spec, api::PrivacySpecOf(known));
  return accounting::CalibrateRounds(spec, TargetOf(target));
}

absl::StatusOr<uint64_t> CalibrateCohort(const FederationOptions& federation,
                                         const CalibrationTarget& target) {
  TACET_ASSIGN_OR_RETURN(const accounting::FederationPrivacySpec spec,
                         api::PrivacySpecOf(federation));
  return accounting::CalibrateCohort(spec, TargetOf(target), accounting::HeldFixed::kNoise);
}

}  // namespace tacet
