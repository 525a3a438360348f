// Implementation of any architecture in oneDNN.
#ifndef TACET_MODELS_ONEDNN_NETWORK_H_
#define TACET_MODELS_ONEDNN_NETWORK_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

#include "tacet/models/architecture.h"
#include "tacet/models/network.h"
#include "tacet/models/network_form.h"

namespace tacet::models {

// oneDNN is held to the instruction set that base::ActiveSimd() says, to f32 and to one thread.
absl::StatusOr<std::unique_ptr<NetworkForm>> NewOnednnNetwork(const Architecture& architecture,
                                                              uint32_t max_batch,
                                                              Network::Mode mode);

}  // namespace tacet::models

#endif  // TACET_MODELS_ONEDNN_NETWORK_H_
