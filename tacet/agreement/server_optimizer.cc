#include "tacet/agreement/server_optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tacet/base/status.h"

namespace tacet::agreement {

absl::StatusOr<ServerOptimizer> ServerOptimizer::Create(const ServerOptimizerSpec& spec,
                                                        uint64_t dimension) {
  const auto check_rate = [](double rate, std::string_view key) -> absl::Status {
    if (std::isfinite(rate) && rate > 0) return absl::OkStatus();
    return base::InvalidArgument("server.{} is {}, it must be a positive number", key, rate);
  };
  TACET_RETURN_IF_ERROR(check_rate(spec.learning_rate, "learning_rate"));
  TACET_RETURN_IF_ERROR(check_rate(spec.learning_rate_final, "learning_rate_final"));
  if (!(spec.momentum >= 0 && spec.momentum < 1)) {
    return base::InvalidArgument("server.momentum is {}, it must be at least 0 and below 1",
                                 spec.momentum);
  }
  if (spec.blocks < 1 || dimension % spec.blocks != 0 || (spec.blocks > 1 && spec.momentum > 0) ||
      (spec.blocks > 1 && spec.blocks < spec.rounds)) {
    return base::InvalidArgument(
        "a model of {} values in {} rounds with momentum {} has no {} equal parts, one for each "
        "round",
        dimension, spec.rounds, spec.momentum, spec.blocks);
  }
  return ServerOptimizer(spec, dimension);
}

double ServerOptimizer::LearningRate(uint32_t round) const {
  if (spec_.rounds <= 1) return spec_.learning_rate;
  const double progress = static_cast<double>(round) / static_cast<double>(spec_.rounds - 1);
  return spec_.learning_rate +
         (spec_.learning_rate_final - spec_.learning_rate) * std::min(progress, 1.0);
}

void ServerOptimizer::ApplyPart(uint32_t round, size_t first, std::span<const double> average,
                                std::span<float> model) {
  const double rate = LearningRate(round);
  if (velocity_.empty()) {
    const size_t block = dimension_ / spec_.blocks;
    const size_t begin = spec_.blocks > 1 ? round * block : 0;
    const size_t end = std::clamp(begin + block, first, first + model.size());
    for (size_t i = std::clamp(begin, first, end); i < end; ++i) {
      float& value = model[i - first];
      value = static_cast<float>(value + rate * average[i - first]);
    }
    return;
  }
  const std::span<float> part = std::span(velocity_).subspan(first, model.size());
  for (size_t i = 0; i < model.size(); ++i) {
    const double velocity = spec_.momentum * part[i] + average[i];
    part[i] = static_cast<float>(velocity);
    model[i] = static_cast<float>(model[i] + rate * velocity);
  }
}

absl::Status ServerOptimizer::RestoreVelocity(std::vector<float> velocity) {
  if (velocity.size() != velocity_.size()) {
    return base::InvalidArgument("the optimiser's state has {} values, it must have {}",
                                 velocity.size(), velocity_.size());
  }
  velocity_ = std::move(velocity);
  return absl::OkStatus();
}

}  // namespace tacet::agreement
