// Training of shadow models as an attacker would do it: the federation's recipe on other samples,
// in the clear.
#ifndef TACET_LAB_ATTACK_SHADOW_TRAINING_H_
#define TACET_LAB_ATTACK_SHADOW_TRAINING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/data/dataset.h"
#include "tacet/models/architecture.h"
#include "tacet/training/learner.h"

namespace tacet::lab::attack {

// A run's schedule, with what depends on the number of clients said as a share.
struct ShadowRecipe {
  // Model, local training, unit; the run's own seed, so that shadows begin where the run began.
  training::LearnerSpec learner;
  // Clipping, coordinate bound, optimiser, rounds, how cohorts and units are drawn.
  agreement::ManifestSpec federation;
  bool weigh_by_samples = false;
  double cohort_share = 1;   // of the clients, in a round; unit client
  double average_noise = 0;  // standard deviation of the noise in a value of a round's average
};

// The recipe of a run: `agreed` with its noise, clients and cohort.
ShadowRecipe RecipeOf(const agreement::ManifestSpec& agreed, const training::LearnerSpec& learner,
                      bool weigh_by_samples);

// A model trained by `recipe` on all of `dataset`: cohorts, local training, clipping and server
// steps are the federation's, noise is added to each average at once. (seed, number) decide
// cohorts, drawn units and noise, which need not be secret here.
absl::StatusOr<std::vector<float>> TrainShadow(const ShadowRecipe& recipe, data::Dataset dataset,
                                               uint64_t seed, uint64_t number);

}  // namespace tacet::lab::attack

#endif  // TACET_LAB_ATTACK_SHADOW_TRAINING_H_
