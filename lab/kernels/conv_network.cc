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
      : layers_(architecture.layers()),
        sizes_(layers_[0].input.height, layers_[0].input.width),
        training_(training),
        norms_(HasNorms(layers_)),
        dense1_layer_(layers_[norms_ ? 7 : 6]),
        dense2_layer_(layers_[norms_ ? 10 : 8]),
        hidden_(dense1_layer_.output.size()),
        classes_(architecture.classes()),
        input_(max_batch * architecture.input_size()),
        image_(sizes_.image_size() * (training ? max_batch : 1)),
        map_(sizes_.map_size() * (training ? max_batch : 1)),
        winner1_(sizes_.positions1() * conv::kFirstMaps * (training ? max_batch : 1)),
        outputs_(sizes_.outputs() * max_batch),
        hidden_values_(hidden_ * max_batch),
        hidden_norms_(norms_ ? hidden_values_.size() : 0),
        output_factors_(norms_ ? max_batch : 0),
        hidden_factors_(norms_ ? max_batch : 0),
        scores_(classes_ * max_batch),
        first_(conv::kFirstSize),
        second_(conv::kSecondSize),
        second_biases_(conv::kSecondMaps),
        dense1_(dense1_layer_.weights),
        dense1_biases_(hidden_),
        dense2_(dense2_layer_.weights),
        dense2_biases_(classes_),
        first_gradients_(training ? conv::kFirstGradientSize : 0),
        second_gradients_(training ? conv::kSecondSize : 0),
        map_gradient_(training ? sizes_.map_size() : 0),
        patches_(training ? conv::PatchesSize(sizes_) : 0),
        output_gradients_(training ? outputs_.size() : 0),
        hidden_gradients_(training ? hidden_values_.size() : 0),
        score_gradients_(training ? scores_.size() : 0),
        scaled_(training ? std::max(hidden_, classes_) * max_batch : 0),
        first_layer_(sizes_),
        second_layer_(sizes_, training ? max_batch : 1, training),
        regions_(training ? max_batch : 1, conv::BlankRegions(sizes_)) {}

  absl::Status Load(std::span<const float> parameters) override {
    const float* from = parameters.data();
    const Layer& first = layers_[0];
    ForEachFirst([&](size_t c, size_t k, float& weight) {
      weight = k == conv::kFirstTaps ? from[first.first_parameter + first.weights + c]
                                     : from[first.first_parameter + c * conv::kFirstTaps + k];
    });
    const Layer& second = layers_[3];
    ForEachSecond(
        [&](size_t index, float& weight) { weight = from[second.first_parameter + index]; });
    Copy(from + second.first_parameter + second.weights, second_biases_);
    LoadDense(parameters, dense1_layer_, dense1_, dense1_biases_);
    LoadDense(parameters, dense2_layer_, dense2_, dense2_biases_);
    Prepare();
    return absl::OkStatus();
  }

  absl::Status Store(std::span<float> parameters) override {
    float* to = parameters.data();
    const Layer& first = layers_[0];
    ForEachFirst([&](size_t c, size_t k, float& weight) {
      (k == conv::kFirstTaps ? to[first.first_parameter + first.weights + c]
                             : to[first.first_parameter + c * conv::kFirstTaps + k]) = weight;
    });
    const Layer& second = layers_[3];
    ForEachSecond(
        [&](size_t index, float& weight) { to[second.first_parameter + index] = weight; });
    std::copy_n(second_biases_.data(), second_biases_.size(),
                to + second.first_parameter + second.weights);
    StoreDense(dense1_layer_, dense1_, dense1_biases_, parameters);
    StoreDense(dense2_layer_, dense2_, dense2_biases_, parameters);
    return absl::OkStatus();
  }

  std::span<float> input() override { return {input_.data(), input_.size()}; }

  absl::Status Forward(uint32_t batch, std::span<const float>& scores) override {
    for (size_t s = 0; s < batch; ++s) {
      const size_t kept = training_ ? s : 0;
      float* image = image_.data() + kept * sizes_.image_size();
      const float* from = input_.data() + s * sizes_.height * sizes_.width;
      for (size_t i = 0; i < sizes_.height; ++i) {
        std::copy_n(from + i * sizes_.width, sizes_.width,
                    image + (i + 2) * sizes_.image_stride + 2);
      }
      Map* map = map_.data() + kept * sizes_.map_size();
      conv::BlankRegions& regions = regions_[kept];
      regions.Find(sizes_, image);
      first_layer_.Forward(regions, image, first_.data(), map, Winner1(kept));
      second_layer_.Forward(kept, regions, map, second_biases_.data(),
                            outputs_.data() + s * sizes_.outputs());
    }
    if (norms_) {
      LayerNorm(OutputNorm(batch), outputs_.data(), outputs_.data(), output_factors_.data());
    }
    dense::Forward(Dense1(batch), outputs_.data(), dense1_.data(), dense1_biases_.data(),
                   hidden_values_.data());
    for (size_t n = 0; n < batch * hidden_; ++n) {
      hidden_values_.data()[n] = std::max(hidden_values_.data()[n], 0.0f);
    }
    if (norms_) {
      LayerNorm(HiddenNorm(batch), hidden_values_.data(), hidden_norms_.data(),
                hidden_factors_.data());
    }
    dense::Forward(Dense2(batch), Dense2Inputs(), dense2_.data(), dense2_biases_.data(),
                   scores_.data());
    scores = {scores_.data(), batch * classes_};
    return absl::OkStatus();
  }

  std::span<float> score_gradients(uint32_t batch) override {
    return {score_gradients_.data(), batch * classes_};
  }

  absl::Status Backward(uint32_t batch, float learning_rate) override {
    dense::Backward(Dense2(batch), Dense2Inputs(), score_gradients_.data(), learning_rate,
                    dense2_.data(), dense2_biases_.data(), hidden_gradients_.data(),
                    scaled_.data());
    if (norms_) {
      LayerNormBackward(HiddenNorm(batch), hidden_norms_.data(), hidden_factors_.data(),
                        hidden_gradients_.data());
    }
    for (size_t n = 0; n < batch * hidden_; ++n) {
      if (!(hidden_values_.data()[n] > 0)) hidden_gradients_.data()[n] = 0;
    }
    dense::Backward(Dense1(batch), outputs_.data(), hidden_gradients_.data(), learning_rate,
                    dense1_.data(), dense1_biases_.data(), output_gradients_.data(),
                    scaled_.data());
    if (norms_) {
      LayerNormBackward(OutputNorm(batch), outputs_.data(), output_factors_.data(),
                        output_gradients_.data());
    }
    first_gradients_.Clear();
    second_gradients_.Clear();
    float bias_gradients[conv::kSecondMaps] = {};
    for (size_t s = 0; s < batch; ++s) {
      second_layer_.Backward(s, regions_[s], map_.data() + s * sizes_.map_size(), second_.data(),
                             output_gradients_.data() + s * sizes_.outputs(), bias_gradients,
                             second_gradients_.data(), map_gradient_.data());
      conv::FirstWeightGradient(sizes_, regions_[s], image_.data() + s * sizes_.image_size(),
                                map_gradient_.data(), Winner1(s), patches_.data(),
                                first_gradients_.data());
    }
    for (size_t o = 0; o < conv::kSecondMaps; ++o) {
      second_biases_.data()[o] -= learning_rate * bias_gradients[o];
    }
    conv::SecondUpdate(learning_rate, second_gradients_.data(), second_.data());
    conv::FirstUpdate(learning_rate, first_gradients_.data(), first_.data());
    Prepare();
    return absl::OkStatus();
  }

 private:
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
              first_.data()[(c / conv::kBlock * (conv::kFirstTaps + 1) + k) * conv::kBlock +
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
            second_.data() +
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
    first_layer_.Prepare(first_.data());
    second_layer_.Prepare(second_.data());
  }

  dense::Sizes Dense1(size_t batch) const { return {batch, sizes_.outputs(), hidden_}; }
  dense::Sizes Dense2(size_t batch) const { return {batch, hidden_, classes_}; }
  const float* Dense2Inputs() { return norms_ ? hidden_norms_.data() : hidden_values_.data(); }
  // The layers before the dense ones, where there are norms.
  NormShape OutputNorm(size_t batch) const {
    return {batch, sizes_.outputs(), static_cast<float>(layers_[6].gain)};
  }
  NormShape HiddenNorm(size_t batch) const {
    return {batch, hidden_, static_cast<float>(layers_[9].gain)};
  }
  uint8_t* Winner1(size_t s) {
    return winner1_.data() + s * sizes_.positions1() * conv::kFirstMaps;
  }

  const std::vector<Layer> layers_;
  const conv::Sizes sizes_;
  const bool training_;
  const bool norms_;
  const Layer dense1_layer_, dense2_layer_;
  const size_t hidden_, classes_;

  AlignedBuffer<float> input_, image_;
  AlignedBuffer<Map> map_;
  AlignedBuffer<uint8_t> winner1_;
  // Norms overwrite outputs_, whose ReLU the winners remember; hidden_values_ keep theirs.
  AlignedBuffer<float> outputs_, hidden_values_, hidden_norms_;
  AlignedBuffer<float> output_factors_, hidden_factors_;
  AlignedBuffer<float> scores_;

  AlignedBuffer<float> first_, second_;
  AlignedBuffer<float> second_biases_, dense1_, dense1_biases_, dense2_, dense2_biases_;

  AlignedBuffer<float> first_gradients_, second_gradients_, map_gradient_, patches_;
  AlignedBuffer<float> output_gradients_, hidden_gradients_, score_gradients_, scaled_;
  First first_layer_;
  Second second_layer_;
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
