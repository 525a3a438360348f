#include "tacet/models/architecture.h"

#include <cmath>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"

namespace tacet::models {
namespace {

constexpr uint64_t kMaxWidth = uint64_t{1} << 20;       // of a dense layer, classes included
constexpr uint64_t kMaxParameters = uint64_t{1} << 30;  // 4 GiB of float

// Appends layers; keeps track of shapes and of the place of parameters.
class Builder {
 public:
  explicit Builder(Shape input) : shape_(input) {}

  void Convolution(uint64_t kernel, uint64_t channels) {
    Append(LayerKind::kConvolution, {channels, shape_.height, shape_.width}, kernel,
           channels * shape_.channels * kernel * kernel, channels);
  }
  void MaxPool() {
    Append(LayerKind::kMaxPool, {shape_.channels, shape_.height / 2, shape_.width / 2}, 0, 0, 0);
  }
  void Norm(double gain) {
    Append(LayerKind::kNorm, shape_, 0, 0, 0);
    layers_.back().gain = gain;
  }
  void Relu() { Append(LayerKind::kRelu, shape_, 0, 0, 0); }
  void Dense(uint64_t outputs) {
    Append(LayerKind::kDense, {outputs, 1, 1}, 0, outputs * shape_.size(), outputs);
  }

  uint64_t dimension() const { return dimension_; }
  std::vector<Layer> Take() { return std::move(layers_); }

 private:
  void Append(LayerKind kind, Shape output, uint64_t kernel, uint64_t weights, uint64_t biases) {
    layers_.push_back({kind, shape_, output, kernel, dimension_, weights, biases, 0});
    dimension_ += weights + biases;
    shape_ = output;
  }

  Shape shape_;
  std::vector<Layer> layers_;
  uint64_t dimension_ = 0;
};

// Spreads of what the dense layers of femnist-cnn-norm see, from trials.
constexpr double kFeatureGain = 0.6;
constexpr double kHiddenGain = 1.0;

bool IsFemnistCnn(const ArchitectureSpec& spec) {
  return spec.model == "femnist-cnn" || spec.model == "femnist-cnn-norm";
}

absl::Status CheckSpec(const ArchitectureSpec& spec) {
  const bool cnn = IsFemnistCnn(spec);
  const bool mlp = spec.model == "mlp";
  if (!cnn && !mlp && spec.model != "logistic") {
    return base::InvalidArgument(
        "model is \"{}\"; it must be femnist-cnn, femnist-cnn-norm, mlp or logistic", spec.model);
  }
  if (spec.classes < 2 || spec.classes > kMaxWidth) {
    return base::InvalidArgument("model {} needs 2 to {} classes, not {}", spec.model, kMaxWidth,
                                 spec.classes);
  }
  uint64_t inputs = 1;
  for (const uint64_t extent : spec.input_shape) {
    if (extent < 1 || extent > kMaxParameters || inputs > kMaxParameters / extent) {
      return base::InvalidArgument("model {}: a sample has an extent of {} values", spec.model,
                                   extent);
    }
    inputs *= extent;
  }
  if (spec.input_shape.empty()) {
    return base::InvalidArgument("model {}: the samples have no features", spec.model);
  }
  if (cnn && (spec.input_shape.size() != 2 || spec.input_shape[0] < 4 || spec.input_shape[1] < 4)) {
    return base::InvalidArgument(
        "model {} needs images of at least 4 x 4, the samples have {} dimensions and {} values",
        spec.model, spec.input_shape.size(), inputs);
  }
  if (mlp && spec.hidden.empty()) {
    return base::InvalidArgument("model mlp needs the width of at least one hidden layer");
  }
  for (const uint64_t width : spec.hidden) {
    if (mlp && (width < 1 || width > kMaxWidth)) {
      return base::InvalidArgument("hidden layer of width {}; it must be 1 to {}", width,
                                   kMaxWidth);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Architecture> Architecture::Create(const ArchitectureSpec& spec) {
  TACET_RETURN_IF_ERROR(CheckSpec(spec));
  const bool norms = spec.model == "femnist-cnn-norm";
  Shape input{1, 1, 1};
  if (IsFemnistCnn(spec)) {
    input = {1, spec.input_shape[0], spec.input_shape[1]};
  } else {
    for (const uint64_t extent : spec.input_shape) input.channels *= extent;
  }
  Builder builder(input);
  if (IsFemnistCnn(spec)) {
    builder.Convolution(5, 128);
    builder.MaxPool();
    builder.Relu();
    builder.Convolution(3, 64);
    builder.MaxPool();
    builder.Relu();
    if (norms) builder.Norm(kFeatureGain);
    builder.Dense(128);
    builder.Relu();
    if (norms) builder.Norm(kHiddenGain);
  } else if (spec.model == "mlp") {
    for (const uint64_t width : spec.hidden) {
      builder.Dense(width);
      builder.Relu();
    }
  }
  builder.Dense(spec.classes);

  if (builder.dimension() > kMaxParameters) {
    return base::InvalidArgument("model {} on these samples has {} parameters, at most {} are kept",
                                 spec.model, builder.dimension(), kMaxParameters);
  }

  Architecture architecture;
  architecture.dimension_ = builder.dimension();
  architecture.layers_ = builder.Take();
  return architecture;
}

std::vector<float> Architecture::InitialParameters(uint64_t seed, double last_layer_gain) const {
  std::vector<float> parameters(dimension_, 0.0f);
  for (size_t index = 0; index < layers_.size(); ++index) {
    const Layer& layer = layers_[index];
    if (layer.weights == 0) continue;
    crypto::Random random = crypto::SeededRandom(seed, "initial weights", index);
    const uint64_t inputs = layer.weights / layer.biases;
    const double gain = index + 1 == layers_.size() ? last_layer_gain : 1.0;
    const double limit = gain * std::sqrt(6.0 / static_cast<double>(inputs));
    for (uint64_t i = 0; i < layer.weights; ++i) {
      const double unit = 2.0 * crypto::Uniform(random) - 1.0;
      parameters[layer.first_parameter + i] = static_cast<float>(limit * unit);
    }
  }
  return parameters;
}

}  // namespace tacet::models
