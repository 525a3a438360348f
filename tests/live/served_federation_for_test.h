// The server of a live federation behind HTTPS, and a connection for each member.
#ifndef TACET_TESTS_LIVE_SERVED_FEDERATION_FOR_TEST_H_
#define TACET_TESTS_LIVE_SERVED_FEDERATION_FOR_TEST_H_

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tacet/transport/https/serving_for_test.h"
#include "tests/live/live_members_for_test.h"

namespace tacet::live::testing {

// Time is the federation's, but for certificates and connections.
class ServedFederation {
 public:
  explicit ServedFederation(LiveFederation& live) : live_(live) {
    spec_.listen = "127.0.0.1:0";
    spec_.authority = certificates_.authority();
    // One thread asks for all members, so nobody has news while another one waits for them.
    spec_.limits.long_poll = std::chrono::milliseconds(1);
    spec_.threads = 1;
    for (const auto& member : live_.members.manifest().members()) {
      spec_.members.push_back(member.name);
    }
    Serve();
    for (const std::string& name : spec_.members) {
      const crypto::TlsKey key = crypto::TlsKey::Generate();
      wires_.push_back(protocol::testing::ValueOf(
          transport::https::HttpsWire::Create({.server = spec_.listen,
                                               .proxy = "",
                                               .server_keys = {server_key_.public_key()},
                                               .authority = certificates_.authority(),
                                               .certificate = certificates_.Client(key, name)},
                                              key)));
    }
    live_.carry = [this](uint64_t member, std::span<const uint8_t> request) {
      return wires_[member]->Call(request, kMostSeconds);
    };
  }
  ~ServedFederation() { live_.carry = nullptr; }
  ServedFederation(const ServedFederation&) = delete;
  ServedFederation& operator=(const ServedFederation&) = delete;

  // Another process of the server, at the same address.
  void RestartServer() {
    server_.reset();
    live_.RestartServer();
    Serve();
  }

 private:
  static constexpr uint32_t kMostSeconds = 60;

  void Serve() {
    server_ = protocol::testing::ValueOf(transport::https::HttpsServer::Start(
        spec_, server_key_, certificates_.Server(server_key_), *live_.handler));
    spec_.listen = fmt::format("127.0.0.1:{}", server_->port());
  }

  LiveFederation& live_;
  transport::https::CertificatesForTest certificates_;
  crypto::TlsKey server_key_ = crypto::TlsKey::Generate();
  transport::https::HttpsServerSpec spec_;
  std::unique_ptr<transport::https::HttpsServer> server_;
  std::vector<std::unique_ptr<transport::https::HttpsWire>> wires_;
};

// Each call inside another framework's messages, or over HTTPS.
class Wires {
 public:
  Wires(bool relayed, LiveFederation& live) : live_(live) {
    if (relayed) {
      ::setenv("TACET_RELAYED_CALLS", "1", 1);
    } else {
      served_.emplace(live);
    }
  }
  ~Wires() {
    if (!served_.has_value()) ::unsetenv("TACET_RELAYED_CALLS");
  }
  Wires(const Wires&) = delete;
  Wires& operator=(const Wires&) = delete;

  void RestartServer() { served_.has_value() ? served_->RestartServer() : live_.RestartServer(); }

 private:
  LiveFederation& live_;
  std::optional<ServedFederation> served_;
};

}  // namespace tacet::live::testing

#endif  // TACET_TESTS_LIVE_SERVED_FEDERATION_FOR_TEST_H_
