#include "tacet/learning/row_scores.h"

#include <algorithm>
#include <memory>

#include "tacet/base/status.h"
#include "tacet/learning/auc.h"
#include "tacet/learning/network.h"

namespace tacet::learning {

absl::StatusOr<std::vector<double>> Margins(const Architecture& architecture,
                                            std::span<const float> model, const Dataset& dataset,
                                            std::span<const uint32_t> rows) {
  constexpr size_t kBatch = 64;
  if (architecture.classes() != 2 || architecture.input_size() != dataset.input_size()) {
    return base::InvalidArgument(
        "margins need 2 classes and samples of {} values; the model has {} classes, {} has samples "
        "of {}",
        architecture.input_size(), architecture.classes(), dataset.name(), dataset.input_size());
  }
  TACET_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network,
                         Network::Create(architecture, kBatch, Network::Mode::kInference));
  TACET_RETURN_IF_ERROR(network->Load(model));
  const size_t inputs = architecture.input_size();
  std::vector<double> margins;
  for (size_t first = 0; first < rows.size(); first += kBatch) {
    const auto batch = rows.subspan(first, std::min(kBatch, rows.size() - first));
    for (size_t i = 0; i < batch.size(); ++i) {
      dataset.CopyInput(batch[i], network->input().subspan(i * inputs, inputs));
    }
    TACET_ASSIGN_OR_RETURN(const std::span<const float> scores,
                           network->Forward(static_cast<uint32_t>(batch.size())));
    for (size_t i = 0; i < batch.size(); ++i) {
      margins.push_back(static_cast<double>(scores[2 * i + 1]) -
                        static_cast<double>(scores[2 * i]));
    }
  }
  return margins;
}

Quality QualityOf(std::span<const double> margins, const Dataset& dataset,
                  std::span<const uint32_t> rows) {
  std::vector<uint32_t> labels;
  double correct = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    labels.push_back(dataset.label(rows[i]));
    correct += (margins[i] > 0) == (labels.back() == 1) ? 1 : 0;
  }
  return {.accuracy = rows.empty() ? 0 : correct / static_cast<double>(rows.size()),
          .auc = AreaUnderCurve(margins, labels)};
}

}  // namespace tacet::learning
