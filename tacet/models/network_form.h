// Implementation interface behind a Network: oneDNN, or our own kernels where an architecture fits
// them.
#ifndef TACET_MODELS_NETWORK_FORM_H_
#define TACET_MODELS_NETWORK_FORM_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"

namespace tacet::models {

// Network's methods; it has checked all sizes and labels.
class NetworkForm {
 public:
  virtual ~NetworkForm() = default;

  virtual absl::Status Load(std::span<const float> parameters) = 0;
  virtual absl::Status Store(std::span<float> parameters) = 0;
  virtual std::span<float> input() = 0;

  // Sets `scores` to batch x classes values.
  virtual absl::Status Forward(uint32_t batch, std::span<const float>& scores) = 0;

  // After Forward: the batch x classes gradients of the loss by the scores, to be filled in before
  // Backward, which changes the parameters.
  virtual std::span<float> score_gradients(uint32_t batch) = 0;
  virtual absl::Status Backward(uint32_t batch, float learning_rate) = 0;
};

}  // namespace tacet::models

#endif  // TACET_MODELS_NETWORK_FORM_H_
