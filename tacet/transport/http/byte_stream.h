// Byte stream over a socket that never blocks: plain here, over TLS in tls_identity.h.
#ifndef TACET_TRANSPORT_HTTP_BYTE_STREAM_H_
#define TACET_TRANSPORT_HTTP_BYTE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tacet::transport::http {

enum class IoState : uint8_t {
  kDone,       // `bytes` > 0 of them, or the handshake
  kAgain,      // at once: something was done, but no bytes of the stream
  kWantRead,   // once the socket can be read
  kWantWrite,  // once it can be written
  kEnded,      // the other end closed the stream, or it failed
};
struct IoResult {
  IoState state = IoState::kEnded;
  size_t bytes = 0;
};

// Not thread-safe. The socket is its owner's, who keeps it open.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // To be repeated until it is done, before everything else.
  virtual IoResult Handshake() = 0;
  // The name in the other end's certificate, once the handshake is done; none without one.
  virtual std::optional<std::string> certificate_name() const = 0;
  virtual IoResult Read(std::span<uint8_t> out) = 0;
  // After kWant… the same bytes have to come again, from wherever they are then.
  virtual IoResult Write(std::span<const uint8_t> bytes) = 0;
  // Tells the other end that nothing follows, as far as that is possible now.
  virtual void Close() = 0;
};

std::unique_ptr<ByteStream> NewPlainStream(int socket);

// Throws away what the socket `socket` has received, up to `most` bytes.
IoResult Discard(int socket, size_t most);

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_BYTE_STREAM_H_
