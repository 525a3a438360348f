// The form of femnist-cnn and femnist-cnn-norm in our own kernels; see conv_kernels.h.
#ifndef TACET_LEARNING_CONV_NETWORK_H_
#define TACET_LEARNING_CONV_NETWORK_H_

#include <cstdint>
#include <memory>

#include "tacet/learning/architecture.h"
#include "tacet/learning/network.h"
#include "tacet/learning/network_form.h"

namespace tacet::learning {

// True when the architecture is convolution 5 x 5 x 128 on one channel, pool, ReLU, convolution
// 3 x 3 x 64, pool, ReLU, dense (a multiple of 64), ReLU, dense, with a norm before each dense
// layer or before none, and the processor has AVX-512 (for bf16: with dot products), not forbidden
// by TACET_SIMD.
bool HasConvNetwork(const Architecture& architecture, Precision precision);

// Needs HasConvNetwork.
std::unique_ptr<NetworkForm> NewConvNetwork(const Architecture& architecture, uint32_t max_batch,
                                            Network::Mode mode, Precision precision);

}  // namespace tacet::learning

#endif  // TACET_LEARNING_CONV_NETWORK_H_
