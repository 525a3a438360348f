#include "apps/tacet/attack/attack_output.h"

#include <iterator>
#include <optional>
#include <utility>

#include "fmt/core.h"

#include "tacet/accounting/privacy_event.h"
#include "tacet/audit/commit.h"
#include "tacet/base/json_lists.h"

namespace tacet::app::attack {
namespace {

using tacet::attack::Interval;

constexpr size_t kRates = std::size(kFalsePositiveRates);

base::JsonValue IntervalJson(const Interval& interval) {
  return base::JsonValue::MakeArray().Append(interval.low).Append(interval.high);
}

base::JsonValue ComparisonJson(const std::optional<BoundComparison>& comparison) {
  if (!comparison.has_value()) return base::JsonValue();
  return base::JsonValue::MakeObject()
      .Set("false_positive_rate_at_most", comparison->false_positive_rate_at_most)
      .Set("true_positive_rate_at_least", comparison->true_positive_rate_at_least)
      .Set("bound", comparison->bound)
      .Set("verdict", BoundVerdictName(comparison->verdict));
}

// "exceeded" is to be seen at once.
std::string VerdictName(BoundVerdict verdict) {
  return verdict == BoundVerdict::kExceeded ? "EXCEEDED" : std::string(BoundVerdictName(verdict));
}

std::string BoundsText(const std::vector<ObserverBound>& bounds) {
  if (bounds.empty()) return "";
  std::string out = fmt::format("\n{:<50}", "largest TPR, %, that the guarantee leaves at FPR");
  for (const double rate : kFalsePositiveRates) {
    out += fmt::format("{:>10}", fmt::format("{:g} %", 100 * rate));
  }
  out += "\n";
  for (const ObserverBound& bound : bounds) {
    const std::string epsilon =
        bound.epsilon ? fmt::format("epsilon {:.3f}", *bound.epsilon) : std::string();
    out += fmt::format("  {:<30}{:>18}", accounting::ObserverName(bound.observer), epsilon);
    for (const double most : bound.max_true_positive_rates) {
      out += fmt::format("{:>10.2f}", 100 * most);
    }
    out += "\n";
  }
  return out;
}

// The meaning of the table's columns.
std::string Legend(size_t comparisons) {
  std::string out = fmt::format(
      "\nTPR and FPR: true-positive and false-positive rate, in percent. In brackets: {:g} % "
      "intervals (Clopper-Pearson; AUC: Hanley-McNeil).\n",
      100 * kShownConfidence);
  if (comparisons == 0) return out;
  return out + fmt::format(
                   "Verdict: the lower limit of the TPR against the external observer's bound at "
                   "the upper limit of the FPR. All limits of the {} comparisons hold together "
                   "with {:g} % confidence "
                   "(Bonferroni: {:.5g} % each).\n"
                   "  within     the measured TPR is at most the bound\n"
                   "  undecided  the measured TPR is above the bound, its lower limit is not\n"
                   "  EXCEEDED   the lower limit of the TPR is above the bound\n",
                   comparisons, 100 * kJointConfidence,
                   100 * LimitConfidence(kJointConfidence, comparisons));
}

// The unit of the test in words, who is a member and who is not.
std::string WhoIsAsked(const UnitTest& test) {
  switch (test.unit) {
    case accounting::Unit::kClient:
      return "clients in the federation against clients that it never saw, each with all its "
             "samples";
    case accounting::Unit::kPerson:
      return "persons in the federation against persons that it never saw, each with all samples";
    case accounting::Unit::kRecord:
      return "samples that were trained on against samples of the same clients that were held out";
  }
  return "";
}

}  // namespace

base::JsonValue AttacksJson(const std::vector<MeasuredAttack>& attacks) {
  base::JsonValue list = base::JsonValue::MakeArray();
  for (const MeasuredAttack& measured : attacks) {
    base::JsonValue points = base::JsonValue::MakeArray();
    for (size_t i = 0; i < kRates; ++i) {
      const tacet::attack::OperatingPoint& point = measured.points[i].point;
      points.Append(base::JsonValue::MakeObject()
                        .Set("allowed_false_positive_rate", kFalsePositiveRates[i])
                        .Set("true_positives", point.true_positives)
                        .Set("true_positive_rate", point.true_positive_rate())
                        .Set("true_positive_interval",
                             IntervalJson(point.TruePositiveInterval(kShownConfidence)))
                        .Set("false_positives", point.false_positives)
                        .Set("false_positive_rate", point.false_positive_rate())
                        .Set("false_positive_interval",
                             IntervalJson(point.FalsePositiveInterval(kShownConfidence)))
                        .Set("comparison", ComparisonJson(measured.points[i].comparison)));
    }
    list.Append(base::JsonValue::MakeObject()
                    .Set("method", measured.method)
                    .Set("auc", base::OrNull(measured.auc))
                    .Set("auc_interval", IntervalJson(measured.auc_interval))
                    .Set("points", std::move(points)));
  }
  return list;
}

base::JsonValue TestJson(const UnitTest& test, const AttackedRun& run) {
  base::JsonValue json = base::JsonValue::MakeObject();
  return json.Set("unit", accounting::UnitName(test.unit))
      .Set("is_unit_of_epsilon", test.unit == run.agreed().privacy.unit)
      .Set("members", test.members)
      .Set("non_members", test.non_members)
      .Set("samples", test.samples)
      .Set("attacks", AttacksJson(test.attacks));
}

std::string IntervalText(double value, const Interval& interval) {
  return fmt::format("{:.2f} ({:.2f}-{:.2f})", 100 * value, 100 * interval.low,
                     100 * interval.high);
}

std::string AttacksText(const std::vector<MeasuredAttack>& attacks) {
  const bool compared = !attacks.empty() && attacks.front().points.front().comparison.has_value();
  std::string out = fmt::format("  {:<18}{:>12}{:>24}", "attack", "FPR allowed", "TPR, %");
  if (compared) {
    out += fmt::format("{:>14}{:>14}{:>10}  {}", "TPR at least", "FPR at most", "bound", "verdict");
  }
  out += "\n";
  for (const MeasuredAttack& measured : attacks) {
    for (size_t i = 0; i < kRates; ++i) {
      const tacet::attack::OperatingPoint& point = measured.points[i].point;
      out += fmt::format(
          "  {:<18}{:>12}{:>24}", measured.method,
          fmt::format("{:g} %", 100 * kFalsePositiveRates[i]),
          IntervalText(point.true_positive_rate(), point.TruePositiveInterval(kShownConfidence)));
      if (const auto& comparison = measured.points[i].comparison) {
        out += fmt::format("{:>14.2f}{:>14.2f}{:>10.2f}  {}",
                           100 * comparison->true_positive_rate_at_least,
                           100 * comparison->false_positive_rate_at_most, 100 * comparison->bound,
                           VerdictName(comparison->verdict));
      }
      out += "\n";
    }
  }
  for (const MeasuredAttack& measured : attacks) {
    if (!measured.auc.has_value()) continue;
    out += fmt::format("  {:<18}AUC {:.3f} ({:.3f}-{:.3f})\n", measured.method, *measured.auc,
                       measured.auc_interval.low, measured.auc_interval.high);
  }
  return out;
}

base::JsonValue AttackJson(const AttackResult& result, const AttackedRun& run,
                           std::span<const std::string> verdict) {
  base::JsonValue tests = base::JsonValue::MakeArray();
  for (const UnitTest& test : result.tests) tests.Append(TestJson(test, run));
  base::JsonValue bounds = base::JsonValue::MakeArray();
  for (const ObserverBound& bound : result.bounds) {
    bounds.Append(
        base::JsonValue::MakeObject()
            .Set("observer", accounting::ObserverName(bound.observer))
            .Set("epsilon", base::OrNull(bound.epsilon))
            .Set("releases", bound.releases)
            .Set("max_true_positive_rates", base::JsonList(bound.max_true_positive_rates)));
  }
  const size_t comparisons = result.comparisons().size();
  return base::JsonValue::MakeObject()
      .Set("run",
           base::JsonValue::MakeObject()
               .Set("model", run.agreed().model)
               .Set("unit", accounting::UnitName(run.agreed().privacy.unit))
               .Set("neighbouring", accounting::NeighbouringName(run.agreed().privacy.neighbouring))
               .Set("delta", run.agreed().privacy.delta)
               .Set("charged_attempts", run.charged_attempts())
               .Set("labels", base::JsonList(run.labels())))
      .Set("commit", audit::BuildCommit())
      .Set("false_positive_rates", base::JsonList(kFalsePositiveRates))
      .Set("confidence", kShownConfidence)
      .Set("joint_confidence", kJointConfidence)
      .Set("comparisons", static_cast<uint64_t>(comparisons))
      .Set("limit_confidence",
           comparisons == 0 ? base::JsonValue() : LimitConfidence(kJointConfidence, comparisons))
      .Set("tests", std::move(tests))
      .Set("not_tested", base::JsonList(result.not_tested))
      .Set("bounds", std::move(bounds))
      .Set("exceeds_bound", result.exceeds_bound())
      .Set("verdict", base::JsonList(verdict));
}

std::vector<std::string> AttackVerdict(const AttackResult& result, const AttackedRun& run) {
  std::vector<std::string> lines;
  lines.push_back(result.bounds.empty()
                      ? "this run has no guarantee (see its labels), so there is no bound"
                      : ConclusionOf(result.comparisons(), kJointConfidence));
  for (const UnitTest& test : result.tests) {
    const std::string_view unit = accounting::UnitName(test.unit);
    if (test.unit != run.agreed().privacy.unit && !result.bounds.empty()) {
      lines.push_back(
          fmt::format("epsilon speaks of a {}, of which a {} is a part: the bound holds for the "
                      "test of unit {} too, and is seldom near it",
                      accounting::UnitName(run.agreed().privacy.unit), unit, unit));
    }
    const auto wanted = static_cast<uint64_t>(1 / kFalsePositiveRates[0]);
    if (test.non_members < wanted) {
      lines.push_back(
          fmt::format("unit {}: {} non-members cannot show a false-positive rate below {:.2g} %; "
                      "where less is allowed, the attack had no false positive",
                      unit, test.non_members, 100.0 / static_cast<double>(test.non_members)));
    }
  }
  for (const std::string& reason : result.not_tested) lines.push_back("not tested: " + reason);
  lines.push_back(
      "an attack that finds little does not prove that no other finds more; the bound is the "
      "proof");
  return lines;
}

std::string TestText(const UnitTest& test) {
  return fmt::format("\nunit {}: {} members, {} that are not: {}\n",
                     accounting::UnitName(test.unit), test.members, test.non_members,
                     WhoIsAsked(test)) +
         AttacksText(test.attacks);
}

std::string VerdictText(const AttackResult& result, std::span<const std::string> verdict) {
  std::string out = BoundsText(result.bounds) + Legend(result.comparisons().size());
  for (const std::string& line : verdict) out += fmt::format("- {}\n", line);
  return out;
}

}  // namespace tacet::app::attack
