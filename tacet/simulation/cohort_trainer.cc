#include "tacet/simulation/cohort_trainer.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "tacet/base/mutex.h"
#include "tacet/base/parallel.h"
#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"
#include "tacet/trainer/learner_updates.h"

namespace tacet::simulation {

std::vector<CohortShare> SplitCohort(const trainer::Learner& learner, const DrawnCohort& cohort,
                                     uint32_t ranks) {
  std::vector<uint64_t> order(cohort.trained.begin(), cohort.trained.end());
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](uint64_t client) { return learner.training_samples(client); });
  double mean_samples = 0;
  for (const uint64_t client : cohort.trained) {
    mean_samples += static_cast<double>(learner.training_samples(client)) /
                    static_cast<double>(cohort.trained.size());
  }
  order.insert(order.end(), cohort.covers.begin(), cohort.covers.end());
  std::vector<CohortShare> shares(ranks);
  for (CohortShare& share : shares) share.mean_samples = mean_samples;
  for (size_t place = 0; place < order.size(); ++place) {
    shares[place % ranks].seats.push_back({.place = static_cast<uint32_t>(place),
                                           .client = order[place],
                                           .is_cover = place >= cohort.trained.size()});
  }
  return shares;
}

absl::StatusOr<CohortTrainer> CohortTrainer::Create(const TrainingTerms& terms, int threads) {
  CohortTrainer trainer(terms);
  for (int thread = 0; thread < threads; ++thread) {
    TACET_ASSIGN_OR_RETURN(auto of_thread, terms.learner.NewTrainer());
    trainer.trainers_.push_back(std::move(of_thread));
  }
  return trainer;
}

absl::Status CohortTrainer::TrainSeat(const CohortShare& share, const secagg::Attempt& attempt,
                                      std::span<const float> model, const Seat& seat,
                                      trainer::Trainer& trainer, std::span<float> update) const {
  const agreement::ManifestSpec& spec = terms_.manifest.spec();
  const uint64_t client = seat.client;
  if (seat.is_cover) {
    std::ranges::fill(update, 0.0F);
    return absl::OkStatus();
  }
  if (spec.privacy.unit != accounting::Unit::kClient) {
    const std::unique_ptr<crypto::Entropy> entropy =
        terms_.entropy(fmt::format("units/{}/{}/{}/{}", attempt.number.epoch, attempt.number.round,
                                   attempt.number.attempt, client));
    const trainer::AttemptContext context =
        trainer::ContextOf(spec, attempt.number, terms_.learner.units(client), *entropy);
    return trainer::Train(trainer, client, context, model, update);
  }
  TACET_RETURN_IF_ERROR(trainer.Train(model, attempt.number.round, client, update));
  if (terms_.weigh_by_samples && share.mean_samples > 0) {
    const auto weight = static_cast<float>(
        static_cast<double>(terms_.learner.training_samples(client)) / share.mean_samples);
    for (float& value : update) value *= weight;
  }
  return absl::OkStatus();
}

absl::StatusOr<double> CohortTrainer::Train(const CohortShare& share,
                                            const secagg::Attempt& attempt,
                                            std::span<const float> model, UpdatePath& path,
                                            const std::function<void(std::string_view)>& note) {
  std::atomic<size_t> next = 0;
  base::SharedSeconds training;
  struct {
    base::Mutex mutex;
    absl::Status failure ABSL_GUARDED_BY(mutex);  // of training itself; the first one ends the run
  } shared;

  const auto work = [&](trainer::Trainer& trainer) {
    std::vector<float> update(terms_.manifest.spec().dimension);
    for (size_t i = next++; i < share.seats.size(); i = next++) {
      const Seat& seat = share.seats[i];
      const base::Stopwatch watch;
      const absl::Status trained = TrainSeat(share, attempt, model, seat, trainer, update);
      if (!trained.ok()) {
        const base::MutexLock lock(shared.mutex);
        // A wrong value is the caller's; no other attempt can help against either.
        const bool wrong = trained.code() == absl::StatusCode::kInvalidArgument;
        shared.failure =
            absl::Status(wrong ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kInternal,
                         fmt::format("training failed: {}", base::Message(trained)));
        next = share.seats.size();
        return;
      }
      training.Add(watch.Seconds());
      if (const absl::Status sent = path.Contribute(seat.place, seat.client, update); !sent.ok()) {
        const base::MutexLock lock(shared.mutex);
        note(fmt::format("an upload was not accepted: {}", base::Message(sent)));
      }
    }
  };
  base::RunOnThreads(trainers_.size(), [&](size_t i) { work(*trainers_[i]); });
  const base::MutexLock lock(shared.mutex);
  TACET_RETURN_IF_ERROR(shared.failure);
  return training.Total();
}

}  // namespace tacet::simulation
