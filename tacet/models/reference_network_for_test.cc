#include "tacet/models/reference_network_for_test.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "tacet/models/layer_norm.h"

namespace tacet::models {
namespace {

using Values = std::vector<double>;

// Calls visit(weight, source, destination) with flat indices for every product of a layer that
// multiplies: destination += parameter[weight] * source.
template <typename Visit>
void ForEachProduct(const Layer& layer, const Visit& visit) {
  if (layer.kind == LayerKind::kDense) {
    const size_t inputs = layer.input.size();
    for (size_t o = 0; o < layer.output.size(); ++o) {
      for (size_t i = 0; i < inputs; ++i) visit(o * inputs + i, i, o);
    }
    return;
  }
  const auto height = static_cast<ptrdiff_t>(layer.input.height);
  const auto width = static_cast<ptrdiff_t>(layer.input.width);
  const auto kernel = static_cast<ptrdiff_t>(layer.kernel);
  const ptrdiff_t half = (kernel - 1) / 2;
  size_t weight = 0;
  for (size_t o = 0; o < layer.output.channels; ++o) {
    for (size_t c = 0; c < layer.input.channels; ++c) {
      for (ptrdiff_t u = 0; u < kernel; ++u) {
        for (ptrdiff_t v = 0; v < kernel; ++v, ++weight) {
          for (ptrdiff_t i = std::max<ptrdiff_t>(0, half - u);
               i < std::min(height, height + half - u); ++i) {
            for (ptrdiff_t j = std::max<ptrdiff_t>(0, half - v);
                 j < std::min(width, width + half - v); ++j) {
              const auto from = static_cast<size_t>((i + u - half) * width + j + v - half);
              const auto to = static_cast<size_t>(i * width + j);
              visit(weight, c * layer.input.height * layer.input.width + from,
                    o * layer.output.height * layer.output.width + to);
            }
          }
        }
      }
    }
  }
}

// Calls visit(source of the largest of four, destination).
template <typename Visit>
void ForEachMaximum(const Layer& layer, const Values& input, const Visit& visit) {
  size_t to = 0;
  for (size_t c = 0; c < layer.output.channels; ++c) {
    for (size_t i = 0; i < layer.output.height; ++i) {
      for (size_t j = 0; j < layer.output.width; ++j, ++to) {
        const size_t corner = (c * layer.input.height + 2 * i) * layer.input.width + 2 * j;
        size_t best = corner;
        for (const size_t other :
             {corner + 1, corner + layer.input.width, corner + layer.input.width + 1}) {
          if (input[other] > input[best]) best = other;
        }
        visit(best, to);
      }
    }
  }
}

// Output of a norm before the gain, (x - m) / s, and s.
struct Normed {
  Values values;
  double spread = 0;
};

Normed Normalise(const Values& input) {
  const auto count = static_cast<double>(input.size());
  double mean = 0, variance = 0;
  for (const double value : input) mean += value / count;
  for (const double value : input) variance += (value - mean) * (value - mean) / count;
  Normed normed{input, std::sqrt(variance + kNormEpsilon)};
  for (double& value : normed.values) value = (value - mean) / normed.spread;
  return normed;
}

Values Forward(const Layer& layer, std::span<const double> parameters, const Values& input) {
  Values output(layer.output.size(), 0.0);
  switch (layer.kind) {
    case LayerKind::kRelu:
      for (size_t i = 0; i < input.size(); ++i) output[i] = std::max(input[i], 0.0);
      break;
    case LayerKind::kMaxPool:
      ForEachMaximum(layer, input, [&](size_t from, size_t to) { output[to] = input[from]; });
      break;
    case LayerKind::kNorm:
      output = Normalise(input).values;
      for (double& value : output) value *= layer.gain;
      break;
    case LayerKind::kConvolution:
    case LayerKind::kDense: {
      const double* weights = parameters.data() + layer.first_parameter;
      const size_t repeat = layer.output.size() / layer.biases;
      for (size_t i = 0; i < output.size(); ++i) output[i] = weights[layer.weights + i / repeat];
      ForEachProduct(layer, [&](size_t weight, size_t from, size_t to) {
        output[to] += weights[weight] * input[from];
      });
    }
  }
  return output;
}

Values Backward(const Layer& layer, std::span<const double> parameters, const Values& input,
                const Values& output_gradient, Values& gradient) {
  Values input_gradient(input.size(), 0.0);
  switch (layer.kind) {
    case LayerKind::kRelu:
      for (size_t i = 0; i < input.size(); ++i) {
        input_gradient[i] = input[i] > 0 ? output_gradient[i] : 0;
      }
      break;
    case LayerKind::kMaxPool:
      ForEachMaximum(layer, input,
                     [&](size_t from, size_t to) { input_gradient[from] += output_gradient[to]; });
      break;
    case LayerKind::kNorm: {
      const Normed normed = Normalise(input);
      const auto count = static_cast<double>(input.size());
      double mean = 0, slope = 0;
      for (size_t i = 0; i < input.size(); ++i) {
        mean += output_gradient[i] / count;
        slope += output_gradient[i] * normed.values[i] / count;
      }
      for (size_t i = 0; i < input.size(); ++i) {
        input_gradient[i] =
            layer.gain / normed.spread * (output_gradient[i] - mean - normed.values[i] * slope);
      }
      break;
    }
    case LayerKind::kConvolution:
    case LayerKind::kDense: {
      const double* weights = parameters.data() + layer.first_parameter;
      double* change = gradient.data() + layer.first_parameter;
      const size_t repeat = layer.output.size() / layer.biases;
      for (size_t i = 0; i < output_gradient.size(); ++i) {
        change[layer.weights + i / repeat] += output_gradient[i];
      }
      ForEachProduct(layer, [&](size_t weight, size_t from, size_t to) {
        change[weight] += output_gradient[to] * input[from];
        input_gradient[from] += output_gradient[to] * weights[weight];
      });
    }
  }
  return input_gradient;
}

}  // namespace

ReferenceResult RunReference(const Architecture& architecture, std::span<const double> parameters,
                             std::span<const double> inputs, std::span<const uint32_t> labels) {
  ReferenceResult result;
  result.gradient.assign(architecture.dimension(), 0.0);
  const auto batch = static_cast<double>(labels.size());
  for (size_t sample = 0; sample < labels.size(); ++sample) {
    const auto own = inputs.subspan(sample * architecture.input_size(), architecture.input_size());
    std::vector<Values> values = {Values(own.begin(), own.end())};
    for (const Layer& layer : architecture.layers()) {
      values.push_back(Forward(layer, parameters, values.back()));
    }
    const Values& scores = values.back();
    result.scores.insert(result.scores.end(), scores.begin(), scores.end());

    const double largest = *std::ranges::max_element(scores);
    double sum = 0;
    for (const double score : scores) sum += std::exp(score - largest);
    result.loss += (largest + std::log(sum) - scores[labels[sample]]) / batch;
    Values gradient(scores.size());
    for (size_t i = 0; i < scores.size(); ++i) {
      const double probability = std::exp(scores[i] - largest) / sum;
      gradient[i] = (probability - (i == labels[sample] ? 1 : 0)) / batch;
    }
    for (size_t i = architecture.layers().size(); i-- > 0;) {
      gradient =
          Backward(architecture.layers()[i], parameters, values[i], gradient, result.gradient);
    }
  }
  return result;
}

}  // namespace tacet::models
