// Server optimiser: computes the next model from the decrypted average. Every participant applies
// it, with the same result.
#ifndef TACET_AGREEMENT_SERVER_OPTIMIZER_H_
#define TACET_AGREEMENT_SERVER_OPTIMIZER_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tacet::agreement {

struct ServerOptimizerSpec {
  double learning_rate = 1;        // s_0 > 0
  double learning_rate_final = 1;  // s_{T-1} > 0, reached linearly
  double momentum = 0;             // beta in [0, 1)
  uint32_t rounds = 1;             // T
  // Equal parts of the model. With more than one, round t changes part t alone: a query's releases.
  uint32_t blocks = 1;

  // Values of m that the next round needs: without momentum it needs none.
  uint64_t VelocityValues(uint64_t dimension) const { return momentum > 0 ? dimension : 0; }
};

// Federated averaging with momentum: m <- beta m + average, w <- w + s_t m, where s_t goes linearly
// from `learning_rate` in round 0 to `learning_rate_final` in round T - 1. With the defaults, plain
// federated averaging: w <- w + average. The model of a query is the list of its releases: what
// a round adds to other parts than its own is noise.
class ServerOptimizer {
 public:
  static absl::StatusOr<ServerOptimizer> Create(const ServerOptimizerSpec& spec,
                                                uint64_t dimension);

  // Applies the average of round `round` to `model`, element by element in double precision.
  // Lengths must be `dimension`.
  void Apply(uint32_t round, std::span<const double> average, std::span<float> model) {
    ApplyPart(round, 0, average, model);
  }
  // The same for the coordinates from `first` on, of which `average` and `model` are.
  void ApplyPart(uint32_t round, size_t first, std::span<const double> average,
                 std::span<float> model);

  double LearningRate(uint32_t round) const;

  // Content of a checkpoint besides the model: m, `VelocityValues` of them.
  const std::vector<float>& velocity() const& { return velocity_; }
  std::vector<float> velocity() && { return std::move(velocity_); }
  absl::Status RestoreVelocity(std::vector<float> velocity);

 private:
  ServerOptimizer(const ServerOptimizerSpec& spec, uint64_t dimension)
      : spec_(spec), dimension_(dimension), velocity_(spec.VelocityValues(dimension)) {}

  ServerOptimizerSpec spec_;
  uint64_t dimension_;
  std::vector<float> velocity_;
};

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_SERVER_OPTIMIZER_H_
