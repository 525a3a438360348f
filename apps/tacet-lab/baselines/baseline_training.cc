#include "apps/tacet-lab/baselines/baseline_training.h"

#include <memory>
#include <vector>

#include "tacet/agreement/cohort.h"
#include "tacet/base/status.h"

namespace tacet::app::baselines {

absl::StatusOr<trainer::Evaluation> TrainWithBaseline(const BaselinePlan& plan,
                                                      const trainer::Learner& learner,
                                                      const BaselineTrainingSpec& spec,
                                                      crypto::Random& random) {
  TACET_ASSIGN_OR_RETURN(const std::unique_ptr<trainer::Trainer> trainer, learner.NewTrainer());
  TACET_ASSIGN_OR_RETURN(agreement::ServerOptimizer optimizer,
                         agreement::ServerOptimizer::Create(spec.optimizer, learner.dimension()));
  std::vector<float> model = learner.InitialModel();
  std::vector<float> update(model.size());
  std::vector<int64_t> encoded(model.size()), sums(model.size());
  std::vector<double> mean(model.size());
  for (uint32_t round = 0; round < spec.rounds; ++round) {
    const std::vector<uint64_t> cohort = agreement::DrawCohort(
        accounting::Sampling::kFixedSize, learner.clients(), spec.cohort, random);
    sums.assign(sums.size(), 0);
    for (const uint64_t client : cohort) {
      TACET_RETURN_IF_ERROR(trainer->Train(model, round, client, update));
      plan.Encode(update, random, encoded);
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += encoded[i];
    }
    plan.DecodeMean(sums, static_cast<uint32_t>(cohort.size()), mean);
    optimizer.Apply(round, mean, model);
  }
  return learner.Evaluate(model, 1);
}

}  // namespace tacet::app::baselines
