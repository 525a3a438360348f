// Gradients of single records: their norms, and sums that weight each gradient by a factor of its
// own.
#ifndef TACET_MODELS_RECORD_GRADIENTS_H_
#define TACET_MODELS_RECORD_GRADIENTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/models/architecture.h"
#include "tacet/models/conv_gradients.h"
#include "tacet/models/dense_gradients.h"

namespace tacet::models {

// One worker's model and memory for up to kMaxRecords records at a time; g_i is the gradient of
// record i's softmax cross-entropy by the parameters, correct to the rounding of float. g_i and its
// norm depend on record i alone, to the last bit. Not thread-safe.
class RecordGradients {
 public:
  static constexpr size_t kMaxRecords = DenseGradients::kMaxRecords;

  // InvalidArgument for an architecture with norms: their gradients are not formed here.
  static absl::Status CheckArchitecture(const Architecture& architecture);

  // An architecture that passes the check.
  explicit RecordGradients(const Architecture& architecture);

  void Load(std::span<const float> parameters);  // architecture.dimension() values

  // Where the caller writes records: one after the other, architecture.input_size() values each.
  std::span<float> input() { return input_; }

  // Forward and backward for the first labels.size() <= kMaxRecords records of input(); every
  // label < classes. Returns ||g_i||, valid until the next call; +infinity for a gradient that is
  // not finite or too long for a double.
  absl::StatusOr<std::span<const double>> Norms(std::span<const uint32_t> labels);

  // sum[p] += sum over the same records of weights[i] g_i[p]. With weights[i] = 0 a record is left
  // out, whatever it holds. For the dense layers up to kMaxRecords terms are added in float:
  // the result is that of the exact products to (kMaxRecords + 2) 2^-24 sum |weights[i] g_i|.
  void AddTo(std::span<const double> weights, std::span<double> sum) const;

 private:
  ConvGradients front_;
  DenseGradients dense_;
  size_t input_size_;
  std::vector<float> input_;
  std::vector<float> front_outputs_, front_gradients_;
  std::vector<double> norms_;
};

}  // namespace tacet::models

#endif  // TACET_MODELS_RECORD_GRADIENTS_H_
