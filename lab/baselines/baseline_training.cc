#include "lab/baselines/baseline_training.h"

#include <memory>
#include <utility>
#include <vector>

#include "tacet/agreement/cohort.h"
#include "tacet/base/parallel.h"
#include "tacet/base/status.h"

namespace tacet::app::baselines {
namespace {

// Trains and encodes some of a cohort's participants, and adds what it encoded.
class Worker {
 public:
  static absl::StatusOr<Worker> Create(const BaselinePlan& plan, const trainer::Learner& learner,
                                       crypto::Entropy& entropy) {
    TACET_ASSIGN_OR_RETURN(std::unique_ptr<trainer::Trainer> trainer, learner.NewTrainer());
    return Worker(plan, learner.dimension(), std::move(trainer), entropy);
  }

  absl::Status Add(std::span<const float> model, uint32_t round, uint64_t client) {
    TACET_RETURN_IF_ERROR(trainer_->Train(model, round, client, update_));
    plan_->Encode(update_, random_, encoded_);
    for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += encoded_[i];
    return absl::OkStatus();
  }
  // Adds its sums to `all`; they are zeros then.
  void MoveSumsTo(std::vector<int64_t>& all) {
    for (size_t i = 0; i < sums_.size(); ++i) all[i] += std::exchange(sums_[i], 0);
  }

 private:
  Worker(const BaselinePlan& plan, uint64_t dimension, std::unique_ptr<trainer::Trainer> trainer,
         crypto::Entropy& entropy)
      : plan_(&plan),
        trainer_(std::move(trainer)),
        random_(crypto::Random::FromEntropy(entropy)),
        update_(dimension),
        encoded_(dimension),
        sums_(dimension) {}

  const BaselinePlan* plan_;
  std::unique_ptr<trainer::Trainer> trainer_;
  crypto::Random random_;
  std::vector<float> update_;
  std::vector<int64_t> encoded_, sums_;
};

}  // namespace

absl::StatusOr<trainer::Evaluation> TrainWithBaseline(const BaselinePlan& plan,
                                                      const trainer::Learner& learner,
                                                      const BaselineTrainingSpec& spec,
                                                      crypto::Entropy& entropy) {
  std::vector<Worker> workers;
  for (size_t i = 0; i < spec.threads; ++i) {
    TACET_ASSIGN_OR_RETURN(Worker worker, Worker::Create(plan, learner, entropy));
    workers.push_back(std::move(worker));
  }
  TACET_ASSIGN_OR_RETURN(agreement::ServerOptimizer optimizer,
                         agreement::ServerOptimizer::Create(spec.optimizer, learner.dimension()));
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  std::vector<float> model = learner.InitialModel();
  std::vector<int64_t> sums(model.size());
  std::vector<double> mean(model.size());
  std::vector<absl::Status> statuses(workers.size());
  for (uint32_t round = 0; round < spec.rounds; ++round) {
    const std::vector<uint64_t> cohort = agreement::DrawCohort(
        accounting::Sampling::kFixedSize, learner.clients(), spec.cohort, random);
    base::RunOnThreads(workers.size(), [&](size_t i) {
      for (size_t k = i; k < cohort.size() && statuses[i].ok(); k += workers.size()) {
        statuses[i] = workers[i].Add(model, round, cohort[k]);
      }
    });
    sums.assign(sums.size(), 0);
    for (size_t i = 0; i < workers.size(); ++i) {
      TACET_RETURN_IF_ERROR(statuses[i]);
      workers[i].MoveSumsTo(sums);
    }
    plan.DecodeMean(sums, static_cast<uint32_t>(cohort.size()), mean);
    optimizer.Apply(round, mean, model);
    spec.on_round(round + 1);
  }
  return learner.Evaluate(model, static_cast<int>(spec.threads));
}

}  // namespace tacet::app::baselines
