// Implementation of femnist-cnn and femnist-cnn-norm in our own kernels; see conv_kernels.h.
#ifndef TACET_MODELS_CONV_NETWORK_H_
#define TACET_MODELS_CONV_NETWORK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "tacet/models/architecture.h"
#include "tacet/models/network.h"
#include "tacet/models/network_form.h"

namespace tacet::models {

// Instruction set of the convolutions' products.
enum class ConvForm {
  kF32,          // AVX-512
  kDotProducts,  // the same, the second one's forward in bf16 dot products
  kTiles,        // AMX, in bf16, all but the first one's gradient
};
std::string_view ConvFormName(ConvForm form);  // conv-f32, conv-bf16, conv-amx

// Network for an architecture that is convolution 5 x 5 x 128 on one channel, pool, ReLU,
// convolution 3 x 3 x 64, pool, ReLU, dense (a multiple of 64), ReLU, dense, with a norm before
// each dense layer or before none. None for any other architecture, and where the processor or
// TACET_SIMD does not allow it.
std::optional<ConvForm> ConvFormOf(const Architecture& architecture, Precision precision);

std::unique_ptr<NetworkForm> NewConvNetwork(const Architecture& architecture, uint32_t max_batch,
                                            Network::Mode mode, ConvForm form);

}  // namespace tacet::models

#endif  // TACET_MODELS_CONV_NETWORK_H_
