#include "tacet/site/app_socket.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tacet/base/status.h"
#include "tacet/crypto/secret.h"

namespace tacet::site {
namespace {

using transport::http::Descriptor;

constexpr mode_t kOwnerAndGroup = 0660;
constexpr mode_t kOthers = 0007;
constexpr int kLookMilliseconds = 100;
// For an app before to end: a framework may start a process for each message.
constexpr std::chrono::seconds kForTheOneBefore(2);
constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr size_t kMostGroups = 65'536;  // of a process of Linux

absl::Status SocketError(std::string_view what, const std::filesystem::path& path) {
  return base::FailedPrecondition("cannot {} the socket {}: {}", what, path.string(),
                                  std::strerror(errno));
}

absl::StatusOr<sockaddr_un> AddressOf(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& text = path.native();
  if (text.empty() || text.size() >= sizeof(address.sun_path)) {
    return base::InvalidArgument(
        "--app {} has {} bytes, the path of a socket can have {}: choose a shorter one",
        path.string(), text.size(), sizeof(address.sun_path) - 1);
  }
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

// The group whose processes may connect.
absl::StatusOr<gid_t> GroupOf(const std::filesystem::path& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) {
    return base::FailedPrecondition("cannot look at {}: {}; make this folder for the socket",
                                    folder.string(), std::strerror(errno));
  }
  if ((info.st_mode & kOthers) != 0) {
    return base::FailedPrecondition(
        "everybody on this machine can use {}, where the app's socket is to be: chmod o-rwx {}",
        folder.string(), folder.string());
  }
  return info.st_gid;
}

// A socket that a killed process left is removed; one at which somebody answers is not.
absl::Status RemoveLeftSocket(const std::filesystem::path& path, const sockaddr_un& address) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return absl::OkStatus();
  if (!S_ISSOCK(info.st_mode)) {
    return base::FailedPrecondition("{} exists and is no socket: choose another path for --app",
                                    path.string());
  }
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(probe.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
      0) {
    return base::FailedPrecondition("another member serves at {}: one socket is for one member",
                                    path.string());
  }
  if (::unlink(path.c_str()) != 0) return SocketError("remove", path);
  return absl::OkStatus();
}

bool IsIn(int socket, gid_t group, gid_t first) {
  if (first == group) return true;
  std::vector<gid_t> groups(kMostGroups);
  auto bytes = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &bytes) != 0) return false;
  groups.resize(bytes / sizeof(gid_t));
  return std::ranges::find(groups, group) != groups.end();
}

bool MayConnect(int socket, gid_t group) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return false;
  return peer.uid == ::geteuid() || IsIn(socket, group, peer.gid);
}

// True when the socket can be read or written before `stop`.
bool Await(int socket, short what, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd one{.fd = socket, .events = what, .revents = 0};
    if (::poll(&one, 1, kLookMilliseconds) > 0) return true;
  }
  return false;
}

bool HasHungUp(int socket) {
  pollfd one{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return ::poll(&one, 1, 0) > 0 && (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool ReadAll(int socket, std::span<uint8_t> out, const std::stop_token& stop) {
  while (!out.empty()) {
    if (!Await(socket, POLLIN, stop)) return false;
    const ssize_t count = ::recv(socket, out.data(), out.size(), MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) return false;
    out = out.subspan(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
  return true;
}

bool WriteAll(int socket, std::span<const uint8_t> bytes, const std::stop_token& stop) {
  while (!bytes.empty()) {
    if (!Await(socket, POLLOUT, stop)) return false;
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR && errno != EAGAIN) return false;
    bytes = bytes.subspan(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
  return true;
}

// One app, from its connection to its end.
class Connection {
 public:
  Connection(Descriptor socket, AppLink& link)
      : socket_(std::move(socket)), link_(link), thread_([this](const std::stop_token& stop) {
          while (Serve(stop)) {
          }
          link_.Lost();
          ::shutdown(socket_.number(), SHUT_RDWR);
          ended_ = true;
        }) {}

  bool ended() const { return ended_; }

 private:
  // One frame and its answer; false when there is no further one.
  bool Serve(const std::stop_token& stop) {
    uint8_t head[sizeof(uint32_t) + 1];
    if (!ReadAll(socket_.number(), head, stop)) return false;
    const size_t length = base::LoadU32(head);
    const uint8_t kind = head[sizeof(uint32_t)];
    const std::optional<size_t> most = link_.MostBytes(kind);
    if (!most.has_value() || length < 1 || length - 1 > *most) {
      return Refuse("this is no frame of an app of tacet", stop);
    }
    return TakePayload(kind, length - 1, stop) &&
           WriteAll(socket_.number(), link_.Next([this] { return HasHungUp(socket_.number()); }),
                    stop);
  }

  bool TakePayload(uint8_t kind, size_t size, const std::stop_token& stop) {
    absl::Status taken;
    if (static_cast<AppFrame>(kind) == AppFrame::kExchange) {
      base::Bytes payload;
      while (payload.size() < size) {  // memory comes with the bytes
        const size_t begin = payload.size();
        payload.resize(std::min(size, begin + kPieceBytes));
        if (!ReadAll(socket_.number(), std::span(payload).subspan(begin), stop)) return false;
      }
      taken = link_.Take(kind, payload);
    } else {
      crypto::SecretBytes payload(size);  // an update, unprotected
      if (!ReadAll(socket_.number(), payload.Expose(), stop)) return false;
      taken = link_.Take(kind, payload.Expose());
    }
    return taken.ok() || Refuse(base::Message(taken), stop);
  }

  bool Refuse(const std::string& text, const std::stop_token& stop) {
    (void)WriteAll(socket_.number(), FrameOf(AppFrame::kEnded, base::AsBytes(ErrorJson(text))),
                   stop);
    return false;
  }

  Descriptor socket_;
  AppLink& link_;
  std::atomic<bool> ended_ = false;
  std::jthread thread_;  // ends first
};

// Whether the app before has ended, or does so soon.
bool IsFree(const std::optional<Connection>& before, const std::stop_token& stop) {
  const auto end = std::chrono::steady_clock::now() + kForTheOneBefore;
  while (before.has_value() && !before->ended()) {
    if (stop.stop_requested() || std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(kLookMilliseconds / 10));
  }
  return true;
}

void SendAway(const Descriptor& socket, std::string_view text, const std::stop_token& stop) {
  (void)WriteAll(socket.number(), FrameOf(AppFrame::kEnded, base::AsBytes(ErrorJson(text))), stop);
}

}  // namespace

absl::StatusOr<std::unique_ptr<AppSocket>> AppSocket::Listen(const std::filesystem::path& path,
                                                             AppLink& link) {
  TACET_ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(path));
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  TACET_ASSIGN_OR_RETURN(const gid_t group, GroupOf(folder));
  TACET_RETURN_IF_ERROR(RemoveLeftSocket(path, address));
  Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // The mode before the binding is that of the file, less the process's mask.
  if (!listener.ok() || ::fchmod(listener.number(), kOwnerAndGroup) != 0 ||
      ::bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
          0 ||
      ::chown(path.c_str(), static_cast<uid_t>(-1), group) != 0 ||
      ::chmod(path.c_str(), kOwnerAndGroup) != 0 || ::listen(listener.number(), SOMAXCONN) != 0) {
    return SocketError("make", path);
  }
  return std::unique_ptr<AppSocket>(new AppSocket(path, group, link, std::move(listener)));
}

AppSocket::AppSocket(std::filesystem::path path, gid_t group, AppLink& link, Descriptor listener)
    : path_(std::move(path)),
      group_(group),
      link_(link),
      listener_(std::move(listener)),
      accepting_([this](const std::stop_token& stop) { Accept(stop); }) {}

AppSocket::~AppSocket() { ::unlink(path_.c_str()); }

void AppSocket::Accept(const std::stop_token& stop) {
  std::optional<Connection> app;
  while (Await(listener_.number(), POLLIN, stop)) {
    Descriptor socket(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.ok()) continue;
    if (!MayConnect(socket.number(), group_)) {
      SendAway(socket, "this user is not in the group of the socket's folder", stop);
    } else if (!IsFree(app, stop)) {
      SendAway(socket, "another app is connected to this member", stop);
    } else {
      app.emplace(std::move(socket), link_);
    }
  }
}

}  // namespace tacet::site
