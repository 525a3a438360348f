#include "apps/tacet/attack/membership_attack.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fmt/core.h"

#include "tacet/accounting/true_positive_rate.h"
#include "tacet/base/status.h"
#include "tacet/training/row_scores.h"

namespace tacet::app::attack {
namespace {

using accounting::Unit;

// The observers that guarantee something about exchanging one unit for another: a test tells a unit
// that was trained on from one that was not, which took its place.
absl::StatusOr<std::vector<accounting::ObservedRounds>> GuaranteedObservers(
    const AttackedRun& run) {
  std::vector<accounting::ObservedRounds> observers;
  if (!run.has_guarantee()) return observers;
  accounting::FederationPrivacySpec spec = agreement::PrivacyOf(run.permitted()).back();
  spec.privacy.neighbouring = accounting::Neighbouring::kReplaceOne;
  TACET_ASSIGN_OR_RETURN(std::vector<accounting::ObservedRounds> all,
                         accounting::ObserveFederation(spec));
  for (accounting::ObservedRounds& observer : all) {
    const bool known = std::ranges::any_of(observers, [&](const accounting::ObservedRounds& other) {
      return other.observer == observer.observer;
    });
    if (observer.standing == accounting::Standing::kGuarantee && !known) {
      observers.push_back(std::move(observer));
    }
  }
  return observers;
}

absl::StatusOr<std::vector<ObserverBound>> BoundsOf(
    const AttackedRun& run, const std::vector<accounting::ObservedRounds>& observers) {
  std::vector<ObserverBound> bounds;
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                         agreement::GuaranteesOf(run.permitted()));
  for (const accounting::ObservedRounds& observer : observers) {
    const accounting::PrivacyRow* headline = guarantees.HeadlineOf(observer.observer);
    ObserverBound bound{.observer = observer.observer,
                        .epsilon = headline == nullptr ? std::nullopt : headline->epsilon,
                        .releases = observer.releases,
                        .max_true_positive_rates = {}};
    for (const double rate : kFalsePositiveRates) {
      TACET_ASSIGN_OR_RETURN(bound.max_true_positive_rates.emplace_back(),
                             accounting::MaxTruePositiveRate(
                                 {{.round = observer.round, .count = observer.releases}}, rate));
    }
    bounds.push_back(std::move(bound));
  }
  return bounds;
}

// Every point of every test with the bound of `stream`, all together at kJointConfidence.
absl::Status CompareAll(const std::vector<accounting::RepeatedEvent>& stream,
                        std::vector<UnitTest>& tests) {
  std::vector<MeasuredPoint*> points;
  for (UnitTest& test : tests) {
    for (MeasuredAttack& measured : test.attacks) {
      for (MeasuredPoint& point : measured.points) points.push_back(&point);
    }
  }
  const auto bound = [&stream](double false_positive_rate) {
    return accounting::MaxTruePositiveRate(stream, false_positive_rate);
  };
  for (MeasuredPoint* const point : points) {
    TACET_ASSIGN_OR_RETURN(
        point->comparison,
        CompareWithBound(point->point, bound, LimitConfidence(kJointConfidence, points.size())));
  }
  return absl::OkStatus();
}

// The unit that epsilon speaks of, then records, whose members a weaker test must find too.
std::vector<Unit> UnitsToTest(Unit guaranteed) {
  if (guaranteed == Unit::kRecord) return {Unit::kRecord};
  return {guaranteed, Unit::kRecord};
}

absl::StatusOr<UnitTest> TestUnit(const AttackedRun& run, const Candidates& candidates,
                                  const FurtherAttacks& further) {
  TACET_ASSIGN_OR_RETURN(const ModelOutputs outputs,
                         OutputsOf(run.architecture(), run.model(), candidates));
  UnitTest test{.unit = candidates.unit,
                .members = candidates.members(),
                .non_members = candidates.non_members(),
                .samples = candidates.data.samples(),
                .attacks = {LossThreshold(outputs.losses, candidates.is_member)}};
  if (!further) return test;
  TACET_ASSIGN_OR_RETURN(const std::vector<MeasuredAttack> more, further(candidates, outputs));
  test.attacks.insert(test.attacks.end(), more.begin(), more.end());
  return test;
}

}  // namespace

absl::StatusOr<ModelOutputs> OutputsOf(const models::Architecture& architecture,
                                       std::span<const float> model, const Candidates& candidates) {
  std::vector<uint32_t> rows;
  for (const std::vector<uint32_t>& own : candidates.rows) {
    rows.insert(rows.end(), own.begin(), own.end());
  }
  TACET_ASSIGN_OR_RETURN(const std::vector<double> odds,
                         training::LabelLogOdds(architecture, model, candidates.data, rows));
  ModelOutputs said;
  size_t next = 0;
  for (const std::vector<uint32_t>& own : candidates.rows) {
    double confidence = 0, loss = 0;
    for (size_t i = 0; i < own.size(); ++i, ++next) {
      confidence += odds[next];
      // -log p, p = 1 / (1 + e^-odds)
      loss += std::max(0.0, -odds[next]) + std::log1p(std::exp(-std::abs(odds[next])));
    }
    said.confidences.push_back(confidence / static_cast<double>(own.size()));
    said.losses.push_back(loss / static_cast<double>(own.size()));
  }
  return said;
}

MeasuredAttack Measure(std::string_view method, std::span<const double> scores,
                       const std::vector<bool>& is_member) {
  const tacet::attack::MembershipScores split = tacet::attack::SplitScores(scores, is_member);
  MeasuredAttack measured{.method = method,
                          .auc = tacet::attack::AreaUnderCurve(split),
                          .auc_interval = {},
                          .points = {}};
  if (measured.auc.has_value()) {
    measured.auc_interval = tacet::attack::AreaInterval(*measured.auc, split.members.size(),
                                                        split.non_members.size(), kShownConfidence);
  }
  for (const double rate : kFalsePositiveRates) {
    measured.points.push_back({.point = tacet::attack::PointAt(split, rate)});
  }
  return measured;
}

MeasuredAttack LossThreshold(std::span<const double> losses, const std::vector<bool>& is_member) {
  std::vector<double> small_losses;
  for (const double loss : losses) small_losses.push_back(-loss);
  return Measure("loss-threshold", small_losses, is_member);
}

std::vector<BoundComparison> AttackResult::comparisons() const {
  std::vector<BoundComparison> all;
  for (const UnitTest& test : tests) {
    for (const MeasuredAttack& measured : test.attacks) {
      for (const MeasuredPoint& point : measured.points) {
        if (point.comparison.has_value()) all.push_back(*point.comparison);
      }
    }
  }
  return all;
}

bool AttackResult::exceeds_bound() const {
  return std::ranges::any_of(comparisons(), [](const BoundComparison& comparison) {
    return comparison.verdict == BoundVerdict::kExceeded;
  });
}

absl::StatusOr<AttackResult> AttackRun(const AttackedRun& run, const AttackSettings& settings,
                                       const FurtherAttacks& further) {
  TACET_ASSIGN_OR_RETURN(const std::vector<accounting::ObservedRounds> observers,
                         GuaranteedObservers(run));
  AttackResult result;
  for (const Unit unit : UnitsToTest(run.agreed().privacy.unit)) {
    const std::string_view name = accounting::UnitName(unit);
    if (settings.unit != "all" && settings.unit != name) continue;
    const absl::StatusOr<Candidates> candidates = run.CandidatesOf(unit, settings.clients);
    if (candidates.status().code() == absl::StatusCode::kFailedPrecondition) {
      result.not_tested.push_back(fmt::format("{}: {}", name, base::Message(candidates.status())));
      continue;
    }
    TACET_RETURN_IF_ERROR(candidates.status());
    TACET_ASSIGN_OR_RETURN(result.tests.emplace_back(), TestUnit(run, *candidates, further));
  }
  if (result.tests.empty()) {
    return base::FailedPrecondition(
        "nobody can be attacked: {}",
        result.not_tested.empty()
            ? fmt::format("a run of unit {} has no test of unit {}",
                          accounting::UnitName(run.agreed().privacy.unit), settings.unit)
            : result.not_tested.front());
  }
  if (!observers.empty()) {
    const accounting::ObservedRounds& external = observers.front();
    TACET_RETURN_IF_ERROR(
        CompareAll({{.round = external.round, .count = external.releases}}, result.tests));
  }
  TACET_ASSIGN_OR_RETURN(result.bounds, BoundsOf(run, observers));
  return result;
}

}  // namespace tacet::app::attack
