// Runs an architecture on one core: forward, backward and the step of plain SGD.
#ifndef TACET_MODELS_NETWORK_H_
#define TACET_MODELS_NETWORK_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/models/architecture.h"

namespace tacet::models {

// Number format of products; parameters and sums are always f32.
enum class Precision {
  kAuto,  // the one with which a registered form is fastest here; else f32
  kF32,
  kBf16,  // in registered forms only (network_form.h)
};

// InvalidArgument unless auto, f32 or bf16.
absl::StatusOr<Precision> ParsePrecision(std::string_view name);
std::string_view PrecisionName(Precision precision);

struct NetworkOptions {
  Precision precision = Precision::kAuto;
};

// InvalidArgument for bf16 where no registered form has it for the architecture here.
absl::Status CheckPrecision(const Architecture& architecture, Precision precision);

class NetworkForm;

// One worker's copy of a model and the memory to train or apply it. Not thread-safe; any one thread
// at a time may use it. The parameters stay in the layout that the convolutions like best between
// Load and Store. Results do not depend on what ran before or on the thread.
//
// Nothing beyond the instruction set that base::ActiveSimd() says is used.
class Network {
 public:
  enum class Mode { kInference, kTraining };

  // For batches of 1 to `max_batch` samples, in a registered form or else in oneDNN.
  // InvalidArgument when bf16 is asked for where it cannot be had.
  static absl::StatusOr<std::unique_ptr<Network>> Create(const Architecture& architecture,
                                                         uint32_t max_batch, Mode mode,
                                                         const NetworkOptions& options = {});
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

  // Name of the implementation: onednn, or that of a registered form.
  std::string_view form() const { return form_name_; }

 private:
  Network(const Architecture& architecture, uint32_t max_batch, Mode mode,
          std::unique_ptr<NetworkForm> form, std::string_view form_name);

  absl::Status CheckDimension(size_t size) const;
  absl::Status CheckBatch(size_t batch) const;

  const uint64_t dimension_;
  const uint64_t classes_;
  const uint32_t max_batch_;
  const Mode mode_;
  std::unique_ptr<NetworkForm> form_;
  std::string_view form_name_;
};

}  // namespace tacet::models

#endif  // TACET_MODELS_NETWORK_H_
