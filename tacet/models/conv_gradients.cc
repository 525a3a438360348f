#include "tacet/models/conv_gradients.h"

#include <algorithm>

#include <dnnl.h>

#include "tacet/base/status.h"
#include "tacet/models/lane_kernels.h"
#include "tacet/models/onednn_program.h"

namespace tacet::models {
namespace {

// Calls visit(row of the patch matrix, first column, number of columns, first input index): in row
// (channel, u, v) of the patches, columns (i, j) for j in a run are input (channel, i + u - h,
// ...).
template <typename Visit>
void ForEachRun(const Layer& layer, const Visit& visit) {
  const auto height = static_cast<ptrdiff_t>(layer.input.height);
  const auto width = static_cast<ptrdiff_t>(layer.input.width);
  const auto kernel = static_cast<ptrdiff_t>(layer.kernel);
  const ptrdiff_t half = (kernel - 1) / 2;
  size_t row = 0;
  for (size_t c = 0; c < layer.input.channels; ++c) {
    for (ptrdiff_t u = 0; u < kernel; ++u) {
      for (ptrdiff_t v = 0; v < kernel; ++v, ++row) {
        const ptrdiff_t left = std::max<ptrdiff_t>(0, half - v);
        const ptrdiff_t right = std::min(width, width + half - v);
        for (ptrdiff_t i = std::max<ptrdiff_t>(0, half - u);
             i < std::min(height, height + half - u) && left < right; ++i) {
          visit(row, static_cast<size_t>(i * width + left), static_cast<size_t>(right - left),
                c * static_cast<size_t>(height * width) +
                    static_cast<size_t>((i + u - half) * width + left + v - half));
        }
      }
    }
  }
}

absl::Status Gemm(char transpose_a, char transpose_b, size_t m, size_t n, size_t k, const float* a,
                  size_t lda, const float* b, size_t ldb, float* c) {
  const dnnl_status_t status =
      dnnl_sgemm(transpose_a, transpose_b, static_cast<dnnl_dim_t>(m), static_cast<dnnl_dim_t>(n),
                 static_cast<dnnl_dim_t>(k), 1.0f, a, static_cast<dnnl_dim_t>(lda), b,
                 static_cast<dnnl_dim_t>(ldb), 0.0f, c, static_cast<dnnl_dim_t>(n));
  if (status == dnnl_success) return absl::OkStatus();
  return absl::InternalError(fmt::format("oneDNN: sgemm returned {}", static_cast<int>(status)));
}

// The largest of four, the first of equals; index into `input`.
template <typename Visit>
void ForEachMaximum(const Layer& layer, std::span<const float> input, const Visit& visit) {
  size_t to = 0;
  for (size_t c = 0; c < layer.output.channels; ++c) {
    for (size_t i = 0; i < layer.output.height; ++i) {
      size_t corner = (c * layer.input.height + 2 * i) * layer.input.width;
      for (size_t j = 0; j < layer.output.width; ++j, ++to, corner += 2) {
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

size_t PatchRows(const Layer& layer) { return layer.input.channels * layer.kernel * layer.kernel; }
size_t Positions(const Layer& layer) { return layer.output.height * layer.output.width; }

}  // namespace

ConvGradients::ConvGradients(std::span<const Layer> layers, size_t count, size_t most_records)
    : layers_(layers.begin(), layers.begin() + static_cast<ptrdiff_t>(count)) {
  size_t patches = 0;
  for (const Layer& layer : layers_) {
    own_parameters_ += layer.weights + layer.biases;
    values_.emplace_back(most_records * layer.output.size());
    if (layer.kind == LayerKind::kConvolution) {
      patches = std::max<size_t>(patches, PatchRows(layer) * Positions(layer));
    }
  }
  if (layers_.empty()) return;
  inputs_.resize(most_records * layers_.front().input.size());
  gradients_.resize(most_records * own_parameters_);
  patches_.resize(patches);
  patch_gradients_.resize(patches);
}

std::span<float> ConvGradients::ValuesBehind(size_t layer, size_t record) {
  const size_t size = layers_[layer].output.size();
  return std::span(values_[layer]).subspan(record * size, size);
}

absl::Status ConvGradients::Forward(std::span<const float> inputs, size_t records,
                                    std::span<float> outputs) {
  PrepareThread();
  records_ = records;
  std::ranges::copy(inputs, inputs_.begin());
  const size_t input_size = layers_.front().input.size();
  for (size_t record = 0; record < records; ++record) {
    std::span<const float> input = inputs.subspan(record * input_size, input_size);
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      TACET_RETURN_IF_ERROR(ForwardLayer(layer, record, input));
      input = ValuesBehind(layer, record);
    }
    std::ranges::copy(input, outputs.begin() + static_cast<ptrdiff_t>(record * output_size()));
  }
  return absl::OkStatus();
}

absl::Status ConvGradients::ForwardLayer(size_t index, size_t record,
                                         std::span<const float> input) {
  const Layer& layer = layers_[index];
  const std::span<float> output = ValuesBehind(index, record);
  if (layer.kind == LayerKind::kRelu) {
    for (size_t i = 0; i < output.size(); ++i) output[i] = input[i] <= 0 ? 0.0f : input[i];
    return absl::OkStatus();
  }
  if (layer.kind == LayerKind::kMaxPool) {
    ForEachMaximum(layer, input, [&](size_t from, size_t to) { output[to] = input[from]; });
    return absl::OkStatus();
  }
  const size_t rows = PatchRows(layer);
  const size_t positions = Positions(layer);
  std::fill_n(patches_.begin(), rows * positions, 0.0f);
  ForEachRun(layer, [&](size_t row, size_t first, size_t count, size_t from) {
    std::copy_n(input.data() + from, count, patches_.data() + row * positions + first);
  });
  TACET_RETURN_IF_ERROR(Gemm('N', 'N', layer.output.channels, positions, rows,
                             parameters_.data() + layer.first_parameter, rows, patches_.data(),
                             positions, output.data()));
  const float* biases = parameters_.data() + layer.first_parameter + layer.weights;
  for (size_t i = 0; i < output.size(); ++i) output[i] += biases[i / positions];
  return absl::OkStatus();
}

absl::Status ConvGradients::Backward(std::span<const float> output_gradients,
                                     std::span<double> square_norms) {
  PrepareThread();
  const size_t input_size = layers_.front().input.size();
  std::vector<float> gradient;
  for (size_t record = 0; record < records_; ++record) {
    const auto own = output_gradients.subspan(record * output_size(), output_size());
    gradient.assign(own.begin(), own.end());
    for (size_t layer = layers_.size(); layer-- > 0;) {
      const std::span<const float> input =
          layer > 0 ? ValuesBehind(layer - 1, record)
                    : std::span(inputs_).subspan(record * input_size, input_size);
      TACET_RETURN_IF_ERROR(BackwardLayer(layer, record, input, gradient));
    }
    const float* own_gradient = gradients_.data() + record * own_parameters_;
    double square = 0;
    for (uint64_t p = 0; p < own_parameters_; ++p) {
      square += static_cast<double>(own_gradient[p]) * static_cast<double>(own_gradient[p]);
    }
    square_norms[record] += square;
  }
  return absl::OkStatus();
}

absl::Status ConvGradients::BackwardLayer(size_t index, size_t record, std::span<const float> input,
                                          std::vector<float>& gradient) {
  const Layer& layer = layers_[index];
  if (layer.kind == LayerKind::kRelu) {
    for (size_t i = 0; i < gradient.size(); ++i) {
      if (input[i] <= 0) gradient[i] = 0;
    }
    return absl::OkStatus();
  }
  next_.assign(layer.input.size(), 0.0f);
  if (layer.kind == LayerKind::kMaxPool) {
    ForEachMaximum(layer, input, [&](size_t from, size_t to) { next_[from] += gradient[to]; });
    gradient.swap(next_);
    return absl::OkStatus();
  }
  const size_t rows = PatchRows(layer);
  const size_t positions = Positions(layer);
  const size_t channels = layer.output.channels;
  float* own = gradients_.data() + record * own_parameters_ + layer.first_parameter;
  std::fill_n(patches_.begin(), rows * positions, 0.0f);
  ForEachRun(layer, [&](size_t row, size_t first, size_t count, size_t from) {
    std::copy_n(input.data() + from, count, patches_.data() + row * positions + first);
  });
  TACET_RETURN_IF_ERROR(Gemm('N', 'T', channels, rows, positions, gradient.data(), positions,
                             patches_.data(), positions, own));
  for (size_t c = 0; c < channels; ++c) {
    double bias = 0;
    for (size_t i = 0; i < positions; ++i) bias += static_cast<double>(gradient[c * positions + i]);
    own[layer.weights + c] = static_cast<float>(bias);
  }
  if (index == 0) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(Gemm('T', 'N', rows, positions, channels,
                             parameters_.data() + layer.first_parameter, rows, gradient.data(),
                             positions, patch_gradients_.data()));
  ForEachRun(layer, [&](size_t row, size_t first, size_t count, size_t from) {
    const float* run = patch_gradients_.data() + row * positions + first;
    for (size_t i = 0; i < count; ++i) next_[from + i] += run[i];
  });
  gradient.swap(next_);
  return absl::OkStatus();
}

void ConvGradients::AddTo(std::span<const double> weights, std::span<double> sum) const {
  for (size_t record = 0; record < records_; ++record) {
    if (weights[record] == 0) continue;
    const float* own = gradients_.data() + record * own_parameters_;
    const double weight = weights[record];
    for (uint64_t p = 0; p < own_parameters_; ++p) {
      sum[p] += weight * static_cast<double>(own[p]);
    }
  }
}

}  // namespace tacet::models
