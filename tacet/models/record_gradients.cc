#include "tacet/models/record_gradients.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tacet/base/status.h"

namespace tacet::models {
namespace {

size_t FirstDense(const Architecture& architecture) {
  const auto found = std::ranges::find(architecture.layers(), LayerKind::kDense, &Layer::kind);
  return static_cast<size_t>(found - architecture.layers().begin());
}

}  // namespace

absl::Status RecordGradients::CheckArchitecture(const Architecture& architecture) {
  if (std::ranges::count(architecture.layers(), LayerKind::kNorm, &Layer::kind) == 0) {
    return absl::OkStatus();
  }
  return base::InvalidArgument(
      "unit record or person needs a model without layer norms: femnist-cnn, mlp or logistic");
}

RecordGradients::RecordGradients(const Architecture& architecture)
    : front_(architecture.layers(), FirstDense(architecture), kMaxRecords),
      dense_(architecture.layers(), FirstDense(architecture)),
      input_size_(architecture.input_size()),
      input_(kMaxRecords * input_size_) {
  if (front_.empty()) return;
  front_outputs_.resize(kMaxRecords * front_.output_size());
  front_gradients_.resize(kMaxRecords * front_.output_size());
}

void RecordGradients::Load(std::span<const float> parameters) {
  if (!front_.empty()) front_.Load(parameters);
  dense_.Load(parameters);
}

absl::StatusOr<std::span<const double>> RecordGradients::Norms(std::span<const uint32_t> labels) {
  const size_t records = labels.size();
  if (records < 1 || records > kMaxRecords) {
    return base::InvalidArgument("gradients of {} records, expected 1 to {}", records, kMaxRecords);
  }
  norms_.assign(records, 0.0);
  const std::span<const float> inputs = std::span(input_).first(records * input_size_);
  if (front_.empty()) {
    dense_.Forward(inputs, records);
    dense_.Backward(labels, norms_, {});
  } else {
    const size_t size = records * front_.output_size();
    const std::span<float> outputs = std::span(front_outputs_).first(size);
    const std::span<float> gradients = std::span(front_gradients_).first(size);
    TACET_RETURN_IF_ERROR(front_.Forward(inputs, records, outputs));
    dense_.Forward(outputs, records);
    dense_.Backward(labels, norms_, gradients);
    TACET_RETURN_IF_ERROR(front_.Backward(gradients, norms_));
  }
  for (double& norm : norms_) {
    norm = std::isfinite(norm) ? std::sqrt(norm) : std::numeric_limits<double>::infinity();
  }
  return std::span<const double>(norms_);
}

void RecordGradients::AddTo(std::span<const double> weights, std::span<double> sum) const {
  dense_.AddTo(weights, sum);
  if (!front_.empty()) front_.AddTo(weights, sum);
}

}  // namespace tacet::models
