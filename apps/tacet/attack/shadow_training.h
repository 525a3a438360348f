// Training as somebody does who wants to know what the federation's training does to a model: its
// recipe on other samples, in the clear.
#ifndef TACET_APPS_TACET_ATTACK_SHADOW_TRAINING_H_
#define TACET_APPS_TACET_ATTACK_SHADOW_TRAINING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/federation/manifest.h"
#include "tacet/learning/architecture.h"
#include "tacet/learning/dataset.h"
#include "tacet/learning/learner.h"

namespace tacet::app {

// A run's schedule, with what depends on the number of owners said as a share.
struct ShadowRecipe {
  // Model, local training, unit; the run's own seed, so that shadows begin where the run began.
  learning::LearnerSpec learner;
  // Clipping, coordinate bound, optimiser, rounds, how cohorts and units are drawn.
  federation::ManifestSpec federation;
  bool weigh_by_samples = false;
  double cohort_share = 1;   // of the owners, in a round; unit client
  double average_noise = 0;  // standard deviation of the noise in a value of a round's average
};

// The recipe of a run: `agreed` with its noise, clients and cohort.
ShadowRecipe RecipeOf(const federation::ManifestSpec& agreed, const learning::LearnerSpec& learner,
                      bool weigh_by_samples);

// A model trained by `recipe` on all of `dataset`: cohorts, local training, clipping and server
// steps are the federation's, noise is added to each average at once. (seed, number) decide
// cohorts, drawn units and noise, which need not be secret here.
absl::StatusOr<std::vector<float>> TrainShadow(const ShadowRecipe& recipe,
                                               learning::Dataset dataset, uint64_t seed,
                                               uint64_t number);

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_ATTACK_SHADOW_TRAINING_H_
