// Membership tests of a finished run, beside the bound that its epsilon gives for any test.
#ifndef TACET_APPS_TACET_ATTACK_MEMBERSHIP_ATTACK_H_
#define TACET_APPS_TACET_ATTACK_MEMBERSHIP_ATTACK_H_

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "apps/tacet/attack/attacked_run.h"
#include "apps/tacet/attack/bound_comparison.h"
#include "tacet/accounting/observers.h"
#include "tacet/attack/operating_point.h"
#include "tacet/base/json.h"

namespace tacet::app::attack {

struct AttackSettings {
  uint64_t shadows = 64;
  std::string shadow_model = "auto";  // auto: the run's, but mlp for a convolutional one
  uint64_t shadow_rounds = 0;         // 0: the run's
  uint64_t clients = 0;               // of which samples are taken; 0: all
  std::string unit = "all";           // client, person, record; all: each that can be tested
  uint64_t seed = 1;
  uint64_t threads = 1;
  bool check_power = false;
  uint64_t power_epochs = 100;
};

// False-positive rates at which attacks are measured.
inline constexpr double kFalsePositiveRates[] = {0.001, 0.01, 0.1};
// Of each interval that is shown, and of all comparisons with the bound together.
inline constexpr double kShownConfidence = 0.95;
inline constexpr double kJointConfidence = 0.999;

enum class AttackMethod { kLossThreshold, kLikelihoodRatio };
std::string_view AttackMethodName(AttackMethod method);

struct MeasuredPoint {
  tacet::attack::OperatingPoint point;
  // With the external observer's bound; absent without a guarantee and in a power check.
  std::optional<BoundComparison> comparison = {};
};

struct MeasuredAttack {
  AttackMethod method = AttackMethod::kLossThreshold;
  std::optional<double> auc;
  tacet::attack::Interval auc_interval;
  std::vector<MeasuredPoint> points;  // one for each of kFalsePositiveRates
};

// The same attack on a model that was made to remember its samples: what it finds there.
struct PowerCheck {
  uint64_t epochs = 0;
  uint64_t members = 0;
  uint64_t non_members = 0;
  std::vector<MeasuredAttack> attacks;

  static constexpr uint64_t kMinNonMembers = 100;  // fewer show no false-positive rate of 1 %
  static constexpr double kMinTruePositiveRate = 0.1;

  // The likelihood ratio, at a false-positive rate of 1 %.
  tacet::attack::OperatingPoint at_one_percent() const;
  // There are kMinNonMembers, the true-positive rate there is at least kMinTruePositiveRate, and
  // the low end of its interval is above 1 %.
  bool passed() const;
};

struct UnitTest {
  accounting::Unit unit = accounting::Unit::kRecord;
  uint64_t members = 0;
  uint64_t non_members = 0;
  uint64_t samples = 0;
  std::vector<MeasuredAttack> attacks;
  std::optional<PowerCheck> power;
};

// Bound that the guarantee to one kind of observer gives for any test of its unit, or of a part of
// it.
struct ObserverBound {
  accounting::Observer observer = accounting::Observer::kExternal;
  std::optional<double> epsilon;  // the headline for the run's own neighbours
  uint64_t releases = 0;
  std::vector<double> max_true_positive_rates;  // for each of kFalsePositiveRates
};

struct AttackResult {
  std::vector<UnitTest> tests;
  std::vector<std::string> not_tested;  // units, each with its reason
  std::vector<ObserverBound> bounds;    // external observer first; none without a guarantee
  std::string shadow_model;
  uint64_t shadow_rounds = 0;

  // All of all tests, in their order.
  std::vector<BoundComparison> comparisons() const;
  bool exceeds_bound() const;
};

// Attacks the run in `directory`, whose folder attack/ keeps what the shadow models said. Progress
// goes to `out`. InvalidArgument for settings out of range; FailedPrecondition when no test is
// possible.
absl::StatusOr<AttackResult> AttackRun(const AttackedRun& run,
                                       const std::filesystem::path& directory,
                                       const AttackSettings& settings, std::FILE* out);

}  // namespace tacet::app::attack

#endif  // TACET_APPS_TACET_ATTACK_MEMBERSHIP_ATTACK_H_
