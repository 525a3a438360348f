// Proxy of a lying server's operator, or of an attacker that has stolen the server's balancer. It
// ends the members' TLS with the server's own key, reads all traffic, and changes bytes and order.
#ifndef TACET_TESTS_INTEGRATION_LYING_PROXY_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_LYING_PROXY_FOR_TEST_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "fmt/core.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/base/mutex.h"
#include "tacet/base/status.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/certificates.h"
#include "tacet/protocol/announcement.h"
#include "tacet/protocol/member_request.h"
#include "tacet/protocol/whole_requests_for_test.h"
#include "tacet/transport/http/http_server.h"
#include "tacet/transport/https/call_service.h"
#include "tacet/transport/https/https_wire.h"
#include "tests/integration/opened_site_for_test.h"

namespace tacet::app {

using Answered = absl::StatusOr<base::Bytes>;

// A request on its way.
struct Overheard {
  uint64_t member = 0;
  protocol::RequestBody body;
  base::Bytes bytes;  // as its member signed them
};

// The attempt that a request names.
inline std::optional<secagg::Attempt> AttemptNamedBy(const protocol::RequestBody& body) {
  return std::visit(
      [](const auto& request) -> std::optional<secagg::Attempt> {
        if constexpr (requires { request.name; }) {
          return request.name.attempt;
        } else if constexpr (requires { request.attempt; }) {
          return request.attempt;
        } else {
          return std::nullopt;
        }
      },
      body);
}

// Lie about attempt 0 of one round. Functions that are empty change nothing; they are called one at
// a time.
struct Lie {
  // The lie to a member about where the federation stands, while that is the current attempt.
  std::function<void(uint64_t member, protocol::Announcement&)> announcement = nullptr;
  // An object of it that a member fetches whole: in these tests all fit into one part.
  std::function<void(uint64_t member, const protocol::FetchPartRequest&, base::Bytes&)> object =
      nullptr;
  // A request is answered without the server unless this says nothing.
  std::function<std::optional<Answered>(const Overheard&)> instead = nullptr;
  // A request waits as long as this is true, but no more than six seconds.
  std::function<bool(const Overheard&)> held = nullptr;
};

class LyingProxy final : transport::http::Service {
 public:
  // `hub` is the server's folder, `server` where it listens. Errors of the wire to it.
  static absl::StatusOr<std::unique_ptr<LyingProxy>> Start(OpenedSite hub, std::string server) {
    TACET_ASSIGN_OR_RETURN(auto wire, WireOf(hub, std::move(server)));
    std::unique_ptr<LyingProxy> proxy(new LyingProxy(std::move(hub), std::move(wire)));
    TACET_RETURN_IF_ERROR(proxy->Listen());
    return proxy;
  }
  ~LyingProxy() override {
    {
      const base::MutexLock lock(mutex_);
      ended_ = true;
      passed_.SignalAll();
    }
    wire_->Stop();
    server_.reset();
  }

  std::string Address() const { return server_->listen().text(); }
  const agreement::SignedManifest& manifest() const { return hub_.joined.manifest; }

  void LieAbout(uint32_t round, Lie lie) {
    const base::MutexLock lock(mutex_);
    lies_[round] = std::move(lie);
  }
  // Called one at a time with what the server really answered to a request, until the next call of
  // this function has returned.
  void Watch(std::function<void(const Overheard&, const Answered&)> watch) {
    const base::MutexLock lock(mutex_);
    watch_ = std::move(watch);
  }
  // Every byte that passed, in both directions, inside of TLS.
  std::string Traffic() const {
    const base::MutexLock lock(mutex_);
    return traffic_;
  }
  // Sends bytes to the server as the proxy's own.
  Answered Send(const base::Bytes& request) { return wire_->Call(request, kCallSeconds); }

 private:
  static constexpr uint32_t kCallSeconds = 60;
  static constexpr size_t kThreads = 16;  // a member's long poll keeps one
  static constexpr auto kMaxHeld = std::chrono::seconds(6);

  LyingProxy(OpenedSite hub, std::unique_ptr<transport::https::HttpsWire> wire)
      : hub_(std::move(hub)),
        wire_(std::move(wire)),
        tls_(hub_.joined.manifest.authority(), nullptr) {}

  absl::Status Listen() {
    TACET_RETURN_IF_ERROR(tls_.Set(hub_.keys.tls, hub_.joined.certificate));
    TACET_ASSIGN_OR_RETURN(
        server_,
        transport::http::HttpServer::Start(
            {.listen = {.host = "127.0.0.1", .port = 0}, .threads = kThreads}, &tls_, *this));
    return absl::OkStatus();
  }

  // Takes a request whole and answers when the real server has.
  class Relayed final : public transport::http::Exchange {
   public:
    explicit Relayed(LyingProxy& proxy) : proxy_(proxy) {}
    std::optional<transport::http::Response> Receive(std::span<const uint8_t> bytes) override {
      request_.insert(request_.end(), bytes.begin(), bytes.end());
      return std::nullopt;
    }
    std::optional<transport::http::Response> Finish() override {
      return transport::https::CallResponse(proxy_.Handle(std::move(request_)));
    }
    std::optional<transport::http::Response> Look() override { return std::nullopt; }
    transport::http::Response GiveUp() override { return {}; }

   private:
    LyingProxy& proxy_;
    base::Bytes request_;
  };
  std::variant<transport::http::Response, std::unique_ptr<transport::http::Exchange>> Begin(
      const transport::http::RequestHead&, const transport::http::Peer&) override {
    return std::make_unique<Relayed>(*this);
  }

  Answered Handle(base::Bytes bytes) {
    const auto read = protocol::ReadMemberRequest(bytes, manifest(), base::SystemUnixSeconds());
    if (!read.ok()) return Send(bytes);
    const Overheard request{read->member, read->body, std::move(bytes)};
    std::optional<Answered> answer;
    {
      const base::MutexLock lock(mutex_);
      Note(request.bytes);
      answer = Intercept(request);
    }
    if (!answer.has_value()) answer = Pass(request);
    const base::MutexLock lock(mutex_);
    if (answer->ok()) Note(**answer);
    return *std::move(answer);
  }

  std::optional<Answered> Intercept(const Overheard& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const Lie* const lie = LieAbout(AttemptNamedBy(request.body));
    if (lie == nullptr) return std::nullopt;
    passed_.SignalAll();
    std::optional<Answered> answer;
    if (lie->instead) answer = lie->instead(request);
    const auto end = std::chrono::steady_clock::now() + kMaxHeld;
    while (!ended_ && lie->held && lie->held(request) && std::chrono::steady_clock::now() < end) {
      passed_.WaitUntil(mutex_, end);
    }
    return answer;
  }

  Answered Pass(const Overheard& request) {
    Answered answer = Send(request.bytes);
    const base::MutexLock lock(mutex_);
    if (watch_) watch_(request, answer);
    if (!answer.ok()) return answer;
    Note(*answer);
    if (const auto* fetch = std::get_if<protocol::FetchPartRequest>(&request.body)) {
      if (const Lie* lie = LieAbout(fetch->name.attempt); lie != nullptr && lie->object) {
        TACET_ASSIGN_OR_RETURN(const protocol::FetchedPart fetched,
                               protocol::ReadFetchedPart(*answer));
        base::Bytes object(fetched.part.begin(), fetched.part.end());
        lie->object(request.member, *fetch, object);
        return protocol::WriteFetchedPart(object.size(), object);
      }
    } else if (std::holds_alternative<protocol::AwaitRequest>(request.body)) {
      TACET_ASSIGN_OR_RETURN(protocol::Announcement announcement,
                             protocol::ReadAnnouncement(*answer));
      if (!announcement.current.has_value()) return answer;
      const Lie* const lie = LieAbout(announcement.current->attempt);
      if (lie == nullptr || !lie->announcement) return answer;
      lie->announcement(request.member, announcement);
      return protocol::WriteAnnouncement(announcement);
    }
    return answer;
  }

  // Under the mutex.
  const Lie* LieAbout(const std::optional<secagg::Attempt>& attempt) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!attempt.has_value() || attempt->number.attempt != 0) return nullptr;
    const auto found = lies_.find(attempt->number.round);
    return found == lies_.end() ? nullptr : &found->second;
  }
  void Note(const base::Bytes& bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    traffic_ += base::AsText(bytes);
  }

  OpenedSite hub_;
  std::unique_ptr<transport::https::HttpsWire> wire_;
  transport::http::TlsIdentity tls_;
  std::unique_ptr<transport::http::HttpServer> server_;

  mutable base::Mutex mutex_;
  base::CondVar passed_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<uint32_t, Lie> lies_ ABSL_GUARDED_BY(mutex_);
  std::function<void(const Overheard&, const Answered&)> watch_ ABSL_GUARDED_BY(mutex_);
  std::string traffic_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_LYING_PROXY_FOR_TEST_H_
