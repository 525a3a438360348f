// Layer norm without parameters: shifts and scales the values of every sample to one mean and one
// variance.
#ifndef TACET_MODELS_LAYER_NORM_H_
#define TACET_MODELS_LAYER_NORM_H_

#include <cstddef>

namespace tacet::models {

// Added to the variance, so that constant values have a result (0) and a bounded gradient.
inline constexpr double kNormEpsilon = 1e-5;

// For `samples` vectors of `size` values each, one after the other:
//   y = gain (x - m) / s,  m the mean of the sample's values, s^2 = mean of (x - m)^2 +
//   kNormEpsilon
// (Ba, Kiros and Hinton 2016, without their gains and biases by value).
struct NormShape {
  size_t samples = 0;
  size_t size = 0;
  float gain = 1;  // not 0
};

// Sets y (may be x) and factors[sample] = gain / s. A sample's result depends on that sample alone.
void LayerNorm(const NormShape& shape, const float* x, float* y, float* factors);

// Goes from the gradients g by y to those by x, in place; y and factors are as LayerNorm left them:
//   gain / s (g - mean(g) - z mean(g z)),  z = y / gain
void LayerNormBackward(const NormShape& shape, const float* y, const float* factors,
                       float* gradients);

}  // namespace tacet::models

#endif  // TACET_MODELS_LAYER_NORM_H_
