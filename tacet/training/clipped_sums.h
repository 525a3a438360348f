// Update of a site whose unit is a record or a person: a sum of clipped gradients.
#ifndef TACET_TRAINING_CLIPPED_SUMS_H_
#define TACET_TRAINING_CLIPPED_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "tacet/data/dataset.h"
#include "tacet/data/unit_rows.h"
#include "tacet/models/record_gradients.h"

namespace tacet::training {

// Gradients are clipped to C (1 - kClippingSlack), so that a unit moves the floats that are sent,
// clamped to [-b, b], by at most C with all rounding counted, as long as b sqrt(d) <= 2^14 C:
//   the clipped gradient itself                                  (1 - 2^-8) C
//   float sums of the other records of its block, in two worlds  2 * 34 * 2^-24 * 256 C < 2^-9.9 C
//   the final rounding to float, in two worlds                   2^-23 b sqrt(d) <= 2^-9 C
// Sums of different chunks are formed in double, whose rounding is below all this.
inline constexpr double kClippingSlack = 0x1p-8;

// One worker's memory; refers to what it is made from. Not thread-safe.
class ClippedSums {
 public:
  ClippedSums(const models::Architecture& architecture, const data::Dataset& dataset,
              const data::UnitRows& units);

  // A row that cannot be read keeps its place in its block and adds zero.
  // Trainer::SumClippedGradients (trainer/learner.h); all arguments were checked.
  absl::Status Sum(std::span<const float> model, uint64_t client, std::span<const uint32_t> units,
                   double clip_norm, std::span<float> sum);

 private:
  // Records share float sums only with others of the same block, a fixed range of indices: a record
  // more or less then changes the rounding of one block.
  static constexpr uint32_t kBlock = 256;

  absl::Status AddRecords(uint64_t client, std::span<const uint32_t> units, double clip_norm);
  absl::Status AddPerson(uint64_t client, uint32_t unit, double clip_norm);
  // Norms of the gradients of these rows, at most RecordGradients::kMaxRecords.
  absl::StatusOr<std::span<const double>> Norms(std::span<const uint32_t> rows);

  const data::Dataset& dataset_;
  const data::UnitRows& units_;
  models::RecordGradients gradients_;
  size_t input_size_;
  std::vector<double> total_, person_;
  std::vector<uint32_t> rows_, labels_;
};

}  // namespace tacet::training

#endif  // TACET_TRAINING_CLIPPED_SUMS_H_
