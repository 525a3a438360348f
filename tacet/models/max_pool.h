// Max pooling of 2 x 2 with stride 2 and the ReLU that may follow it.
#ifndef TACET_MODELS_MAX_POOL_H_
#define TACET_MODELS_MAX_POOL_H_

#include <cstddef>
#include <cstdint>

namespace tacet::models {

// Maps in the order [outer][row][column][inner]: outer x inner = samples x channels, however they
// are blocked. Results have height / 2 rows and width / 2 columns; an odd last row or column is
// left out.
struct PoolShape {
  size_t outer = 0;
  size_t height = 0;
  size_t width = 0;
  size_t inner = 0;

  size_t results() const { return outer * (height / 2) * (width / 2) * inner; }
};

// result = the largest of four, of five with 0 when `relu`. winner[i] says which of the four it was
// (0 to 3 in reading order), or 4 when none was above 0. Both have shape.results() values.
void MaxPool(const PoolShape& shape, bool relu, const float* source, float* result,
             int32_t* winner);

// Gives each result's gradient to its winner; every other source gets 0.
void MaxPoolBackward(const PoolShape& shape, const float* gradient, const int32_t* winner,
                     float* source_gradient);

}  // namespace tacet::models

#endif  // TACET_MODELS_MAX_POOL_H_
