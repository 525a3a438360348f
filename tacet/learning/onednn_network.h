// The form of any architecture in oneDNN.
#ifndef TACET_LEARNING_ONEDNN_NETWORK_H_
#define TACET_LEARNING_ONEDNN_NETWORK_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

#include "tacet/learning/architecture.h"
#include "tacet/learning/network.h"
#include "tacet/learning/network_form.h"

namespace tacet::learning {

// oneDNN is held to the instruction set that base::ActiveSimd() says, to f32 and to one thread.
absl::StatusOr<std::unique_ptr<NetworkForm>> NewOnednnNetwork(const Architecture& architecture,
                                                              uint32_t max_batch,
                                                              Network::Mode mode);

}  // namespace tacet::learning

#endif  // TACET_LEARNING_ONEDNN_NETWORK_H_
