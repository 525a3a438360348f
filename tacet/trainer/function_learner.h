// Learner whose training and evaluation are functions of the caller: a model of any kind.
#ifndef TACET_TRAINER_FUNCTION_LEARNER_H_
#define TACET_TRAINER_FUNCTION_LEARNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/trainer/learner.h"

namespace tacet::trainer {

// Name of the model kind in an agreement. The architecture is known to its users only; the
// agreement has its dimension, the digest of its initial parameters, and a text that names it.
inline constexpr std::string_view kExternalModel = "external";

// Share of the agreed clip norm that is kept for rounding: `sum_clipped` is told C (1 - 2^-8). A
// sum formed in binary64 and rounded to binary32 moves by at most 2^-23 b sqrt(d) <= 2^-9 C more
// than the unit's part (Trainer::SumClippedGradients), so by less than C in all.
inline constexpr double kRoundingRoom = 0x1p-8;

struct FunctionLearnerSpec {
  std::vector<float> initial;  // common start, d >= 1 finite values
  uint64_t clients = 0;        // M >= 1
  accounting::Unit unit = accounting::Unit::kClient;
  // By client, for unit record or person: records (persons) to train on. Else empty.
  std::vector<uint64_t> units = {};
  // As those of SimulationFunctions (include/tacet/simulation.h). Unit client: writes new minus old
  // parameters. Called from several threads.
  std::function<absl::Status(uint32_t round, uint64_t client, std::span<const float> model,
                             std::span<float> update)>
      train = {};
  // Unit record or person: as Trainer::SumClippedGradients, with each part clipped to `clip_norm`,
  // which kRoundingRoom has lowered.
  std::function<absl::Status(uint64_t client, std::span<const uint32_t> units, double clip_norm,
                             std::span<const float> model, std::span<float> sum)>
      sum_clipped = {};
  // Nothing: an evaluation of zeros over no samples.
  std::function<absl::StatusOr<Evaluation>(std::span<const float> model)> evaluate = {};
};

// The update that a function of the caller wrote for `client`. InvalidArgument for a value that is
// not finite, and for a sum whose norm is more than `units` drawn units can have after clipping.
absl::Status CheckUpdate(std::span<const float> update, uint64_t client);
absl::Status CheckSum(std::span<const float> sum, uint64_t client, uint64_t units,
                      double clip_norm);

// InvalidArgument for no clients, no parameters, initial values that are not finite, or a missing
// function. Its trainers return the errors of CheckUpdate and CheckSum.
absl::StatusOr<std::unique_ptr<Learner>> NewFunctionLearner(FunctionLearnerSpec spec);

}  // namespace tacet::trainer

#endif  // TACET_TRAINER_FUNCTION_LEARNER_H_
