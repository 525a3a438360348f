// Interface that carries messages between members and the server.
#ifndef TACET_SIMULATION_CHANNEL_H_
#define TACET_SIMULATION_CHANNEL_H_

#include <cstdint>

#include "absl/status/status.h"

#include "tacet/base/bytes.h"

namespace tacet::simulation {

enum class MessageKind : uint8_t {
  kUpload,       // participant -> server
  kClosedRound,  // server -> members
  kRoster,       // server -> committee member
  kVote,         // committee member -> server -> members
  kUnmaskShare,  // committee member -> server -> members
};

// Carries one message. A channel may lose a message (an error) or deliver other bytes than were
// sent: the receiver checks. Thread-safe.
class Channel {
 public:
  virtual ~Channel() = default;

  // `member` is the client at the member's end. On OK, `message` holds what arrived.
  virtual absl::Status Carry(MessageKind kind, uint64_t member, base::Bytes& message) = 0;
};

}  // namespace tacet::simulation

#endif  // TACET_SIMULATION_CHANNEL_H_
