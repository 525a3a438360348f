// Heads of HTTP messages with random changes.
#ifndef TACET_TRANSPORT_HTTP_CHANGED_HEADS_FOR_TEST_H_
#define TACET_TRANSPORT_HTTP_CHANGED_HEADS_FOR_TEST_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "fmt/format.h"

namespace tacet::transport::http {

// The first bytes, as a failure shows them.
inline std::string Shown(std::string_view bytes) {
  std::string shown;
  for (const char c : bytes.substr(0, 300)) {
    const auto code = static_cast<uint8_t>(c);
    shown += code < 0x20 || code >= 0x7F ? fmt::format("\\x{:02x}", code) : std::string(1, c);
  }
  return shown;
}

inline size_t Below(size_t bound, std::mt19937_64& random) {
  return static_cast<size_t>(random() % bound);
}

// `bytes` with a bit changed, a byte more, up to four less, or the end of `other` in place of its
// own. Never empty.
inline std::string ChangedHead(std::string bytes, std::string_view other, std::mt19937_64& random) {
  constexpr std::string_view kBytes("\r\n\t :,;05+-/?%#@[]HTchx\v\x7F\xFF\0\0\0\0", 30);
  const size_t at = Below(bytes.size(), random);
  switch (Below(4, random)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8, random)));
      break;
    case 1:
      bytes.insert(at, 1, kBytes[Below(kBytes.size(), random)]);
      break;
    case 2:
      bytes.erase(at, 1 + Below(4, random));
      break;
    default:
      bytes.resize(at + 1);
      bytes += other.substr(Below(other.size(), random));
  }
  return bytes.empty() ? "\r\n" : bytes;
}

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_CHANGED_HEADS_FOR_TEST_H_
