// Runs an architecture with oneDNN on one core: forward, backward and the step of plain SGD.
#ifndef TACET_LEARNING_NETWORK_H_
#define TACET_LEARNING_NETWORK_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/learning/architecture.h"

namespace tacet::learning {

// One worker's copy of a model and the memory to train or apply it. Not thread-safe; any one thread
// at a time may use it. The parameters stay in the layout that the convolutions like best between
// Load and Store. Results do not depend on what ran before.
//
// oneDNN is held to the instruction set that base::ActiveSimd() says and to one thread.
class Network {
 public:
  enum class Mode { kInference, kTraining };

  // For batches of 1 to `max_batch` samples. Primitives are made when a batch size first appears.
  static absl::StatusOr<std::unique_ptr<Network>> Create(const Architecture& architecture,
                                                         uint32_t max_batch, Mode mode);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Takes over the model. parameters.size() == architecture.dimension().
  absl::Status Load(std::span<const float> parameters);
  // Writes the model out in the order of docs/formats/models.md.
  absl::Status Store(std::span<float> parameters);

  // Where the caller writes a batch: sample after sample, architecture.input_size() values each.
  std::span<float> input();

  // Applies the model to the first `batch` samples of input(); returns batch x classes scores,
  // valid until the next call.
  absl::StatusOr<std::span<const float>> Forward(uint32_t batch);

  // One step of SGD on the first labels.size() samples of input(): parameters -= learning_rate *
  // gradient of the mean softmax cross-entropy. Training mode only; every label < classes.
  absl::Status Step(std::span<const uint32_t> labels, float learning_rate);

 private:
  class Impl;
  explicit Network(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tacet::learning

#endif  // TACET_LEARNING_NETWORK_H_
