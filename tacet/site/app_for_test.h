// The app's side of a member's socket, as another framework's code at a site is.
#ifndef TACET_SITE_APP_FOR_TEST_H_
#define TACET_SITE_APP_FOR_TEST_H_

#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tacet/base/bytes.h"
#include "tacet/base/float_bytes.h"
#include "tacet/site/app_link.h"
#include "tacet/transport/http/descriptor.h"

namespace tacet::site {

// A frame of the member.
struct MemberFrame {
  AppFrame kind;
  base::Bytes payload;

  std::string text() const { return {payload.begin(), payload.end()}; }
};

// The content of a frame `train`.
struct TaskForTest {
  uint32_t round = 0, attempt = 0, units = 0;
  double clip_norm = 0;
  std::vector<uint32_t> drawn;
  std::string configuration;
  std::vector<float> model;
};

inline TaskForTest TaskIn(const MemberFrame& frame) {
  base::ByteReader reader(frame.payload, "train");
  TaskForTest task;
  task.round = *reader.ReadU32("round");
  task.attempt = *reader.ReadU32("attempt");
  task.clip_norm = *reader.ReadF64("clip norm");
  task.units = *reader.ReadU32("units");
  if (task.units != 0xffffffff) {
    for (uint32_t i = 0; i < task.units; ++i) task.drawn.push_back(*reader.ReadU32("unit"));
  }
  task.configuration = *reader.ReadString(1 << 20, "configuration");
  task.model = *base::ReadFloats(reader, reader.remaining() / sizeof(float), "model");
  return task;
}

// One connection.
class AppForTest {
 public:
  // Not connected when nobody listens.
  explicit AppForTest(const std::filesystem::path& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    connected_ = ::connect(socket_.number(), reinterpret_cast<const sockaddr*>(&address),
                           sizeof(address)) == 0;
  }

  bool connected() const { return connected_; }

  bool Send(std::span<const uint8_t> bytes) {
    return ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // Nothing when the connection has ended.
  std::optional<MemberFrame> Receive() {
    uint8_t head[5];
    if (!ReceiveAll(head)) return std::nullopt;
    MemberFrame frame{static_cast<AppFrame>(head[4]), base::Bytes(base::LoadU32(head) - 1)};
    if (!ReceiveAll(frame.payload)) return std::nullopt;
    return frame;
  }
  std::optional<MemberFrame> Ask(AppFrame kind, std::span<const uint8_t> payload = {}) {
    if (!Send(FrameOf(kind, payload))) return std::nullopt;
    return Receive();
  }
  std::optional<MemberFrame> Trained(const TaskForTest& task, std::span<const float> update) {
    base::ByteWriter writer;
    writer.U32(task.round);
    writer.U32(task.attempt);
    writer.Raw(base::FloatBytes(update));
    return Ask(AppFrame::kTrained, writer.bytes());
  }

 private:
  bool ReceiveAll(std::span<uint8_t> out) {
    while (!out.empty()) {
      const ssize_t count = ::recv(socket_.number(), out.data(), out.size(), 0);
      if (count <= 0) return false;
      out = out.subspan(static_cast<size_t>(count));
    }
    return true;
  }

  transport::http::Descriptor socket_;
  bool connected_ = false;
};

}  // namespace tacet::site

#endif  // TACET_SITE_APP_FOR_TEST_H_
