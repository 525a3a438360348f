// HOST:PORT as people write it.
#ifndef TACET_TRANSPORT_GRPC_HOST_PORT_H_
#define TACET_TRANSPORT_GRPC_HOST_PORT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tacet::transport::grpc {

struct HostPort {
  std::string host;  // a DNS name or an address, without brackets
  uint16_t port = 0;
};

// "tacet.example:7443", "192.0.2.1:7443", "[2001:db8::1]:7443". InvalidArgument for anything else.
absl::StatusOr<HostPort> ParseHostPort(std::string_view text);
std::string HostPortText(const HostPort& at);

}  // namespace tacet::transport::grpc

#endif  // TACET_TRANSPORT_GRPC_HOST_PORT_H_
