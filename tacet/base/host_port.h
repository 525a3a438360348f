// Parsing of HOST:PORT addresses as users write them.
#ifndef TACET_BASE_HOST_PORT_H_
#define TACET_BASE_HOST_PORT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tacet::base {

// Host of a server that listens at all addresses of its machine, of version 4 and 6.
inline constexpr std::string_view kAllAddresses = "::";

struct HostPort {
  std::string host = {};  // a DNS name or an address, without brackets
  uint16_t port = 0;      // to listen at, 0: any that is free

  // Whether only this machine reaches it: localhost, 127.0.0.0/8, ::1.
  bool loopback() const;
  std::string text() const;  // in the form that is parsed
};

// "tacet.example:7443", "192.0.2.1:7443", "[2001:db8::1]:7443". InvalidArgument for anything else.
absl::StatusOr<HostPort> ParseHostPort(std::string_view text);

// Where a server listens: the same, and ":7443" or "*:7443" for kAllAddresses.
absl::StatusOr<HostPort> ParseListenAddress(std::string_view text);

}  // namespace tacet::base

#endif  // TACET_BASE_HOST_PORT_H_
