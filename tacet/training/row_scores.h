// Scores of a model on chosen samples.
#ifndef TACET_TRAINING_ROW_SCORES_H_
#define TACET_TRAINING_ROW_SCORES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/data/dataset.h"
#include "tacet/models/architecture.h"

namespace tacet::training {

// Score of class 1 minus score of class 0 for each row. InvalidArgument unless the architecture has
// two classes and takes the data set's samples.
absl::StatusOr<std::vector<double>> Margins(const models::Architecture& architecture,
                                            std::span<const float> model,
                                            const data::Dataset& dataset,
                                            std::span<const uint32_t> rows);

// log(p / (1 - p)), p what the model gives the true class of each row: the class's score minus the
// logarithm of the others' exponentials added up. InvalidArgument unless the architecture takes the
// data set's samples and has as many classes, two at least.
absl::StatusOr<std::vector<double>> LabelLogOdds(const models::Architecture& architecture,
                                                 std::span<const float> model,
                                                 const data::Dataset& dataset,
                                                 std::span<const uint32_t> rows);

struct Quality {
  double accuracy = 0;        // of saying class 1 where the margin is positive
  std::optional<double> auc;  // auc.h
};
Quality QualityOf(std::span<const double> margins, const data::Dataset& dataset,
                  std::span<const uint32_t> rows);

}  // namespace tacet::training

#endif  // TACET_TRAINING_ROW_SCORES_H_
