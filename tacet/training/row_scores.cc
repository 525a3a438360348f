#include "tacet/training/row_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "tacet/attack/auc.h"
#include "tacet/base/status.h"
#include "tacet/models/network.h"

namespace tacet::training {

namespace {

// Calls use(row, scores) for each row in order, scores one for each class.
template <typename Use>
absl::Status ForEachRow(const models::Architecture& architecture, std::span<const float> model,
                        const data::Dataset& dataset, std::span<const uint32_t> rows,
                        const Use& use) {
  constexpr size_t kBatch = 64;
  TACET_ASSIGN_OR_RETURN(
      const std::unique_ptr<models::Network> network,
      models::Network::Create(architecture, kBatch, models::Network::Mode::kInference));
  TACET_RETURN_IF_ERROR(network->Load(model));
  const size_t inputs = architecture.input_size();
  const size_t classes = architecture.classes();
  for (size_t first = 0; first < rows.size(); first += kBatch) {
    const auto batch = rows.subspan(first, std::min(kBatch, rows.size() - first));
    for (size_t i = 0; i < batch.size(); ++i) {
      dataset.CopyInput(batch[i], network->input().subspan(i * inputs, inputs));
    }
    TACET_ASSIGN_OR_RETURN(const std::span<const float> scores,
                           network->Forward(static_cast<uint32_t>(batch.size())));
    for (size_t i = 0; i < batch.size(); ++i) use(batch[i], scores.subspan(i * classes, classes));
  }
  return absl::OkStatus();
}

double LogOdds(std::span<const float> scores, uint32_t label) {
  double largest = -std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < scores.size(); ++k) {
    if (k != label) largest = std::max(largest, static_cast<double>(scores[k]));
  }
  double others = 0;
  for (size_t k = 0; k < scores.size(); ++k) {
    if (k != label) others += std::exp(static_cast<double>(scores[k]) - largest);
  }
  return static_cast<double>(scores[label]) - largest - std::log(others);
}

}  // namespace

absl::StatusOr<std::vector<double>> Margins(const models::Architecture& architecture,
                                            std::span<const float> model,
                                            const data::Dataset& dataset,
                                            std::span<const uint32_t> rows) {
  if (architecture.classes() != 2 || architecture.input_size() != dataset.input_size()) {
    return base::InvalidArgument(
        "margins need 2 classes and samples of {} values; the model has {} classes, {} has samples "
        "of {}",
        architecture.input_size(), architecture.classes(), dataset.name(), dataset.input_size());
  }
  std::vector<double> margins;
  TACET_RETURN_IF_ERROR(
      ForEachRow(architecture, model, dataset, rows, [&](uint32_t, std::span<const float> scores) {
        margins.push_back(static_cast<double>(scores[1]) - static_cast<double>(scores[0]));
      }));
  return margins;
}

absl::StatusOr<std::vector<double>> LabelLogOdds(const models::Architecture& architecture,
                                                 std::span<const float> model,
                                                 const data::Dataset& dataset,
                                                 std::span<const uint32_t> rows) {
  const bool fits = architecture.classes() >= 2 && architecture.classes() == dataset.classes() &&
                    architecture.input_size() == dataset.input_size();
  if (!fits) {
    return base::InvalidArgument(
        "the model takes samples of {} values in {} classes, {} has samples of {} in {}",
        architecture.input_size(), architecture.classes(), dataset.name(), dataset.input_size(),
        dataset.classes());
  }
  std::vector<double> odds;
  TACET_RETURN_IF_ERROR(ForEachRow(architecture, model, dataset, rows,
                                   [&](uint32_t row, std::span<const float> scores) {
                                     odds.push_back(LogOdds(scores, dataset.label(row)));
                                   }));
  return odds;
}

Quality QualityOf(std::span<const double> margins, const data::Dataset& dataset,
                  std::span<const uint32_t> rows) {
  std::vector<uint32_t> labels;
  double correct = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    labels.push_back(dataset.label(rows[i]));
    correct += (margins[i] > 0) == (labels.back() == 1) ? 1 : 0;
  }
  return {.accuracy = rows.empty() ? 0 : correct / static_cast<double>(rows.size()),
          .auc = attack::AreaUnderCurve(margins, labels)};
}

}  // namespace tacet::training
