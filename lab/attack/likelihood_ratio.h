// Likelihood ratio attack (Carlini et al. 2022, online form). It tests whether the model's output
// on a candidate is more likely from models that were trained on the candidate than from models
// that were not.
#ifndef TACET_LAB_ATTACK_LIKELIHOOD_RATIO_H_
#define TACET_LAB_ATTACK_LIKELIHOOD_RATIO_H_

#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace tacet::lab::attack {

// One shadow model: what it says of every candidate (log odds of the true label, or their mean over
// a candidate's samples), and which of them it was trained on.
struct ShadowModel {
  std::vector<double> confidences;
  std::vector<bool> trained_on;
};

// For each candidate
//   log N(x; m_in, v_in) - log N(x; m_out, v_out),
// x what the attacked model says of it, m and v mean and variance over the shadow models that were,
// or were not, trained on it. Few models tell a candidate's own variance badly, and a wrong one
// does most harm where few false positives are allowed: v is drawn towards the mean variance of
// all candidates as if 16 more models had shown that one.
//
// Scores that are not finite (a model that diverged) are left out of the means. A candidate with
// fewer than two shadow models on one of the sides scores 0: nothing is known. InvalidArgument when
// the sizes differ or there are fewer than four shadow models.
absl::StatusOr<std::vector<double>> LikelihoodRatios(std::span<const double> attacked,
                                                     std::span<const ShadowModel> shadows);

}  // namespace tacet::lab::attack

#endif  // TACET_LAB_ATTACK_LIKELIHOOD_RATIO_H_
