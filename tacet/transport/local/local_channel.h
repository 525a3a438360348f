// Messages between parts of one process.
#ifndef TACET_TRANSPORT_LOCAL_LOCAL_CHANNEL_H_
#define TACET_TRANSPORT_LOCAL_LOCAL_CHANNEL_H_

#include "tacet/federation/channel.h"

namespace tacet::transport::local {

// Delivers every message as it was sent.
class LocalChannel final : public federation::Channel {
 public:
  absl::Status Carry(federation::MessageKind, uint64_t, base::Bytes&) override {
    return absl::OkStatus();
  }
};

}  // namespace tacet::transport::local

#endif  // TACET_TRANSPORT_LOCAL_LOCAL_CHANNEL_H_
