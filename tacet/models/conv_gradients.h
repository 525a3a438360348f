// Convolutions, pools and ReLUs at the beginning of an architecture: gradients record by record.
#ifndef TACET_MODELS_CONV_GRADIENTS_H_
#define TACET_MODELS_CONV_GRADIENTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "tacet/models/architecture.h"

namespace tacet::models {

// Each record goes through by itself, in matrix products over its own patches ("im2col") whose
// sizes never change, so its values and its gradient depend on that record alone. Weights are few
// here (77,120 of femnist-cnn's 486,654), so the gradient of a record is formed and kept until its
// factor is known; a norm without it (the Gram matrices of patches and gradients, Bu et al. 2022)
// costs more multiplications at 196 positions of 1152 values and forms the gradient in the end all
// the same.
class ConvGradients {
 public:
  // layers[0 ... count) are convolutions, max pools and ReLUs; for up to `most_records`.
  ConvGradients(std::span<const Layer> layers, size_t count, size_t most_records);

  bool empty() const { return layers_.empty(); }
  size_t output_size() const { return layers_.back().output.size(); }

  void Load(std::span<const float> parameters) {
    parameters_.assign(parameters.begin(), parameters.end());
  }

  // Record after record; outputs.size() == records * output_size().
  absl::Status Forward(std::span<const float> inputs, size_t records, std::span<float> outputs);
  // Takes gradients of the outputs; square_norms[i] += ||g_i||^2 of these layers' parameters.
  absl::Status Backward(std::span<const float> output_gradients, std::span<double> square_norms);
  // As DenseGradients::AddTo.
  void AddTo(std::span<const double> weights, std::span<double> sum) const;

 private:
  std::span<float> ValuesBehind(size_t layer, size_t record);
  absl::Status ForwardLayer(size_t layer, size_t record, std::span<const float> input);
  // Writes the gradient of the layer's input to `gradient`, from that of its output.
  absl::Status BackwardLayer(size_t layer, size_t record, std::span<const float> input,
                             std::vector<float>& gradient);

  std::vector<Layer> layers_;
  std::vector<float> parameters_;
  uint64_t own_parameters_ = 0;
  size_t records_ = 0;
  std::vector<float> inputs_;
  std::vector<std::vector<float>> values_;  // behind each layer, record after record
  std::vector<float> gradients_;            // record after record, own_parameters_ each
  std::vector<float> patches_, patch_gradients_, next_;
};

}  // namespace tacet::models

#endif  // TACET_MODELS_CONV_GRADIENTS_H_
