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

struct CohortTrainer::Work {
  const CohortShare& share;
  const secagg::Attempt& attempt;
  std::span<const float> model;
  UpdatePath& path;
  std::atomic<size_t> next = 0;  // of the share's seats
  base::SharedSeconds training = {};
  base::Mutex mutex = {};
  const std::function<void(std::string_view)>& note ABSL_GUARDED_BY(mutex);
  absl::Status failure ABSL_GUARDED_BY(mutex) = {};  // of training; the first one ends the run
};

absl::Status CohortTrainer::Play(const Seat& seat, trainer::Trainer& trainer,
                                 std::span<float> update, Work& work) const {
  const base::Stopwatch watch;
  if (seat.is_cover) {
    std::ranges::fill(update, 0.0F);
  } else {
    const secagg::AttemptNumber& number = work.attempt.number;
    const std::unique_ptr<crypto::Entropy> coins = terms_.entropy(
        fmt::format("units/{}/{}/{}/{}", number.epoch, number.round, number.attempt, seat.client));
    const trainer::AttemptContext context = trainer::ContextOf(
        terms_.manifest.spec(), number, terms_.learner.units(seat.client), *coins);
    TACET_RETURN_IF_ERROR(trainer::Train(trainer, seat.client, context, work.model, update));
    if (terms_.weigh_by_samples && work.share.mean_samples > 0) {
      const auto weight =
          static_cast<float>(static_cast<double>(terms_.learner.training_samples(seat.client)) /
                             work.share.mean_samples);
      for (float& value : update) value *= weight;
    }
  }
  work.training.Add(watch.Seconds());
  if (const absl::Status sent = work.path.Contribute(seat.place, seat.client, update); !sent.ok()) {
    const base::MutexLock lock(work.mutex);
    work.note(fmt::format("an upload was not accepted: {}", base::Message(sent)));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> CohortTrainer::Train(const CohortShare& share,
                                            const secagg::Attempt& attempt,
                                            std::span<const float> model, UpdatePath& path,
                                            const std::function<void(std::string_view)>& note) {
  Work work{.share = share, .attempt = attempt, .model = model, .path = path, .note = note};
  const auto play = [&](trainer::Trainer& trainer) {
    std::vector<float> update(terms_.manifest.spec().dimension);
    for (size_t i = work.next++; i < share.seats.size(); i = work.next++) {
      const absl::Status trained = Play(share.seats[i], trainer, update, work);
      if (trained.ok()) continue;
      const base::MutexLock lock(work.mutex);
      // A wrong value is the caller's; no other attempt can help against either.
      const bool wrong = trained.code() == absl::StatusCode::kInvalidArgument;
      work.failure =
          absl::Status(wrong ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kInternal,
                       fmt::format("training failed: {}", base::Message(trained)));
      work.next = share.seats.size();
      return;
    }
  };
  base::RunOnThreads(trainers_.size(), [&](size_t i) { play(*trainers_[i]); });
  const base::MutexLock lock(work.mutex);
  TACET_RETURN_IF_ERROR(work.failure);
  return work.training.Total();
}

}  // namespace tacet::simulation
