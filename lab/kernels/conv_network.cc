#include "lab/kernels/conv_network.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "lab/kernels/aligned_buffer.h"
#include "lab/kernels/conv_first.h"
#include "lab/kernels/conv_kernels.h"
#include "lab/kernels/conv_second.h"
#include "lab/kernels/dense_kernels.h"
#include "tacet/base/cpu.h"
#include "tacet/models/layer_norm.h"

namespace tacet::lab::kernels {
namespace {

using models::Architecture;
using models::Layer;
using models::LayerKind;
using models::NormShape;

bool IsConvolution(const Layer& layer, uint64_t inputs, uint64_t kernel, uint64_t outputs) {
  return layer.kind == LayerKind::kConvolution && layer.input.channels == inputs &&
         layer.kernel == kernel && layer.output.channels == outputs;
}

using enum LayerKind;
constexpr LayerKind kPlain[] = {kConvolution, kMaxPool, kRelu, kConvolution, kMaxPool,
                                kRelu,        kDense,   kRelu, kDense};
constexpr LayerKind kWithNorms[] = {kConvolution, kMaxPool, kRelu, kConvolution, kMaxPool, kRelu,
                                    kNorm,        kDense,   kRelu, kNorm,        kDense};

bool HasNorms(const std::vector<Layer>& layers) {
  return std::ranges::equal(layers, kWithNorms, {}, &Layer::kind);
}

// First, Second: forms of the convolutions (conv_first.h, conv_second.h).
template <typename First, typename Second>
class ConvNetwork final : public models::NetworkForm {
  using Map = typename First::Map;

 public:
  ConvNetwork(const Architecture& architecture, uint32_t max_batch, bool training)
      : training_(training),
        shape_(architecture),
        values_(shape_, max_batch, training),
        gradients_(shape_, values_, max_batch, training),
        first_layer_(shape_.sizes),
        second_layer_(shape_.sizes, training ? max_batch : 1, training),
        weights_(shape_),
        regions_(training ? max_batch : 1, conv::BlankRegions(shape_.sizes)) {}

  absl::Status Load(std::span<const float> parameters) override {
    const float* from = parameters.data();
    const Layer& first = shape_.layers[0];
    ForEachFirst([&](size_t c, size_t k, float& weight) {
      weight = k == conv::kFirstTaps ? from[first.first_parameter + first.weights + c]
                                     : from[first.first_parameter + c * conv::kFirstTaps + k];
    });
    const Layer& second = shape_.layers[3];
    ForEachSecond(
        [&](size_t index, float& weight) { weight = from[second.first_parameter + index]; });
    Copy(from + second.first_parameter + second.weights, weights_.second_biases);
    LoadDense(parameters, shape_.dense1_layer, weights_.dense1, weights_.dense1_biases);
    LoadDense(parameters, shape_.dense2_layer, weights_.dense2, weights_.dense2_biases);
    Prepare();
    return absl::OkStatus();
  }

  absl::Status Store(std::span<float> parameters) override {
    float* to = parameters.data();
    const Layer& first = shape_.layers[0];
    ForEachFirst([&](size_t c, size_t k, float& weight) {
      (k == conv::kFirstTaps ? to[first.first_parameter + first.weights + c]
                             : to[first.first_parameter + c * conv::kFirstTaps + k]) = weight;
    });
    const Layer& second = shape_.layers[3];
    ForEachSecond(
        [&](size_t index, float& weight) { to[second.first_parameter + index] = weight; });
    std::copy_n(weights_.second_biases.data(), weights_.second_biases.size(),
                to + second.first_parameter + second.weights);
    StoreDense(shape_.dense1_layer, weights_.dense1, weights_.dense1_biases, parameters);
    StoreDense(shape_.dense2_layer, weights_.dense2, weights_.dense2_biases, parameters);
    return absl::OkStatus();
  }

  std::span<float> input() override { return {values_.input.data(), values_.input.size()}; }

  absl::Status Forward(uint32_t batch, std::span<const float>& scores) override {
    for (size_t s = 0; s < batch; ++s) {
      const size_t kept = training_ ? s : 0;
      float* image = values_.image.data() + kept * shape_.sizes.image_size();
      const float* from = values_.input.data() + s * shape_.sizes.height * shape_.sizes.width;
      for (size_t i = 0; i < shape_.sizes.height; ++i) {
        std::copy_n(from + i * shape_.sizes.width, shape_.sizes.width,
                    image + (i + 2) * shape_.sizes.image_stride + 2);
      }
      Map* map = values_.map.data() + kept * shape_.sizes.map_size();
      conv::BlankRegions& regions = regions_[kept];
      regions.Find(shape_.sizes, image);
      first_layer_.Forward(regions, image, weights_.first.data(), map, Winner1(kept));
      second_layer_.Forward(kept, regions, map, weights_.second_biases.data(),
                            values_.outputs.data() + s * shape_.sizes.outputs());
    }
    if (shape_.norms) {
      LayerNorm(OutputNorm(batch), values_.outputs.data(), values_.outputs.data(),
                values_.output_factors.data());
    }
    dense::Forward(Dense1(batch), values_.outputs.data(), weights_.dense1.data(),
                   weights_.dense1_biases.data(), values_.hidden_values.data());
    for (size_t n = 0; n < batch * shape_.hidden; ++n) {
      values_.hidden_values.data()[n] = std::max(values_.hidden_values.data()[n], 0.0f);
    }
    if (shape_.norms) {
      LayerNorm(HiddenNorm(batch), values_.hidden_values.data(), values_.hidden_norms.data(),
                values_.hidden_factors.data());
    }
    dense::Forward(Dense2(batch), Dense2Inputs(), weights_.dense2.data(),
                   weights_.dense2_biases.data(), values_.scores.data());
    scores = {values_.scores.data(), batch * shape_.classes};
    return absl::OkStatus();
  }

  std::span<float> score_gradients(uint32_t batch) override {
    return {gradients_.scores.data(), batch * shape_.classes};
  }

  absl::Status Backward(uint32_t batch, float learning_rate) override {
    dense::Backward(Dense2(batch), Dense2Inputs(), gradients_.scores.data(), learning_rate,
                    weights_.dense2.data(), weights_.dense2_biases.data(), gradients_.hidden.data(),
                    gradients_.scaled.data());
    if (shape_.norms) {
      LayerNormBackward(HiddenNorm(batch), values_.hidden_norms.data(),
                        values_.hidden_factors.data(), gradients_.hidden.data());
    }
    for (size_t n = 0; n < batch * shape_.hidden; ++n) {
      if (!(values_.hidden_values.data()[n] > 0)) gradients_.hidden.data()[n] = 0;
    }
    dense::Backward(Dense1(batch), values_.outputs.data(), gradients_.hidden.data(), learning_rate,
                    weights_.dense1.data(), weights_.dense1_biases.data(),
                    gradients_.outputs.data(), gradients_.scaled.data());
    if (shape_.norms) {
      LayerNormBackward(OutputNorm(batch), values_.outputs.data(), values_.output_factors.data(),
                        gradients_.outputs.data());
    }
    gradients_.first.Clear();
    gradients_.second.Clear();
    float bias_gradients[conv::kSecondMaps] = {};
    for (size_t s = 0; s < batch; ++s) {
      second_layer_.Backward(s, regions_[s], values_.map.data() + s * shape_.sizes.map_size(),
                             weights_.second.data(),
                             gradients_.outputs.data() + s * shape_.sizes.outputs(), bias_gradients,
                             gradients_.second.data(), gradients_.map.data());
      conv::FirstWeightGradient(
          shape_.sizes, regions_[s], values_.image.data() + s * shape_.sizes.image_size(),
          gradients_.map.data(), Winner1(s), gradients_.patches.data(), gradients_.first.data());
    }
    for (size_t o = 0; o < conv::kSecondMaps; ++o) {
      weights_.second_biases.data()[o] -= learning_rate * bias_gradients[o];
    }
    conv::SecondUpdate(learning_rate, gradients_.second.data(), weights_.second.data());
    conv::FirstUpdate(learning_rate, gradients_.first.data(), weights_.first.data());
    Prepare();
    return absl::OkStatus();
  }

 private:
  struct Shape {
    explicit Shape(const Architecture& architecture)
        : layers(architecture.layers()),
          sizes(layers[0].input.height, layers[0].input.width),
          norms(HasNorms(layers)),
          dense1_layer(layers[norms ? 7 : 6]),
          dense2_layer(layers[norms ? 10 : 8]),
          input(architecture.input_size()),
          hidden(dense1_layer.output.size()),
          classes(architecture.classes()) {}

    std::vector<Layer> layers;
    conv::Sizes sizes;
    bool norms;
    Layer dense1_layer, dense2_layer;
    size_t input, hidden, classes;
  };
  // For a batch: what the layers give. Without training one sample's maps are kept at a time.
  struct Values {
    Values(const Shape& shape, size_t batch, bool training)
        : input(batch * shape.input),
          image(shape.sizes.image_size() * (training ? batch : 1)),
          map(shape.sizes.map_size() * (training ? batch : 1)),
          winner1(shape.sizes.positions1() * conv::kFirstMaps * (training ? batch : 1)),
          outputs(shape.sizes.outputs() * batch),
          hidden_values(shape.hidden * batch),
          hidden_norms(shape.norms ? hidden_values.size() : 0),
          output_factors(shape.norms ? batch : 0),
          hidden_factors(shape.norms ? batch : 0),
          scores(shape.classes * batch) {}

    AlignedBuffer<float> input, image;
    AlignedBuffer<Map> map;
    AlignedBuffer<uint8_t> winner1;
    // Norms overwrite `outputs`, whose ReLU the winners remember; `hidden_values` keep theirs.
    AlignedBuffer<float> outputs, hidden_values, hidden_norms;
    AlignedBuffer<float> output_factors, hidden_factors;
    AlignedBuffer<float> scores;
  };
  struct Weights {
    explicit Weights(const Shape& shape)
        : first(conv::kFirstSize),
          second(conv::kSecondSize),
          second_biases(conv::kSecondMaps),
          dense1(shape.dense1_layer.weights),
          dense1_biases(shape.hidden),
          dense2(shape.dense2_layer.weights),
          dense2_biases(shape.classes) {}

    AlignedBuffer<float> first, second;
    AlignedBuffer<float> second_biases, dense1, dense1_biases, dense2, dense2_biases;
  };
  // Empty without training.
  struct Gradients {
    Gradients(const Shape& shape, const Values& values, size_t batch, bool training)
        : first(training ? conv::kFirstGradientSize : 0),
          second(training ? conv::kSecondSize : 0),
          map(training ? shape.sizes.map_size() : 0),
          patches(training ? conv::PatchesSize(shape.sizes) : 0),
          outputs(training ? values.outputs.size() : 0),
          hidden(training ? values.hidden_values.size() : 0),
          scores(training ? values.scores.size() : 0),
          scaled(training ? std::max(shape.hidden, shape.classes) * batch : 0) {}

    AlignedBuffer<float> first, second, map, patches;
    AlignedBuffer<float> outputs, hidden, scores, scaled;
  };

  static void Copy(const float* from, AlignedBuffer<float>& to) {
    std::copy_n(from, to.size(), to.data());
  }
  static void LoadDense(std::span<const float> parameters, const Layer& layer,
                        AlignedBuffer<float>& weights, AlignedBuffer<float>& biases) {
    Copy(parameters.data() + layer.first_parameter, weights);
    Copy(parameters.data() + layer.first_parameter + layer.weights, biases);
  }
  static void StoreDense(const Layer& layer, AlignedBuffer<float>& weights,
                         AlignedBuffer<float>& biases, std::span<float> parameters) {
    std::copy_n(weights.data(), weights.size(), parameters.data() + layer.first_parameter);
    std::copy_n(biases.data(), biases.size(),
                parameters.data() + layer.first_parameter + layer.weights);
  }

  // Calls visit(channel, tap or kFirstTaps for the bias, weight).
  template <typename Visit>
  void ForEachFirst(const Visit& visit) {
    for (size_t c = 0; c < conv::kFirstMaps; ++c) {
      for (size_t k = 0; k <= conv::kFirstTaps; ++k) {
        visit(c, k,
              weights_.first.data()[(c / conv::kBlock * (conv::kFirstTaps + 1) + k) * conv::kBlock +
                                    c % conv::kBlock]);
      }
    }
  }
  // Calls visit(index in the flat order, weight).
  template <typename Visit>
  void ForEachSecond(const Visit& visit) {
    for (size_t o = 0; o < conv::kSecondMaps; ++o) {
      for (size_t c = 0; c < conv::kFirstMaps; ++c) {
        float* weights =
            weights_.second.data() +
            ((c / conv::kLanes * conv::kSecondMaps + o) * conv::kSecondTaps * conv::kLanes) +
            c % conv::kLanes;
        for (size_t k = 0; k < conv::kSecondTaps; ++k) {
          visit((o * conv::kFirstMaps + c) * conv::kSecondTaps + k, weights[k * conv::kLanes]);
        }
      }
    }
  }

  // After parameters changed.
  void Prepare() {
    first_layer_.Prepare(weights_.first.data());
    second_layer_.Prepare(weights_.second.data());
  }

  dense::Sizes Dense1(size_t batch) const { return {batch, shape_.sizes.outputs(), shape_.hidden}; }
  dense::Sizes Dense2(size_t batch) const { return {batch, shape_.hidden, shape_.classes}; }
  const float* Dense2Inputs() {
    return shape_.norms ? values_.hidden_norms.data() : values_.hidden_values.data();
  }
  // The layers before the dense ones, where there are norms.
  NormShape OutputNorm(size_t batch) const {
    return {batch, shape_.sizes.outputs(), static_cast<float>(shape_.layers[6].gain)};
  }
  NormShape HiddenNorm(size_t batch) const {
    return {batch, shape_.hidden, static_cast<float>(shape_.layers[9].gain)};
  }
  uint8_t* Winner1(size_t s) {
    return values_.winner1.data() + s * shape_.sizes.positions1() * conv::kFirstMaps;
  }

  const bool training_;
  const Shape shape_;
  Values values_;
  Gradients gradients_;
  First first_layer_;
  Second second_layer_;
  Weights weights_;
  std::vector<conv::BlankRegions> regions_;
};

bool Fits(const Architecture& architecture) {
  const std::vector<Layer>& layers = architecture.layers();
  return (std::ranges::equal(layers, kPlain, {}, &Layer::kind) || HasNorms(layers)) &&
         IsConvolution(layers[0], 1, 5, conv::kFirstMaps) &&
         IsConvolution(layers[3], conv::kFirstMaps, 3, conv::kSecondMaps) &&
         layers[HasNorms(layers) ? 7 : 6].output.size() % dense::kUnit == 0;
}

template <typename First, typename Second>
models::RegisteredForm FormOf(std::string_view name, const models::Architecture& architecture) {
  return {.name = name, .create = [architecture](uint32_t max_batch, models::Network::Mode mode) {
            return std::make_unique<ConvNetwork<First, Second>>(
                architecture, max_batch, mode == models::Network::Mode::kTraining);
          }};
}

}  // namespace

std::optional<models::RegisteredForm> FindConvForm(const models::Architecture& architecture,
                                                   models::Precision precision) {
  using enum models::Precision;
  if (!base::MayUse(base::Target::kAvx512) || !Fits(architecture)) return std::nullopt;
  if (precision != kF32 && base::MayUse(base::Target::kAmxBf16)) {
    return FormOf<conv::TileFirst, conv::TileSecond>("conv-amx", architecture);
  }
  if (precision != kBf16) {
    return FormOf<conv::VectorFirst<float>, conv::VectorSecond<float>>("conv-f32", architecture);
  }
  if (!base::MayUse(base::Target::kAvx512Bf16)) return std::nullopt;
  return FormOf<conv::VectorFirst<uint16_t>, conv::VectorSecond<uint16_t>>("conv-bf16",
                                                                           architecture);
}

void RegisterConvForm() { models::RegisterNetworkForms(&FindConvForm); }

}  // namespace tacet::lab::kernels
