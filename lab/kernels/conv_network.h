// Registered form of femnist-cnn and femnist-cnn-norm in kernels of their own (conv_kernels.h).
#ifndef TACET_LAB_KERNELS_CONV_NETWORK_H_
#define TACET_LAB_KERNELS_CONV_NETWORK_H_

#include <optional>

#include "tacet/models/architecture.h"
#include "tacet/models/network.h"
#include "tacet/models/network_form.h"

namespace tacet::lab::kernels {

// The form of an architecture that is convolution 5 x 5 x 128 on one channel, pool, ReLU,
// convolution 3 x 3 x 64, pool, ReLU, dense (a multiple of 64), ReLU, dense, with a norm before
// each dense layer or before none. None for any other architecture, and where the processor or
// TACET_SIMD does not allow it. Its name says in which instructions the convolutions multiply:
//   conv-f32   AVX-512
//   conv-bf16  the same, the second convolution's forward pass in bf16 dot products
//   conv-amx   AMX tiles of bf16, all but the first convolution's gradient
std::optional<models::RegisteredForm> FindConvForm(const models::Architecture& architecture,
                                                   models::Precision precision);

// Registers it for all networks of this program.
void RegisterConvForm();

}  // namespace tacet::lab::kernels

#endif  // TACET_LAB_KERNELS_CONV_NETWORK_H_
