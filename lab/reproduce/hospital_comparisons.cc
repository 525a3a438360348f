#include "lab/reproduce/hospital_comparisons.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "fmt/format.h"

namespace tacet::app::reproduce {
namespace {

using Trials = std::vector<HospitalTrial>;

std::optional<double> OwnAuc(const HospitalTrial& trial, uint64_t hospital) {
  return trial.by_hospital[hospital].auc;
}

// Results with which the others are compared.
struct Baselines {
  std::vector<const Trials*> alone;  // by hospital
  const Trials* pooled = nullptr;
};

// Differences of a statistic over the splits where it is known.
class Differences {
 public:
  void Add(std::optional<double> together, std::optional<double> other) {
    if (together.has_value() && other.has_value()) values_.push_back(*together - *other);
  }
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<double> values_;
};

double MeanAuc(const Trials& trials) {
  double sum = 0;
  double count = 0;
  for (const HospitalTrial& trial : trials) {
    if (!trial.all.auc) continue;
    sum += *trial.all.auc;
    count += 1;
  }
  return count > 0 ? sum / count : 0;
}

// AUC on all patients of the hospitals alone in one split: their mean and the largest.
struct AloneInSplit {
  std::optional<double> mean, best;
};
AloneInSplit AloneIn(const Baselines& baselines, size_t split) {
  double sum = 0;
  double best = 0;
  for (const Trials* const alone : baselines.alone) {
    const std::optional<double>& auc = (*alone)[split].all.auc;
    if (!auc) return {};
    sum += *auc;
    best = std::max(best, *auc);
  }
  return {.mean = sum / static_cast<double>(baselines.alone.size()), .best = best};
}

std::vector<HospitalComparison> CompareOne(double epsilon, const Trials& together,
                                           const Baselines& baselines,
                                           const std::vector<std::string>& names,
                                           double test_over_train) {
  const uint64_t hospitals = names.size();
  size_t best = 0;
  for (size_t h = 1; h < hospitals; ++h) {
    if (MeanAuc(*baselines.alone[h]) > MeanAuc(*baselines.alone[best])) best = h;
  }
  Differences mean, best_alone, best_of_split, pooled, own;
  std::vector<Differences> by_hospital(hospitals);
  for (size_t split = 0; split < together.size(); ++split) {
    const HospitalTrial& trial = together[split];
    const AloneInSplit alone = AloneIn(baselines, split);
    mean.Add(trial.all.auc, alone.mean);
    best_of_split.Add(trial.all.auc, alone.best);
    best_alone.Add(trial.all.auc, (*baselines.alone[best])[split].all.auc);
    pooled.Add(trial.all.auc, (*baselines.pooled)[split].all.auc);
    std::optional<double> own_together = 0;
    std::optional<double> own_alone = 0;
    const auto add = [&](std::optional<double>& sum, std::optional<double> auc) {
      sum = sum && auc ? std::optional(*sum + *auc / static_cast<double>(hospitals)) : std::nullopt;
    };
    for (uint64_t h = 0; h < hospitals; ++h) {
      const std::optional<double> with = OwnAuc(trial, h);
      const std::optional<double> without = OwnAuc((*baselines.alone[h])[split], h);
      by_hospital[h].Add(with, without);
      add(own_together, with);
      add(own_alone, without);
    }
    own.Add(own_together, own_alone);
  }
  std::vector<HospitalComparison> comparisons;
  const auto say = [&](std::string patients, std::string against, const Differences& differences,
                       std::string hospital = "") {
    comparisons.push_back(
        {.epsilon = epsilon,
         .patients = std::move(patients),
         .against = std::move(against),
         .hospital = std::move(hospital),
         .difference = ResampledDifferenceOf(differences.values(), test_over_train)});
  };
  say("all", "alone-mean", mean);
  say("all", "alone-best", best_alone, names[best]);
  say("all", "alone-best-of-split", best_of_split);
  say("all", "pooled", pooled);
  say("own", "alone", own);
  for (uint64_t h = 0; h < hospitals; ++h) say(names[h], "alone", by_hospital[h]);
  return comparisons;
}

}  // namespace

std::vector<HospitalComparison> CompareHospitals(const std::vector<HospitalVariant>& variants,
                                                 const std::vector<Trials>& trials,
                                                 const std::vector<std::string>& hospitals,
                                                 double test_over_train) {
  Baselines baselines;
  baselines.alone.resize(hospitals.size());
  for (size_t v = 0; v < variants.size(); ++v) {
    if (variants[v].name == "alone") baselines.alone[*variants[v].hospital] = &trials[v];
    if (variants[v].name == "pooled") baselines.pooled = &trials[v];
  }
  std::vector<HospitalComparison> comparisons;
  for (size_t v = 0; v < variants.size(); ++v) {
    if (variants[v].name != "record") continue;
    std::ranges::move(
        CompareOne(variants[v].epsilon, trials[v], baselines, hospitals, test_over_train),
        std::back_inserter(comparisons));
  }
  return comparisons;
}

std::string ComparisonsText(const std::vector<HospitalComparison>& comparisons, double epsilon) {
  std::string text = fmt::format(
      "AUC of the federation with each record protected, epsilon {:g}, minus:\n"
      "{:<26}{:<44}{:>10}{:>10}{:>22}{:>8}\n",
      epsilon, "on the patients of", "the model of", "mean", "error", "95 % interval", "above");
  for (const HospitalComparison& comparison : comparisons) {
    if (comparison.epsilon != epsilon) continue;
    const ResampledDifference& difference = comparison.difference;
    text += fmt::format("{:<26}{:<44}{:>10.4f}{:>10.4f}{:>22}{:>8}\n", comparison.patients,
                        comparison.hospital.empty()
                            ? comparison.against
                            : fmt::format("{} ({})", comparison.against, comparison.hospital),
                        difference.mean, difference.standard_error,
                        fmt::format("{:.4f} to {:.4f}", difference.low, difference.high),
                        fmt::format("{}/{}", difference.above, difference.splits));
  }
  return text;
}

base::JsonValue ComparisonsJson(const std::vector<HospitalComparison>& comparisons) {
  base::JsonValue list = base::JsonValue::MakeArray();
  for (const HospitalComparison& comparison : comparisons) {
    list.Append(
        base::JsonValue::MakeObject()
            .Set("epsilon", std::isfinite(comparison.epsilon) ? base::JsonValue(comparison.epsilon)
                                                              : base::JsonValue())
            .Set("patients", comparison.patients)
            .Set("against", comparison.against)
            .Set("hospital", comparison.hospital.empty() ? base::JsonValue()
                                                         : base::JsonValue(comparison.hospital))
            .Set("auc_difference", ResampledDifferenceJson(comparison.difference)));
  }
  return list;
}

}  // namespace tacet::app::reproduce
