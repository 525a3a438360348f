// Distributed work of one attempt: training the participants and contributing their updates.
#ifndef TACET_SIMULATION_COHORT_TRAINER_H_
#define TACET_SIMULATION_COHORT_TRAINER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/secagg/attempt.h"
#include "tacet/simulation/update_path.h"
#include "tacet/trainer/learner.h"

namespace tacet::simulation {

// Members that upload in an attempt, each list increasing.
struct DrawnCohort {
  std::span<const uint64_t> trained;
  std::span<const uint64_t> covers = {};  // were not drawn and upload zeros
};

// One upload of an attempt.
struct Seat {
  uint32_t place = 0;  // from 0, in the order in which the cohort is trained
  uint64_t client = 0;
  bool is_cover = false;

  friend bool operator==(const Seat&, const Seat&) = default;
};

// Share of one rank in an attempt.
struct CohortShare {
  std::vector<Seat> seats;  // may be none
  double mean_samples = 0;  // of a client, over all that are trained

  friend bool operator==(const CohortShare&, const CohortShare&) = default;
};

// A share for each of `ranks` ranks: together the cohort, their sizes differing by at most one,
// large clients first and covers last, so that nobody is left with much at the end.
std::vector<CohortShare> SplitCohort(const trainer::Learner& learner, const DrawnCohort& cohort,
                                     uint32_t ranks);

// Settings that must outlive a trainer.
struct TrainingTerms {
  const agreement::Manifest& manifest;
  const trainer::Learner& learner;
  const EntropyFactory& entropy;
  bool weigh_by_samples = false;
};

class CohortTrainer {
 public:
  // `threads` >= 1 worker threads.
  static absl::StatusOr<CohortTrainer> Create(const TrainingTerms& terms, int threads);

  // Trains `share` from `model` and gives every update to `path`; `note` hears of contributions
  // that failed, one call at a time. The seconds of all threads; Internal when training itself
  // failed.
  absl::StatusOr<double> Train(const CohortShare& share, const secagg::Attempt& attempt,
                               std::span<const float> model, UpdatePath& path,
                               const std::function<void(std::string_view)>& note);

  uint32_t threads() const { return static_cast<uint32_t>(trainers_.size()); }

 private:
  struct Work;  // what the threads of an attempt share

  explicit CohortTrainer(const TrainingTerms& terms) : terms_(terms) {}
  // Trains `seat` and gives its update to the path, from the memory that was trained into. An error
  // is that of training.
  absl::Status Play(const Seat& seat, trainer::Trainer& trainer, std::span<float> update,
                    Work& work) const;

  TrainingTerms terms_;
  std::vector<std::unique_ptr<trainer::Trainer>> trainers_;  // one a thread
};

}  // namespace tacet::simulation

#endif  // TACET_SIMULATION_COHORT_TRAINER_H_
