#include <charconv>

#include <arpa/inet.h>

#include "tacet/base/status.h"
#include "tacet/transport/http/http_server.h"

namespace tacet::transport::http {

bool HostPort::loopback() const {
  if (host == "localhost") return true;
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

std::string HostPort::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

absl::StatusOr<HostPort> ParseHostPort(std::string_view text) {
  const auto wrong = [text] {
    return base::InvalidArgument(
        "\"{}\" is no address to listen on: expected HOST:PORT, [ADDRESS]:PORT for version 6",
        text);
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  HostPort parsed;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), parsed.port);
  if (error != std::errc() || end != digits.data() + digits.size()) return wrong();
  if (host.starts_with('[') && host.ends_with(']') && host.size() > 2) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of("[]:") != std::string_view::npos) {
    return wrong();
  }
  if (host.empty()) return wrong();
  parsed.host = host;
  return parsed;
}

}  // namespace tacet::transport::http
