// Implementation interface behind a Network, and the registry of implementations.
//
// oneDNN runs every architecture. A program that has faster code for some of them registers it; the
// laboratory does so for the networks of the published experiments.
#ifndef TACET_MODELS_NETWORK_FORM_H_
#define TACET_MODELS_NETWORK_FORM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"

#include "tacet/models/architecture.h"
#include "tacet/models/network.h"

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

// A form for one architecture and one precision.
struct RegisteredForm {
  std::string_view name;  // for logs and records; lives as long as the program
  std::function<std::unique_ptr<NetworkForm>(uint32_t max_batch, Network::Mode mode)> create;
};

// Returns the form that computes `architecture` with products in `precision`. None for another
// architecture, or where the processor or TACET_SIMD does not allow it.
using FormFinder = std::optional<RegisteredForm> (*)(const Architecture& architecture,
                                                     Precision precision);

// Lets networks that are created afterwards use what `finder` finds. The finder registered first is
// asked first; a finder that is registered twice counts once. Thread-safe.
void RegisterNetworkForms(FormFinder finder);

// The result of the first finder that finds something. Thread-safe.
std::optional<RegisteredForm> FindRegisteredForm(const Architecture& architecture,
                                                 Precision precision);

}  // namespace tacet::models

#endif  // TACET_MODELS_NETWORK_FORM_H_
