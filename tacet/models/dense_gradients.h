// Dense layers at the end of an architecture: gradients of single records, from outer products.
#ifndef TACET_MODELS_DENSE_GRADIENTS_H_
#define TACET_MODELS_DENSE_GRADIENTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tacet/models/architecture.h"

namespace tacet::models {

// The gradient of a dense layer y = W x + b by one record is the outer product of its y-gradient e
// and its input x, so that its squared norm is ||e||^2 (||x||^2 + 1) and needs no gradient at all
// (Goodfellow 2015), and a weighted sum over records is one product of matrices.
//
// Up to kMaxRecords records are computed side by side, each by operations of its own: e, x and the
// norm of a record depend, to the last bit, on that record alone. Only AddTo mixes records; it adds
// at most kMaxRecords products in float before it continues in double.
class DenseGradients {
 public:
  static constexpr size_t kMaxRecords = 32;

  // layers[first ...] are dense layers with ReLUs between them; the last one gives the scores.
  DenseGradients(std::span<const Layer> layers, size_t first);

  // All parameters of the architecture.
  void Load(std::span<const float> parameters);

  // Input of the first dense layer, record after record, without gaps.
  void Forward(std::span<const float> inputs, size_t records);
  // Scores to gradients: calls CrossEntropyGradient of each record. square_norms[i] +=
  // ||g_i||^2 of these layers' parameters. When `input_gradients` is not empty it receives the
  // gradients of the inputs, record after record.
  void Backward(std::span<const uint32_t> labels, std::span<double> square_norms,
                std::span<float> input_gradients);
  // sum[p] += sum over records of weights[i] g_i[p], p an index of the flat parameter vector. A
  // weight of 0 leaves the record out, whatever it holds.
  void AddTo(std::span<const double> weights, std::span<double> sum) const;

 private:
  struct Dense {
    Layer layer;
    bool relu = false;         // behind it
    size_t inputs = 0;         // of the layer
    size_t outputs = 0;        // of the layer
    size_t padded_inputs = 0;  // to a multiple of lanes::kUnit
    std::vector<float> weights = {};
    std::vector<float> biases = {};
    std::vector<float> x = {};          // [input][record]
    std::vector<float> x_by_row = {};   // [record][padded input]
    std::vector<float> y = {};          // [output][record], behind the ReLU
    std::vector<float> gradients = {};  // of y before the ReLU, [output][record]
  };

  size_t columns() const;  // records, to a multiple of lanes::kUnit

  std::vector<Dense> dense_;
  size_t records_ = 0;
  std::vector<float> record_scores_, record_gradients_;
  mutable std::vector<float> scaled_, product_;
};

}  // namespace tacet::models

#endif  // TACET_MODELS_DENSE_GRADIENTS_H_
