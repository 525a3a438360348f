#include "tacet/models/dense_gradients.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tacet/models/lane_kernels.h"
#include "tacet/models/softmax.h"

namespace tacet::models {
namespace {

constexpr size_t kStride = DenseGradients::kMaxRecords;  // between rows of [..][record]
static_assert(kStride % lanes::kUnit == 0);

size_t Padded(size_t count) { return (count + lanes::kUnit - 1) / lanes::kUnit * lanes::kUnit; }

}  // namespace

DenseGradients::DenseGradients(std::span<const Layer> layers, size_t first) {
  for (size_t i = first; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    if (layer.kind != LayerKind::kDense) {
      dense_.back().relu = true;
      continue;
    }
    Dense dense{.layer = layer,
                .inputs = layer.input.size(),
                .outputs = layer.output.size(),
                .padded_inputs = Padded(layer.input.size())};
    dense.x.assign(dense.inputs * kStride, 0);
    dense.x_by_row.assign(kMaxRecords * dense.padded_inputs, 0);
    dense.y.assign(dense.outputs * kStride, 0);
    dense.gradients.assign(dense.outputs * kStride, 0);
    scaled_.resize(std::max(scaled_.size(), dense.outputs * kStride));
    product_.resize(std::max(product_.size(), dense.outputs * dense.padded_inputs));
    dense_.push_back(std::move(dense));
  }
  record_scores_.resize(dense_.back().outputs);
  record_gradients_.resize(dense_.back().outputs);
}

size_t DenseGradients::columns() const { return Padded(records_); }

void DenseGradients::Load(std::span<const float> parameters) {
  for (Dense& dense : dense_) {
    const std::span<const float> own = parameters.subspan(dense.layer.first_parameter);
    dense.weights.assign(own.begin(), own.begin() + static_cast<ptrdiff_t>(dense.layer.weights));
    const std::span<const float> biases = own.subspan(dense.layer.weights, dense.layer.biases);
    dense.biases.assign(biases.begin(), biases.end());
  }
}

void DenseGradients::Forward(std::span<const float> inputs, size_t records) {
  records_ = records;
  Dense& first = dense_.front();
  for (size_t i = 0; i < columns(); ++i) {
    float* row = first.x_by_row.data() + i * first.padded_inputs;
    if (i < records) {
      std::copy_n(inputs.data() + i * first.inputs, first.inputs, row);
    } else {
      std::fill_n(row, first.inputs, 0.0f);
    }
  }
  for (size_t j = 0; j < first.inputs; ++j) {
    float* column = first.x.data() + j * kStride;
    const float* row = first.x_by_row.data() + j;
    for (size_t i = 0; i < columns(); ++i) column[i] = row[i * first.padded_inputs];
  }
  for (size_t layer = 0; layer < dense_.size(); ++layer) {
    Dense& dense = dense_[layer];
    lanes::ActiveKernels().multiply({.a = dense.weights.data(),
                                     .a_row = dense.inputs,
                                     .a_inner = 1,
                                     .x = dense.x.data(),
                                     .x_inner = kStride,
                                     .y = dense.y.data(),
                                     .y_row = kStride,
                                     .rows = dense.outputs,
                                     .inner = dense.inputs,
                                     .columns = columns()});
    for (size_t o = 0; o < dense.outputs; ++o) {
      float* y = dense.y.data() + o * kStride;
      for (size_t i = 0; i < columns(); ++i) {
        const float value = y[i] + dense.biases[o];
        y[i] = dense.relu && !(value > 0) && !std::isnan(value) ? 0.0f : value;
      }
    }
    if (layer + 1 == dense_.size()) break;
    Dense& next = dense_[layer + 1];
    next.x = dense.y;
    for (size_t j = 0; j < next.inputs; ++j) {
      const float* column = next.x.data() + j * kStride;
      float* row = next.x_by_row.data() + j;
      for (size_t i = 0; i < columns(); ++i) row[i * next.padded_inputs] = column[i];
    }
  }
}

void DenseGradients::Backward(std::span<const uint32_t> labels, std::span<double> square_norms,
                              std::span<float> input_gradients) {
  Dense& last = dense_.back();
  for (size_t i = 0; i < columns(); ++i) {
    std::ranges::fill(record_gradients_, 0.0f);
    if (i < records_) {
      for (size_t o = 0; o < last.outputs; ++o) record_scores_[o] = last.y[o * kStride + i];
      CrossEntropyGradient(record_scores_, labels[i], 1.0, record_gradients_);
    }
    for (size_t o = 0; o < last.outputs; ++o) {
      last.gradients[o * kStride + i] = record_gradients_[o];
    }
  }
  const lanes::Kernels& kernels = lanes::ActiveKernels();
  double x_squares[kMaxRecords];
  double gradient_squares[kMaxRecords];
  for (size_t layer = dense_.size(); layer-- > 0;) {
    const Dense& dense = dense_[layer];
    std::fill_n(x_squares, kMaxRecords, 1.0);  // the bias's input is 1
    std::fill_n(gradient_squares, kMaxRecords, 0.0);
    kernels.add_squares(dense.x.data(), kStride, dense.inputs, columns(), x_squares);
    kernels.add_squares(dense.gradients.data(), kStride, dense.outputs, columns(),
                        gradient_squares);
    for (size_t i = 0; i < records_; ++i) square_norms[i] += x_squares[i] * gradient_squares[i];
    if (layer == 0 && input_gradients.empty()) break;
    std::vector<float>& out = layer > 0 ? dense_[layer - 1].gradients : product_;
    out.resize(std::max(out.size(), dense.inputs * kStride));
    kernels.multiply({.a = dense.weights.data(),
                      .a_row = 1,
                      .a_inner = dense.inputs,
                      .x = dense.gradients.data(),
                      .x_inner = kStride,
                      .y = out.data(),
                      .y_row = kStride,
                      .rows = dense.inputs,
                      .inner = dense.outputs,
                      .columns = columns()});
    if (layer > 0) {
      for (size_t j = 0; j < dense.inputs * kStride; ++j) {
        if (dense.x[j] <= 0) out[j] = 0;
      }
    } else {
      for (size_t i = 0; i < records_; ++i) {
        float* row = input_gradients.data() + i * dense.inputs;
        for (size_t j = 0; j < dense.inputs; ++j) row[j] = out[j * kStride + i];
      }
    }
  }
}

void DenseGradients::AddTo(std::span<const double> weights, std::span<double> sum) const {
  // The records that count, closed up.
  uint32_t kept[kMaxRecords];
  size_t count = 0;
  for (size_t i = 0; i < records_; ++i) {
    if (weights[i] != 0) kept[count++] = static_cast<uint32_t>(i);
  }
  if (count == 0) return;
  const lanes::Kernels& kernels = lanes::ActiveKernels();
  std::vector<float> rows;
  for (const Dense& dense : dense_) {
    const float* x = dense.x_by_row.data();
    if (count < records_) {
      rows.resize(count * dense.padded_inputs);
      for (size_t i = 0; i < count; ++i) {
        std::copy_n(x + kept[i] * dense.padded_inputs, dense.padded_inputs,
                    rows.data() + i * dense.padded_inputs);
      }
      x = rows.data();
    }
    for (size_t o = 0; o < dense.outputs; ++o) {
      const float* gradients = dense.gradients.data() + o * kStride;
      double bias = 0;
      for (size_t i = 0; i < count; ++i) {
        auto value = static_cast<float>(weights[kept[i]] * static_cast<double>(gradients[kept[i]]));
        // Below the normal floats rounding could lengthen what was clipped.
        if (std::abs(value) < std::numeric_limits<float>::min()) value = 0;
        scaled_[o * kStride + i] = value;
        bias += static_cast<double>(value);
      }
      sum[dense.layer.first_parameter + dense.layer.weights + o] += bias;
    }
    kernels.multiply({.a = scaled_.data(),
                      .a_row = kStride,
                      .a_inner = 1,
                      .x = x,
                      .x_inner = dense.padded_inputs,
                      .y = product_.data(),
                      .y_row = dense.padded_inputs,
                      .rows = dense.outputs,
                      .inner = count,
                      .columns = dense.padded_inputs});
    kernels.add_rows(product_.data(), dense.padded_inputs, dense.outputs, dense.inputs,
                     sum.data() + dense.layer.first_parameter, dense.inputs);
  }
}

}  // namespace tacet::models
