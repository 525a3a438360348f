// Learner of a federation: a model, local training by plain SGD, and evaluation.
#ifndef TACET_TRAINING_LEARNER_H_
#define TACET_TRAINING_LEARNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/data/dataset.h"
#include "tacet/models/network.h"
#include "tacet/trainer/learner.h"

namespace tacet::training {

struct LearnerSpec {
  std::string model = "femnist-cnn";     // one of docs/formats/models.md
  std::vector<uint64_t> hidden = {128};  // widths of the hidden layers, mlp only
  uint32_t classes = 0;                  // 0: as many as the data set has; more are allowed
  // Layers that are trained and sent, by name (federated_part.h); none: all. Unit client only.
  std::vector<std::string> federated = {};
  std::vector<float> start = {};  // all parameters at the start; none: drawn from `seed`
  // Fixes initialisation, the split and the batches; never noise, keys or cohorts.
  uint64_t seed = 1;
  double held_out_share = 0.1;   // of each client's samples, rounded, in [0, 0.9]
  double last_layer_gain = 0.2;  // factor on the initial weights of the last layer, > 0
  uint32_t batch = 20;           // 1 to 1024; the last batch of an epoch may be smaller
  uint32_t local_epochs = 1;     // 1 to 1000
  uint32_t sample_cap = 0;       // samples a client uses in a round, drawn again; 0: all
  // Local rate of round t = 0 .. rounds-1: learning_rate * (final / learning_rate)^(t /
  // (rounds-1)); constant for one round, `final` from round `rounds` on.
  double learning_rate = 0.15;
  double learning_rate_final = 0.03;
  uint32_t rounds = 100;
  // The unit that the trainers clip (trainer/learner.h). Record and person: one sum of gradients a
  // round, in f32; the fields from `batch` to `learning_rate_final` and `precision` play no part in
  // it.
  accounting::Unit unit = accounting::Unit::kClient;
  models::Precision precision = models::Precision::kAuto;  // of training and evaluation
};

// The learner owns the data set; it must outlive its trainers. InvalidArgument names the field that
// is out of range, or says why the model does not fit the data.
//
// Results are the same for the same inputs whatever the thread, the number of threads or what was
// trained before, on one processor kind and TACET_SIMD; another instruction set rounds differently.
absl::StatusOr<std::unique_ptr<trainer::Learner>> NewLearner(const LearnerSpec& spec,
                                                             data::Dataset dataset);

}  // namespace tacet::training

#endif  // TACET_TRAINING_LEARNER_H_
