#include "tacet/models/network.h"

#include <utility>

#include "tacet/base/status.h"
#include "tacet/models/network_form.h"
#include "tacet/models/onednn_network.h"
#include "tacet/models/softmax.h"

namespace tacet::models {

absl::Status CheckPrecision(const Architecture& architecture, Precision precision) {
  if (precision != Precision::kBf16 || FindRegisteredForm(architecture, precision).has_value()) {
    return absl::OkStatus();
  }
  return base::InvalidArgument(
      "precision is bf16, and this program has no code in bf16 for this model on this processor: "
      "set it to auto or f32");
}

Network::Network(const Architecture& architecture, uint32_t max_batch, Mode mode,
                 std::unique_ptr<NetworkForm> form, std::string_view form_name)
    : dimension_(architecture.dimension()),
      classes_(architecture.classes()),
      max_batch_(max_batch),
      mode_(mode),
      form_(std::move(form)),
      form_name_(form_name) {}
Network::~Network() = default;

absl::StatusOr<std::unique_ptr<Network>> Network::Create(const Architecture& architecture,
                                                         uint32_t max_batch, Mode mode,
                                                         const NetworkOptions& options) {
  if (max_batch < 1) return base::InvalidArgument("a network needs batches of at least 1");
  TACET_RETURN_IF_ERROR(CheckPrecision(architecture, options.precision));
  if (const auto registered = FindRegisteredForm(architecture, options.precision)) {
    return std::unique_ptr<Network>(new Network(
        architecture, max_batch, mode, registered->create(max_batch, mode), registered->name));
  }
  TACET_ASSIGN_OR_RETURN(std::unique_ptr<NetworkForm> form,
                         NewOnednnNetwork(architecture, max_batch, mode));
  return std::unique_ptr<Network>(
      new Network(architecture, max_batch, mode, std::move(form), "onednn"));
}

absl::Status Network::CheckDimension(size_t size) const {
  if (size == dimension_) return absl::OkStatus();
  return base::InvalidArgument("model has {} parameters, expected {}", size, dimension_);
}

absl::Status Network::CheckBatch(size_t batch) const {
  if (batch >= 1 && batch <= max_batch_) return absl::OkStatus();
  return base::InvalidArgument("a batch of {} samples, expected 1 to {}", batch, max_batch_);
}

absl::Status Network::Load(std::span<const float> parameters) {
  TACET_RETURN_IF_ERROR(CheckDimension(parameters.size()));
  return form_->Load(parameters);
}

absl::Status Network::Store(std::span<float> parameters) {
  TACET_RETURN_IF_ERROR(CheckDimension(parameters.size()));
  return form_->Store(parameters);
}

std::span<float> Network::input() { return form_->input(); }

absl::StatusOr<std::span<const float>> Network::Forward(uint32_t batch) {
  TACET_RETURN_IF_ERROR(CheckBatch(batch));
  std::span<const float> scores;
  TACET_RETURN_IF_ERROR(form_->Forward(batch, scores));
  return scores;
}

absl::Status Network::Step(std::span<const uint32_t> labels, float learning_rate) {
  if (mode_ != Mode::kTraining) {
    return base::FailedPrecondition("this network was made for inference only");
  }
  TACET_RETURN_IF_ERROR(CheckBatch(labels.size()));
  for (const uint32_t label : labels) {
    if (label >= classes_) {
      return base::InvalidArgument("label {} where the model has {} classes", label, classes_);
    }
  }
  const auto batch = static_cast<uint32_t>(labels.size());
  std::span<const float> scores;
  TACET_RETURN_IF_ERROR(form_->Forward(batch, scores));
  const std::span<float> gradients = form_->score_gradients(batch);
  const double weight = 1.0 / static_cast<double>(batch);
  for (size_t i = 0; i < batch; ++i) {
    CrossEntropyGradient(scores.subspan(i * classes_, classes_), labels[i], weight,
                         gradients.subspan(i * classes_, classes_));
  }
  return form_->Backward(batch, learning_rate);
}

}  // namespace tacet::models
