#include "tacet/base/host_port.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <arpa/inet.h>

#include "tacet/base/status.h"

namespace tacet::base {
namespace {

bool IsHostCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}

bool IsHost(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::ranges::all_of(text, IsHostCharacter);
}

bool IsBracketedAddress(std::string_view text) {
  const bool bracketed = text.size() > 2 && text.front() == '[' && text.back() == ']';
  return bracketed && std::ranges::all_of(text.substr(1, text.size() - 2), [](char c) {
           return IsHostCharacter(c) || c == ':' || c == '%';
         });
}

std::optional<uint16_t> ParsePort(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return port;
}

}  // namespace

absl::StatusOr<HostPort> ParseHostPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    const std::string_view host = text.substr(0, colon);
    const auto port = ParsePort(text.substr(colon + 1));
    if (port.has_value() && IsHost(host)) return HostPort{std::string(host), *port};
    if (port.has_value() && IsBracketedAddress(host)) {
      return HostPort{std::string(host.substr(1, host.size() - 2)), *port};
    }
  }
  return InvalidArgument("\"{}\" is not HOST:PORT, [ADDRESS]:PORT for version 6", text);
}

absl::StatusOr<HostPort> ParseListenAddress(std::string_view text) {
  const std::string_view rest = text.substr(text.starts_with('*') ? 1 : 0);
  if (rest.starts_with(':')) {
    if (const auto port = ParsePort(rest.substr(1)); port.has_value()) {
      return HostPort{std::string(kAllAddresses), *port};
    }
  }
  return ParseHostPort(text);
}

bool HostPort::loopback() const {
  if (host == "localhost") return true;
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

std::string HostPort::text() const {
  const bool bare = host.find(':') == std::string::npos;
  return bare ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

}  // namespace tacet::base
