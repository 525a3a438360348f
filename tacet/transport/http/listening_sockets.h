// Listening sockets of a server.
#ifndef TACET_TRANSPORT_HTTP_LISTENING_SOCKETS_H_
#define TACET_TRANSPORT_HTTP_LISTENING_SOCKETS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/host_port.h"
#include "tacet/transport/http/descriptor.h"

namespace tacet::transport::http {

struct ListeningSockets {
  std::vector<Descriptor> sockets;  // one for each address of the host, each of one version
  base::HostPort at;                // with the port that was found
};
// The host kAllAddresses listens at all addresses of version 4 and 6; a system without version 6
// listens at those of version 4. Port 0: the system chooses one. Unavailable when the address
// cannot be listened at; two servers on one port are an error.
absl::StatusOr<ListeningSockets> ListenAt(const base::HostPort& at);

// A connection that came in.
struct Accepted {
  Descriptor socket;
  std::string address;  // as Peer::address
};
enum class AcceptState { kAccepted, kNoneNow, kNoRoom };
struct AcceptResult {
  AcceptState state = AcceptState::kNoneNow;
  Accepted accepted = {};
};
// kNoRoom when the system has no descriptor or memory for it: it stays in the system's queue.
AcceptResult Accept(int listener);

// Raises the process's limit of descriptors as far as it may. The number of connections for which
// it has room, at most `wanted`: databases and blob stores need some descriptors, too.
size_t RoomForConnections(size_t wanted);

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_LISTENING_SOCKETS_H_
