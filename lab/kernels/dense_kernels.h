// Dense layers in AVX-512, f32: y = W x + b with W as [output][input], the flat vector's own order.
// Every sum is formed in an order that does not depend on the batch.
#ifndef TACET_LAB_KERNELS_DENSE_KERNELS_H_
#define TACET_LAB_KERNELS_DENSE_KERNELS_H_

#include <cstddef>

namespace tacet::lab::kernels::dense {

inline constexpr size_t kUnit = 64;  // inputs come in multiples of this

// Sizes of a batch and a layer; inputs is a multiple of kUnit, weights and batches of inputs are
// aligned to 64 bytes.
struct Sizes {
  size_t batch = 0;
  size_t inputs = 0;
  size_t outputs = 0;
};

// y[sample][output] from x[sample][input].
void Forward(const Sizes& sizes, const float* x, const float* weights, const float* biases,
             float* y);

// Computed from y_gradients: x_gradients = W^T y_gradients, then W -= learning_rate * y_gradients^T
// x and the same for the biases. `scratch` holds batch x outputs values.
void Backward(const Sizes& sizes, const float* x, const float* y_gradients, float learning_rate,
              float* weights, float* biases, float* x_gradients, float* scratch);

}  // namespace tacet::lab::kernels::dense

#endif  // TACET_LAB_KERNELS_DENSE_KERNELS_H_
