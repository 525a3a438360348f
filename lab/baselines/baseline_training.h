// Training with a baseline mechanism, in the clear: the accuracy that its noise leaves.
#ifndef TACET_LAB_BASELINES_BASELINE_TRAINING_H_
#define TACET_LAB_BASELINES_BASELINE_TRAINING_H_

#include <cstddef>
#include <functional>

#include "absl/status/statusor.h"

#include "lab/baselines/baseline_plan.h"
#include "tacet/agreement/server_optimizer.h"
#include "tacet/crypto/random.h"
#include "tacet/trainer/learner.h"

namespace tacet::app::baselines {

struct BaselineTrainingSpec {
  uint32_t rounds = 0;  // T
  uint64_t cohort = 0;  // K, drawn again for each round
  agreement::ServerOptimizerSpec optimizer;
  size_t threads = 1;
  std::function<void(uint32_t done)> on_round = [](uint32_t) {};  // after each round
};

// Accuracy on held-out samples after T rounds: each participant's update is encoded by the plan,
// encodings are added as integers, and the mean goes to the server's optimiser.
absl::StatusOr<trainer::Evaluation> TrainWithBaseline(const BaselinePlan& plan,
                                                      const trainer::Learner& learner,
                                                      const BaselineTrainingSpec& spec,
                                                      crypto::Entropy& entropy);

}  // namespace tacet::app::baselines

#endif  // TACET_LAB_BASELINES_BASELINE_TRAINING_H_
