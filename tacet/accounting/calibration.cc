#include "tacet/accounting/calibration.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "tacet/accounting/log_math.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

absl::Status CheckTarget(const CalibrationTarget& target) {
  if (!(target.epsilon > 0 && std::isfinite(target.epsilon))) {
    return base::InvalidArgument("the target epsilon is {}, expected a finite number above 0",
                                 target.epsilon);
  }
  return absl::OkStatus();
}

// The largest n in [1, most] for which `fits`, a function that is true up to some n; 0 when none
// does. Doubles, then halves the bracket.
template <typename Fits>
absl::StatusOr<uint64_t> LargestFitting(uint64_t most, const Fits& fits) {
  uint64_t good = 0;
  uint64_t bad = 1;
  while (true) {
    TACET_ASSIGN_OR_RETURN(const bool fitting, fits(bad));
    if (!fitting) {
      break;
    }
    good = bad;
    if (bad == most) {
      return most;
    }
    bad = std::min(2 * bad, most);
  }
  while (bad - good > 1) {
    const uint64_t middle = good + (bad - good) / 2;
    TACET_ASSIGN_OR_RETURN(const bool fitting, fits(middle));
    (fitting ? good : bad) = middle;
  }
  return good;
}

}  // namespace

absl::StatusOr<double> EpsilonOf(const FederationPrivacySpec& federation,
                                 const CalibrationTarget& target) {
  if (!target.observer && !target.accountant) {
    TACET_ASSIGN_OR_RETURN(const Guarantees guarantees,
                           GuaranteesOf(federation, Extent::kHeadline));
    return guarantees.epsilon();
  }
  const Observer wanted = target.observer.value_or(Observer::kExternal);
  TACET_ASSIGN_OR_RETURN(const std::vector<ObservedRounds> observers,
                         ObserveFederation(federation));
  for (const ObservedRounds& observer : observers) {
    if (observer.observer != wanted) {
      continue;
    }
    std::span<const Accountant> accountants = kAccountants;
    if (target.accountant) accountants = {&*target.accountant, 1};
    TACET_ASSIGN_OR_RETURN(const std::vector<PrivacyRow> rows,
                           RowsOfObserver(observer, federation, accountants));
    double smallest = kInfinity;
    for (const PrivacyRow& row : rows) {
      // A convention counts only where it is asked for by name.
      if (target.accountant || row.standing == Standing::kGuarantee) {
        smallest = std::min(smallest, row.epsilon.value_or(kInfinity));
      }
    }
    return smallest;
  }
  return base::InvalidArgument("this federation has no observer \"{}\"", ObserverName(wanted));
}

absl::StatusOr<double> CalibrateNoise(const FederationPrivacySpec& federation,
                                      const CalibrationTarget& target) {
  TACET_RETURN_IF_ERROR(CheckTarget(target));
  const auto epsilon_at = [&](double noise) {
    FederationPrivacySpec spec = federation;
    spec.mechanism.noise_stddev = noise;
    return EpsilonOf(spec, target);
  };
  const double most = 1e6 * federation.mechanism.clip_norm;
  const double least = 1e-4 * federation.mechanism.clip_norm;
  // The noise is between `low`, where epsilon is too large, and `high`, where it is not.
  double high = federation.mechanism.clip_norm;
  TACET_ASSIGN_OR_RETURN(double at_high, epsilon_at(high));
  double low = high;
  double at_low = at_high;
  while (at_high > target.epsilon) {
    if (high >= most) {
      return base::NotFound("no noise up to {} clip norms brings epsilon down to {}", 1e6,
                            target.epsilon);
    }
    low = high;
    at_low = at_high;
    high = std::min(2 * high, most);
    TACET_ASSIGN_OR_RETURN(at_high, epsilon_at(high));
  }
  while (low == high && high > least) {  // the clip norm was already enough
    TACET_ASSIGN_OR_RETURN(at_low, epsilon_at(low / 2));
    low /= 2;
    if (at_low <= target.epsilon) {
      high = low;
      at_high = at_low;
    }
  }
  // epsilon is nearly a power of the noise: the line through the logarithms is near, a little to
  // either side of it closes the bracket from both ends. Every third step halves, whatever happens.
  constexpr double kWidth = 5e-7;
  for (int turn = 0; high - low > kWidth * high; ++turn) {
    double noise = std::sqrt(low * high);
    if (turn % 3 != 2 && std::isfinite(at_low) && at_high > 0 && at_low > at_high) {
      const double share =
          (std::log(at_low) - std::log(target.epsilon)) / (std::log(at_low) - std::log(at_high));
      noise = low * std::pow(high / low, share) * (1 + (turn % 3 == 0 ? 0.4 : -0.4) * kWidth);
      noise = std::clamp(noise, low + 0.1 * kWidth * high, high - 0.1 * kWidth * high);
    }
    TACET_ASSIGN_OR_RETURN(const double epsilon, epsilon_at(noise));
    if (epsilon <= target.epsilon) {
      high = noise;
      at_high = epsilon;
    } else {
      low = noise;
      at_low = epsilon;
    }
  }
  return high;
}

absl::StatusOr<uint64_t> CalibrateRounds(const FederationPrivacySpec& federation,
                                         const CalibrationTarget& target) {
  TACET_RETURN_IF_ERROR(CheckTarget(target));
  constexpr uint64_t kMax = 1'000'000'000;
  TACET_ASSIGN_OR_RETURN(const uint64_t rounds,
                         LargestFitting(kMax, [&](uint64_t n) -> absl::StatusOr<bool> {
                           FederationPrivacySpec spec = federation;
                           spec.rounds = n;
                           TACET_ASSIGN_OR_RETURN(const double epsilon, EpsilonOf(spec, target));
                           return epsilon <= target.epsilon;
                         }));
  if (rounds == 0) {
    return base::NotFound("one round already costs more than epsilon {}", target.epsilon);
  }
  if (rounds == kMax) {
    return base::NotFound("{} rounds do not reach epsilon {}", kMax, target.epsilon);
  }
  return rounds;
}

FederationPrivacySpec WithCohort(const FederationPrivacySpec& federation, uint64_t cohort,
                                 HeldFixed held) {
  FederationPrivacySpec spec = federation;
  const auto before = static_cast<double>(std::max<uint64_t>(federation.sampling.cohort, 1));
  const double share = static_cast<double>(federation.sampling.min_participants) / before;
  spec.sampling.cohort = cohort;
  if (federation.sampling.min_participants > 0) {
    spec.sampling.min_participants =
        std::clamp(static_cast<uint64_t>(share * static_cast<double>(cohort)), uint64_t{1}, cohort);
  }
  if (held == HeldFixed::kNoiseOfTheAverage) {
    spec.mechanism.noise_stddev =
        federation.mechanism.noise_stddev * static_cast<double>(cohort) / before;
  }
  return spec;
}

absl::StatusOr<uint64_t> CalibrateCohort(const FederationPrivacySpec& federation,
                                         const CalibrationTarget& target, HeldFixed held) {
  TACET_RETURN_IF_ERROR(CheckTarget(target));
  TACET_RETURN_IF_ERROR(CheckFederation(federation));
  const uint64_t pool = federation.pool == 0 ? federation.sampling.clients : federation.pool;
  const auto fits = [&](uint64_t cohort) -> absl::StatusOr<bool> {
    TACET_ASSIGN_OR_RETURN(const double epsilon,
                           EpsilonOf(WithCohort(federation, cohort, held), target));
    return epsilon <= target.epsilon;
  };
  if (held == HeldFixed::kNoise) {
    TACET_ASSIGN_OR_RETURN(const uint64_t cohort, LargestFitting(pool, fits));
    if (cohort == 0) {
      return base::NotFound("even a cohort of one costs more than epsilon {}", target.epsilon);
    }
    return cohort;
  }
  // epsilon falls with the cohort: the smallest that fits is one above the largest that does not.
  TACET_ASSIGN_OR_RETURN(const uint64_t too_small,
                         LargestFitting(pool, [&](uint64_t cohort) -> absl::StatusOr<bool> {
                           TACET_ASSIGN_OR_RETURN(const bool fitting, fits(cohort));
                           return !fitting;
                         }));
  if (too_small == pool) {
    return base::NotFound("even a cohort of all {} costs more than epsilon {}", pool,
                          target.epsilon);
  }
  return too_small + 1;
}

}  // namespace tacet::accounting
