// A model as a list of layers over one flat vector of parameters.
#ifndef TACET_MODELS_ARCHITECTURE_H_
#define TACET_MODELS_ARCHITECTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tacet::models {

// The values of one sample between two layers, in the order [channel][row][column]. A plain vector
// of n values has n channels of 1 x 1.
struct Shape {
  uint64_t channels = 0;
  uint64_t height = 1;
  uint64_t width = 1;

  uint64_t size() const { return channels * height * width; }
  bool operator==(const Shape&) const = default;
};

enum class LayerKind {
  kConvolution,  // odd kernel, stride 1, zero padding that keeps height and width, with bias
  kMaxPool,      // 2 x 2, stride 2; an odd last row or column is left out
  kRelu,         // max(x, 0)
  kDense,        // every output from every input, with bias
  kNorm,         // parameter-free layer norm of a sample's values (layer_norm.h)
};

// One layer. Its parameters, if any, lie at [first_parameter, first_parameter + weights + biases):
//   convolution  weights[output channel][input channel][kernel row][kernel column], then
//                biases[output channel]; y(c, i, j) = b_c + sum w_c(k, u, v) x(k, i+u-h, j+v-h),
//                h = (kernel - 1) / 2
//   dense        weights[output][input], then biases[output]; y = W x + b
struct Layer {
  LayerKind kind = LayerKind::kRelu;
  Shape input;
  Shape output;
  uint64_t kernel = 0;  // convolution only
  uint64_t first_parameter = 0;
  uint64_t weights = 0;
  uint64_t biases = 0;
  double gain = 0;  // norm only: the spread of its results
};

struct ArchitectureSpec {
  std::string model = "femnist-cnn";  // femnist-cnn | femnist-cnn-norm | mlp | logistic
  std::vector<uint64_t> input_shape;  // of a sample, as in Dataset
  std::vector<uint64_t> hidden;       // widths of the hidden layers, mlp only
  uint32_t classes = 0;
};

// femnist-cnn: convolution 5x5x128, max pool, ReLU, convolution 3x3x64, max pool, ReLU, dense 128,
//              ReLU, dense `classes`; on 28 x 28 images with 62 classes 486,654 parameters. (ReLU
//              and max pool commute; this order touches a quarter of the values.)
// femnist-cnn-norm: the same with a norm before each dense layer, gain 0.6 and then 1; the same
//              parameters in the same order
// mlp:         dense hidden[0], ReLU, ..., dense `classes`
// logistic:    dense `classes`
class Architecture {
 public:
  // InvalidArgument names the field that is out of range or does not fit the model.
  static absl::StatusOr<Architecture> Create(const ArchitectureSpec& spec);

  const std::vector<Layer>& layers() const { return layers_; }
  uint64_t dimension() const { return dimension_; }  // number of parameters
  uint64_t input_size() const { return layers_.front().input.size(); }
  uint64_t classes() const { return layers_.back().output.size(); }

  // He initialisation: weights uniform on +-sqrt(6 / inputs of a neuron), which has variance
  // 2 / inputs; those of the last layer times `last_layer_gain`; biases 0. Drawn by integer
  // arithmetic, division and square root only, so every machine gets the same bits.
  std::vector<float> InitialParameters(uint64_t seed, double last_layer_gain) const;

 private:
  Architecture() = default;

  std::vector<Layer> layers_;
  uint64_t dimension_ = 0;
};

}  // namespace tacet::models

#endif  // TACET_MODELS_ARCHITECTURE_H_
