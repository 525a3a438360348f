// Interface between a federation and a model with the clients' data.
#ifndef TACET_TRAINER_LEARNER_H_
#define TACET_TRAINER_LEARNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"

namespace tacet::trainer {

// Quality of a model on samples that no client trained on. A figure that was not measured is
// absent.
struct Evaluation {
  // Share of held-out samples classified correctly, in [0, 1].
  std::optional<double> accuracy = std::nullopt;
  std::optional<double> loss = std::nullopt;  // mean cross-entropy in nats
  uint64_t samples = 0;                       // held-out samples of all clients
  // Two classes only: the probability that a sample of class 1 is scored above one of class 0, a
  // tie counting half; absent when one of the classes has no sample.
  std::optional<double> auc = std::nullopt;
};

// One worker's training state; a thread has its own.
class Trainer {
 public:
  virtual ~Trainer() = default;

  // Trains on one client's samples from `model` and writes update[i] = new_i - old_i;
  // model.size() == update.size() == Learner::dimension(). The result depends only on
  // (model, round, client) and the learner's seed, never on the thread or on what was trained
  // before. A client without samples yields the zero update.
  virtual absl::Status Train(std::span<const float> model, uint32_t round, uint64_t client,
                             std::span<float> update) = 0;

  // Update of a site where the unit is a record or a person, before it is clamped and noised:
  //   sum = - sum over u in `units` of g_u min(1, clip_norm / ||g_u||),
  // g_u the gradient of the loss at `model`, for a person added over the person's records. `units`
  // are increasing indices below Learner::units(client); none give zeros. A unit whose gradient is
  // not finite contributes zeros. Whatever a unit's data are, and whether it is in `units` or not,
  // `sum` after clamping to [-b, b] moves by at most clip_norm, rounding included, as long as
  // b sqrt(d) <= 2^14 clip_norm. clip_norm = +infinity does not clip.
  virtual absl::Status SumClippedGradients(std::span<const float> model, uint64_t client,
                                           std::span<const uint32_t> units, double clip_norm,
                                           std::span<float> sum) = 0;
};

// A model with the data of all clients.
class Learner {
 public:
  virtual ~Learner() = default;

  virtual uint64_t dimension() const = 0;  // d, the number of parameters
  virtual uint64_t clients() const = 0;    // M
  virtual uint64_t training_samples(uint64_t client) const = 0;
  // The unit that its trainers' SumClippedGradients clips (record or person), and the number of
  // them that a client has to train on; client when the learner was made for updates of whole
  // clients.
  virtual accounting::Unit unit() const = 0;
  virtual uint64_t units(uint64_t client) const = 0;
  // The common start of training, d values; the same for the same seed.
  virtual std::vector<float> InitialModel() const = 0;
  // Which parameters a model here consists of, where these are a part of a larger one: their names,
  // with "," between; empty for all. The others stay as they were at the start.
  virtual std::string federated_part() const { return ""; }
  // All parameters, of which `model` are the federated ones.
  virtual std::vector<float> WholeModel(std::span<const float> model) const {
    return {model.begin(), model.end()};
  }
  virtual absl::StatusOr<std::unique_ptr<Trainer>> NewTrainer() const = 0;
  // Over the held-out samples of all clients, on `threads` threads; the same result for any number.
  virtual absl::StatusOr<Evaluation> Evaluate(std::span<const float> model, int threads) const = 0;
};

}  // namespace tacet::trainer

#endif  // TACET_TRAINER_LEARNER_H_
