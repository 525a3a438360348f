#include "tacet/trainer/function_learner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tacet/base/status.h"

namespace tacet::trainer {
namespace {

// All of their keys are in this process.
constexpr uint64_t kMaxClients = uint64_t{1} << 24;

absl::Status CheckFinite(std::span<const float> values, std::string_view what, uint64_t client) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    return base::InvalidArgument(
        "{} of client {}: value {} is {}, not a finite number; correct its training, such as by a "
        "lower learning rate, or return zeros for it",
        what, client, i, values[i]);
  }
  return absl::OkStatus();
}

class FunctionTrainer final : public Trainer {
 public:
  explicit FunctionTrainer(const FunctionLearnerSpec& spec) : spec_(spec) {}

  absl::Status Train(std::span<const float> model, uint32_t round, uint64_t client,
                     std::span<float> update) override {
    TACET_RETURN_IF_ERROR(spec_.train(round, client, model, update));
    return CheckUpdate(update, client);
  }

  absl::Status SumClippedGradients(std::span<const float> model, uint64_t client,
                                   std::span<const uint32_t> units, double clip_norm,
                                   std::span<float> sum) override {
    TACET_RETURN_IF_ERROR(
        spec_.sum_clipped(client, units, clip_norm * (1 - kRoundingRoom), model, sum));
    return CheckSum(sum, client, units.size(), clip_norm);
  }

 private:
  const FunctionLearnerSpec& spec_;
};

class FunctionLearner final : public Learner {
 public:
  explicit FunctionLearner(FunctionLearnerSpec spec) : spec_(std::move(spec)) {}

  uint64_t dimension() const override { return spec_.initial.size(); }
  uint64_t clients() const override { return spec_.clients; }
  uint64_t training_samples(uint64_t client) const override { return units(client); }
  accounting::Unit unit() const override { return spec_.unit; }
  uint64_t units(uint64_t client) const override {
    return client < spec_.units.size() ? spec_.units[client] : 1;
  }
  std::vector<float> InitialModel() const override { return spec_.initial; }
  absl::StatusOr<std::unique_ptr<Trainer>> NewTrainer() const override {
    return std::make_unique<FunctionTrainer>(spec_);
  }
  absl::StatusOr<Evaluation> Evaluate(std::span<const float> model,
                                      int /*threads*/) const override {
    if (!spec_.evaluate) return Evaluation();
    return spec_.evaluate(model);
  }

 private:
  FunctionLearnerSpec spec_;
};

}  // namespace

absl::Status CheckUpdate(std::span<const float> update, uint64_t client) {
  return CheckFinite(update, "the update", client);
}

absl::Status CheckSum(std::span<const float> sum, uint64_t client, uint64_t units,
                      double clip_norm) {
  TACET_RETURN_IF_ERROR(CheckFinite(sum, "the sum", client));
  double squares = 0;
  for (const float value : sum) squares += double{value} * double{value};
  // 1 in 10^4 more, for sums in binary32.
  const double most = 1.0001 * clip_norm * static_cast<double>(units);
  if (std::sqrt(squares) <= most) return absl::OkStatus();
  return base::InvalidArgument(
      "the sum of client {} has norm {}, {} units clipped to {} have at most {}: clip each unit's "
      "part, and use the drawn units only",
      client, std::sqrt(squares), units, clip_norm, most);
}

absl::StatusOr<std::unique_ptr<Learner>> NewFunctionLearner(FunctionLearnerSpec spec) {
  if (spec.clients == 0 || spec.clients > kMaxClients) {
    return base::InvalidArgument("clients is {}, it must be from 1 to {}", spec.clients,
                                 kMaxClients);
  }
  if (spec.initial.empty()) return base::InvalidArgument("the initial model has no parameters");
  for (size_t i = 0; i < spec.initial.size(); ++i) {
    if (std::isfinite(spec.initial[i])) continue;
    return base::InvalidArgument("the initial model: parameter {} is not a finite number", i);
  }
  const bool by_client = spec.unit == accounting::Unit::kClient;
  if (spec.units.size() != (by_client ? 0 : spec.clients)) {
    return base::InvalidArgument(
        "numbers of units are given for {} clients; with unit {} they must be given for {}",
        spec.units.size(), accounting::UnitName(spec.unit), by_client ? 0 : spec.clients);
  }
  if (by_client ? !spec.train : !spec.sum_clipped) {
    return base::InvalidArgument("there is no function to train with");
  }
  return std::make_unique<FunctionLearner>(std::move(spec));
}

}  // namespace tacet::trainer
