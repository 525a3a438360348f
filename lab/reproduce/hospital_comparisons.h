// Paired comparisons of federated training of hospitals with its alternatives.
#ifndef TACET_LAB_REPRODUCE_HOSPITAL_COMPARISONS_H_
#define TACET_LAB_REPRODUCE_HOSPITAL_COMPARISONS_H_

#include <string>
#include <vector>

#include "lab/reproduce/hospital_trials.h"
#include "lab/reproduce/resampled_difference.h"
#include "tacet/base/json.h"

namespace tacet::app::reproduce {

// AUC of the federation with each record protected, minus the AUC of the other model on the same
// held-out patients of the same split.
struct HospitalComparison {
  double epsilon = 0;    // of the federation; infinite without noise
  std::string patients;  // "all"; "own": the mean over hospitals of each one's own; or a hospital
  std::string against;   // "alone-mean", "alone-best", "alone-best-of-split", "pooled", "alone"
  std::string hospital;  // alone-best: which one; else empty
  ResampledDifference difference;
};

// For every epsilon of variant "record":
//   all   against the mean of the hospitals alone (alone-mean), the hospital that is best on
//   average
//         over the splits (alone-best), the best one of each split, which nobody can know
//         beforehand (alone-best-of-split), and all data in one place (pooled);
//   own   against each hospital's own model, in the splits where every hospital has an AUC;
//   each hospital's own patients against its own model.
// trials[v][i] is of variants[v] in split i; `hospitals` are their names. Splits without an AUC are
// left out. `test_over_train` as for ResampledDifferenceOf.
std::vector<HospitalComparison> CompareHospitals(
    const std::vector<HospitalVariant>& variants,
    const std::vector<std::vector<HospitalTrial>>& trials,
    const std::vector<std::string>& hospitals, double test_over_train);

// A line each for one epsilon.
std::string ComparisonsText(const std::vector<HospitalComparison>& comparisons, double epsilon);
base::JsonValue ComparisonsJson(const std::vector<HospitalComparison>& comparisons);

}  // namespace tacet::app::reproduce

#endif  // TACET_LAB_REPRODUCE_HOSPITAL_COMPARISONS_H_
