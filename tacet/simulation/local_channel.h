// Channel for messages within one process.
#ifndef TACET_SIMULATION_LOCAL_CHANNEL_H_
#define TACET_SIMULATION_LOCAL_CHANNEL_H_

#include "tacet/simulation/channel.h"

namespace tacet::simulation {

// Delivers every message as it was sent.
class LocalChannel final : public Channel {
 public:
  absl::Status Carry(MessageKind, uint64_t, base::Bytes&) override { return absl::OkStatus(); }
};

}  // namespace tacet::simulation

#endif  // TACET_SIMULATION_LOCAL_CHANNEL_H_
