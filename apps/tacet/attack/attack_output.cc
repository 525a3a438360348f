#include "apps/tacet/attack/attack_output.h"

#include <iterator>

#include "fmt/core.h"

#include "apps/tacet/program/commit.h"
#include "tacet/accounting/privacy_event.h"

namespace tacet::app {
namespace {

using attack::Interval;

constexpr size_t kRates = std::size(kFalsePositiveRates);

base::JsonValue IntervalJson(const Interval& interval) {
  return base::JsonValue::MakeArray().Append(interval.low).Append(interval.high);
}

base::JsonValue AttackRows(const std::vector<MeasuredAttack>& attacks) {
  base::JsonValue list = base::JsonValue::MakeArray();
  for (const MeasuredAttack& measured : attacks) {
    base::JsonValue points = base::JsonValue::MakeArray();
    for (size_t i = 0; i < kRates; ++i) {
      const attack::OperatingPoint& point = measured.points[i].point;
      points.Append(
          base::JsonValue::MakeObject()
              .Set("allowed_false_positive_rate", kFalsePositiveRates[i])
              .Set("accused_members", point.accused_members)
              .Set("true_positive_rate", point.true_positive_rate())
              .Set("true_positive_interval", IntervalJson(point.true_positives(kShownConfidence)))
              .Set("accused_non_members", point.accused_non_members)
              .Set("false_positive_rate", point.false_positive_rate())
              .Set("false_positive_interval", IntervalJson(point.false_positives(kShownConfidence)))
              .Set("exceeds_bound", measured.points[i].exceeds_bound));
    }
    list.Append(base::JsonValue::MakeObject()
                    .Set("method", AttackMethodName(measured.method))
                    .Set("auc", measured.auc ? base::JsonValue(*measured.auc) : base::JsonValue())
                    .Set("auc_interval", IntervalJson(measured.auc_interval))
                    .Set("points", std::move(points)));
  }
  return list;
}

base::JsonValue TestJson(const UnitTest& test, const AttackedRun& run) {
  base::JsonValue json = base::JsonValue::MakeObject();
  json.Set("unit", accounting::UnitName(test.unit))
      .Set("is_unit_of_epsilon", test.unit == run.agreed().unit)
      .Set("members", test.members)
      .Set("non_members", test.non_members)
      .Set("samples", test.samples)
      .Set("attacks", AttackRows(test.attacks));
  if (!test.power.has_value()) return json.Set("power", base::JsonValue());
  return json.Set("power", base::JsonValue::MakeObject()
                               .Set("passed", test.power->passed())
                               .Set("epochs", test.power->epochs)
                               .Set("members", test.power->members)
                               .Set("non_members", test.power->non_members)
                               .Set("attacks", AttackRows(test.power->attacks)));
}

std::string IntervalText(double value, const Interval& interval) {
  return fmt::format("{:.2f} ({:.2f}-{:.2f})", 100 * value, 100 * interval.low,
                     100 * interval.high);
}

std::string Header(std::string_view first) {
  std::string out = fmt::format("  {:<26}{:>22}", first, "AUC");
  for (const double rate : kFalsePositiveRates) {
    out += fmt::format("{:>23}", fmt::format("found at {:g} % false", 100 * rate));
  }
  return out + "\n";
}

std::string AttacksText(const std::vector<MeasuredAttack>& attacks, std::string_view suffix) {
  std::string out;
  for (const MeasuredAttack& measured : attacks) {
    out += fmt::format(
        "  {:<26}{:>22}", fmt::format("{}{}", AttackMethodName(measured.method), suffix),
        measured.auc ? fmt::format("{:.3f} ({:.3f}-{:.3f})", *measured.auc,
                                   measured.auc_interval.low, measured.auc_interval.high)
                     : std::string("-"));
    for (const MeasuredPoint& measured_point : measured.points) {
      const attack::OperatingPoint& point = measured_point.point;
      out += fmt::format("{:>23}", IntervalText(point.true_positive_rate(),
                                                point.true_positives(kShownConfidence)) +
                                       (measured_point.exceeds_bound ? "!" : ""));
    }
    out += "\n";
  }
  return out;
}

std::string BoundsText(const std::vector<ObserverBound>& bounds) {
  std::string out;
  for (const ObserverBound& bound : bounds) {
    const std::string who = fmt::format("at most, {}", accounting::ViewName(bound.view));
    const std::string epsilon =
        bound.epsilon ? fmt::format("epsilon {:.3f}", *bound.epsilon) : std::string();
    out += fmt::format("  {:<36}{:>12}", who, epsilon);
    for (const double most : bound.true_positives) {
      out += fmt::format("{:>23}", fmt::format("{:.2f}", 100 * most));
    }
    out += "\n";
  }
  return out;
}

// The unit of the test in words, who is a member and who is not.
std::string WhoIsAsked(const UnitTest& test) {
  switch (test.unit) {
    case accounting::Unit::kClient:
      return "owners in the federation against owners that it never saw, each with all its samples";
    case accounting::Unit::kPerson:
      return "persons in the federation against persons that it never saw, each with all samples";
    case accounting::Unit::kRecord:
      return "samples that were trained on against samples of the same owners that were held out";
  }
  return "";
}

}  // namespace

base::JsonValue AttackJson(const AttackResult& result, const AttackedRun& run,
                           const AttackSettings& settings) {
  base::JsonValue tests = base::JsonValue::MakeArray();
  for (const UnitTest& test : result.tests) tests.Append(TestJson(test, run));
  base::JsonValue bounds = base::JsonValue::MakeArray();
  for (const ObserverBound& bound : result.bounds) {
    base::JsonValue most = base::JsonValue::MakeArray();
    for (const double rate : bound.true_positives) most.Append(rate);
    bounds.Append(
        base::JsonValue::MakeObject()
            .Set("view", accounting::ViewName(bound.view))
            .Set("epsilon", bound.epsilon ? base::JsonValue(*bound.epsilon) : base::JsonValue())
            .Set("releases", bound.releases)
            .Set("most_true_positives", std::move(most)));
  }
  base::JsonValue rates = base::JsonValue::MakeArray();
  for (const double rate : kFalsePositiveRates) rates.Append(rate);
  base::JsonValue skipped = base::JsonValue::MakeArray();
  for (const std::string& reason : result.not_tested) skipped.Append(reason);
  base::JsonValue verdict = base::JsonValue::MakeArray();
  for (const std::string& line : AttackVerdict(result, run, settings)) verdict.Append(line);
  const base::JsonValue* labels = run.summary().Find("labels");
  base::JsonValue json = base::JsonValue::MakeObject();
  return json
      .Set("run", base::JsonValue::MakeObject()
                      .Set("model", run.agreed().model)
                      .Set("unit", accounting::UnitName(run.agreed().unit))
                      .Set("neighbouring", accounting::NeighbouringName(run.agreed().neighbouring))
                      .Set("delta", run.agreed().delta)
                      .Set("charged_attempts", run.charged_attempts())
                      .Set("labels", labels != nullptr ? *labels : base::JsonValue::MakeArray()))
      .Set("shadows", base::JsonValue::MakeObject()
                          .Set("count", settings.shadows)
                          .Set("model", result.shadow_model)
                          .Set("rounds", result.shadow_rounds)
                          .Set("owners", settings.owners)
                          .Set("seed", settings.seed))
      .Set("commit", BuildCommit())
      .Set("false_positive_rates", std::move(rates))
      .Set("confidence", kShownConfidence)
      .Set("verdict_confidence", kVerdictConfidence)
      .Set("tests", std::move(tests))
      .Set("not_tested", std::move(skipped))
      .Set("bounds", std::move(bounds))
      .Set("exceeds_bound", result.exceeds_bound())
      .Set("verdict", std::move(verdict));
}

std::vector<std::string> AttackVerdict(const AttackResult& result, const AttackedRun& run,
                                       const AttackSettings& settings) {
  std::vector<std::string> lines;
  if (result.bounds.empty()) {
    lines.push_back("nothing is promised for this run (see its labels), so there is no bound");
  } else if (result.exceeds_bound()) {
    lines.push_back(fmt::format(
        "THE BOUND IS EXCEEDED with confidence {:g} %: either the run did not do what its "
        "accounting says, or the candidates are not what this test takes them for; do not rely on "
        "epsilon before this is understood",
        100 * kVerdictConfidence));
  } else {
    lines.push_back("no attack found more members than epsilon allows a holder of the model");
  }
  for (const UnitTest& test : result.tests) {
    const std::string_view unit = accounting::UnitName(test.unit);
    if (test.unit != run.agreed().unit && !result.bounds.empty()) {
      lines.push_back(
          fmt::format("epsilon speaks of a {}, of which a {} is a part: the bound holds for the "
                      "test of unit {} too, and is seldom near it",
                      accounting::UnitName(run.agreed().unit), unit, unit));
    }
    const auto wanted = static_cast<uint64_t>(1 / kFalsePositiveRates[0]);
    if (test.non_members < wanted) {
      lines.push_back(
          fmt::format("unit {}: {} non-members cannot show a rate below {:.2g} %; where less is "
                      "allowed, nobody "
                      "innocent was accused",
                      unit, test.non_members, 100.0 / static_cast<double>(test.non_members)));
    }
    if (test.power.has_value() && !test.power->passed()) {
      lines.push_back(fmt::format(
          "unit {}: on a model that remembers its samples the same attack does not find a tenth of "
          "{} members while accusing 1 % of {} others: it PROVES NOTHING about this run",
          unit, test.power->members, test.power->non_members));
    }
  }
  if (settings.shadows < 64) {
    lines.push_back(
        fmt::format("{} shadow models are few; 64 or more make the likelihood ratio "
                    "what it is in the literature",
                    settings.shadows));
  }
  for (const std::string& reason : result.not_tested) lines.push_back("not tested: " + reason);
  lines.push_back(
      "an attack that finds little is no proof that no other finds more; the bound is the proof");
  return lines;
}

std::string AttackText(const AttackResult& result, const AttackedRun& run,
                       const AttackSettings& settings) {
  std::string out = fmt::format(
      "\nattacker    {} shadow models ({}, {} rounds), each on a random half, seed {}\n",
      settings.shadows, result.shadow_model, result.shadow_rounds, settings.seed);
  for (const UnitTest& test : result.tests) {
    out +=
        fmt::format("\nunit {}: {} members, {} that are not: {}\n", accounting::UnitName(test.unit),
                    test.members, test.non_members, WhoIsAsked(test));
    out += Header("members found, %");
    out += AttacksText(test.attacks, "");
    out += BoundsText(result.bounds);
    if (test.power.has_value()) {
      out += fmt::format(
          "  the same attack on a model that remembers ({} members, {} not, {} epochs)\n",
          test.power->members, test.power->non_members, test.power->epochs);
      out += AttacksText(test.power->attacks, ", power");
    }
  }
  out += fmt::format("\nIn brackets: {:g} % intervals (Clopper-Pearson; AUC: Hanley-McNeil).\n",
                     100 * kShownConfidence);
  for (const std::string& line : AttackVerdict(result, run, settings)) {
    out += fmt::format("- {}\n", line);
  }
  return out;
}

}  // namespace tacet::app
