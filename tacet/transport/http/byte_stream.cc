#include "tacet/transport/http/byte_stream.h"

#include <cerrno>

#include <sys/socket.h>

namespace tacet::transport::http {
namespace {

bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

IoResult ResultOf(ssize_t count, IoState when_blocked) {
  if (count > 0) return {.state = IoState::kDone, .bytes = static_cast<size_t>(count)};
  if (count < 0 && WouldBlock()) return {.state = when_blocked};
  return {.state = IoState::kEnded};
}

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(int socket) : socket_(socket) {}

  IoResult Handshake() override { return {.state = IoState::kDone}; }
  std::optional<std::string> certificate_name() const override { return std::nullopt; }
  IoResult Read(std::span<uint8_t> out) override {
    return ResultOf(::recv(socket_, out.data(), out.size(), MSG_DONTWAIT), IoState::kWantRead);
  }
  IoResult Write(std::span<const uint8_t> bytes) override {
    return ResultOf(::send(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL),
                    IoState::kWantWrite);
  }
  void Close() override { ::shutdown(socket_, SHUT_WR); }

 private:
  int socket_;
};

}  // namespace

std::unique_ptr<ByteStream> NewPlainStream(int socket) {
  return std::make_unique<PlainStream>(socket);
}

IoResult Discard(int socket, size_t most) {
  // MSG_TRUNC on a TCP socket: the kernel drops the bytes without copying them.
  return ResultOf(::recv(socket, nullptr, most, MSG_DONTWAIT | MSG_TRUNC), IoState::kWantRead);
}

}  // namespace tacet::transport::http
