// Membership tests of a finished run, next to the bound that its epsilon gives for any test.
#ifndef TACET_APPS_TACET_ATTACK_MEMBERSHIP_ATTACK_H_
#define TACET_APPS_TACET_ATTACK_MEMBERSHIP_ATTACK_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "apps/tacet/attack/attacked_run.h"
#include "apps/tacet/attack/bound_comparison.h"
#include "tacet/accounting/observers.h"
#include "tacet/attack/operating_point.h"
#include "tacet/models/architecture.h"

namespace tacet::app::attack {

struct AttackSettings {
  std::string unit = "all";  // client, person, record; all: each that can be tested
  uint64_t clients = 0;      // of which samples are taken; 0: all
};

// False-positive rates at which attacks are measured.
inline constexpr double kFalsePositiveRates[] = {0.001, 0.01, 0.1};
// For each interval that is shown, and for all comparisons with the bound together.
inline constexpr double kShownConfidence = 0.95;
inline constexpr double kJointConfidence = 0.999;

struct MeasuredPoint {
  tacet::attack::OperatingPoint point;
  // With the external observer's bound; absent without a guarantee.
  std::optional<BoundComparison> comparison = {};
};

struct MeasuredAttack {
  std::string_view method;  // loss-threshold, or the name of a further attack
  std::optional<double> auc;
  tacet::attack::Interval auc_interval;
  std::vector<MeasuredPoint> points;  // one for each of kFalsePositiveRates
};

struct UnitTest {
  accounting::Unit unit = accounting::Unit::kRecord;
  uint64_t members = 0;
  uint64_t non_members = 0;
  uint64_t samples = 0;
  std::vector<MeasuredAttack> attacks;  // the loss threshold first
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

  // All of all tests, in their order.
  std::vector<BoundComparison> comparisons() const;
  bool exceeds_bound() const;
};

// Outputs of a model for each candidate, averaged over its samples: `confidences` the log odds of
// the true label, `losses` the cross-entropy in nats.
struct ModelOutputs {
  std::vector<double> confidences;
  std::vector<double> losses;
};
absl::StatusOr<ModelOutputs> OutputsOf(const models::Architecture& architecture,
                                       std::span<const float> model, const Candidates& candidates);

// An attack with these scores, one for each candidate: the larger, the likelier a member.
MeasuredAttack Measure(std::string_view method, std::span<const double> scores,
                       const std::vector<bool>& is_member);

// The attack that claims that the candidates with the smallest loss are members (Yeom et al. 2018).
MeasuredAttack LossThreshold(std::span<const double> losses, const std::vector<bool>& is_member);

// Makes further attacks on a unit, from its candidates and the attacked model's outputs.
using FurtherAttacks = std::function<absl::StatusOr<std::vector<MeasuredAttack>>(
    const Candidates& candidates, const ModelOutputs& outputs)>;

// Attacks a run: the loss threshold on each unit, then what `further` makes. InvalidArgument for
// settings out of range; FailedPrecondition when no test is possible.
absl::StatusOr<AttackResult> AttackRun(const AttackedRun& run, const AttackSettings& settings,
                                       const FurtherAttacks& further = {});

}  // namespace tacet::app::attack

#endif  // TACET_APPS_TACET_ATTACK_MEMBERSHIP_ATTACK_H_
