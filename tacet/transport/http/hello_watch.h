// Bound on the first messages of a TLS client. OpenSSL takes memory for a message as soon as its
// length is announced: 128 KiB for a ClientHello, from anybody who can connect.
#ifndef TACET_TRANSPORT_HTTP_HELLO_WATCH_H_
#define TACET_TRANSPORT_HTTP_HELLO_WATCH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tacet::transport::http {

// A ClientHello has some 500 bytes, with post-quantum key shares 2,000.
inline constexpr size_t kMaxHelloBytes = 8192;

// Follows records and handshake messages (RFC 8446, sections 4 and 5.1) until they are encrypted:
// then their outer type is another one. Lengths are all that it looks at.
class HelloWatch {
 public:
  // The next bytes of the client. False, permanently, when a message announces more than
  // kMaxHelloBytes.
  bool Admits(std::span<const uint8_t> bytes);

 private:
  bool AdmitsHandshake(std::span<const uint8_t> bytes);

  std::array<uint8_t, 5> record_{};   // header: type, version, u16 length
  size_t record_bytes_ = 0;           // of the header, so far
  size_t record_left_ = 0;            // of the content
  std::array<uint8_t, 4> message_{};  // header: type, u24 length
  size_t message_bytes_ = 0;
  size_t message_left_ = 0;
  bool refused_ = false;
};

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_HELLO_WATCH_H_
