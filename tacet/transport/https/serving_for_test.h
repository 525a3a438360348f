// Federation served over loopback, and the certificates of its members, for tests.
#ifndef TACET_TRANSPORT_HTTPS_SERVING_FOR_TEST_H_
#define TACET_TRANSPORT_HTTPS_SERVING_FOR_TEST_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tacet/base/unix_clock.h"
#include "tacet/crypto/authority_for_test.h"
#include "tacet/member/remote_server.h"
#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/server/initial_attestations_for_test.h"
#include "tacet/server/memory_server_store_for_test.h"
#include "tacet/server/request_handler.h"
#include "tacet/transport/https/https_server.h"
#include "tacet/transport/https/https_wire.h"

namespace tacet::transport::https {

inline uint64_t Now() { return base::SystemUnixSeconds(); }
inline constexpr uint64_t kDay = 86'400;

// An authority and what it signs.
class CertificatesForTest {
 public:
  explicit CertificatesForTest(std::string name = "hospitals")
      : certificate_(
            crypto::AuthorityOf(key_, Now() - 2 * kDay, Now() + 10 * kDay, std::move(name))) {}

  const base::Bytes& authority() const { return certificate_; }

  base::Bytes Client(const crypto::TlsKey& key, std::string name,
                     uint64_t until = Now() + kDay) const {
    return Issue(key, std::move(name), crypto::CertificateRole::kClient, {}, until);
  }
  base::Bytes Server(const crypto::TlsKey& key,
                     std::vector<std::string> hosts = {"localhost", "127.0.0.1"},
                     uint64_t until = Now() + kDay) const {
    return Issue(key, "server", crypto::CertificateRole::kServer, std::move(hosts), until);
  }

 private:
  base::Bytes Issue(const crypto::TlsKey& key, std::string name, crypto::CertificateRole role,
                    std::vector<std::string> hosts, uint64_t until) const {
    return *crypto::IssueCertificate({.common_name = std::move(name),
                                      .role = role,
                                      .public_key = key.public_key(),
                                      .hosts = std::move(hosts),
                                      .not_before = until - 2 * kDay,
                                      .not_after = until},
                                     key_, certificate_);
  }

  crypto::TlsKey key_ = crypto::TlsKey::Generate();
  base::Bytes certificate_;
};

class CountingObserver final : public server::RequestObserver {
 public:
  void OnRequest(std::string_view kind, const absl::Status& status, size_t, size_t) override {
    if (kind == "unreadable" && !status.ok()) ++refused;
    if (status.ok()) ++answered;
  }
  std::atomic<uint64_t> refused{0}, answered{0};
};

// The state outlives the objects that serve it.
class ServingForTest {
 public:
  explicit ServingForTest(agreement::ManifestSpec agreement = protocol::testing::SmallAgreement(),
                          int number_of_members = 5)
      : members(std::move(agreement), number_of_members) {
    spec.listen = "127.0.0.1:0";
    spec.authority = certificates.authority();
    for (const auto& member : members.manifest().members()) spec.members.push_back(member.name);
  }
  ~ServingForTest() { End(); }

  void Begin() {
    End();
    rounds = protocol::testing::ValueOf(server::RoundServer::Create(
        members.manifest(), {}, store, blobs, base::SystemUnixSeconds, cohorts));
    if (!with_sessions) {
      server::testing::GivePackets(*rounds, members);
      server::testing::AttestInitialModel(*rounds, members);
    }
    // Attempts begin when their members are there.
    for (uint64_t member = 0; member < members.manifest().members().size(); ++member) {
      rounds->NotePresence(member);
    }
    limits = std::make_unique<server::RequestLimits>(
        limits_spec, members.manifest().members().size(), [] { return 0.0; });
    handler =
        std::make_unique<server::RequestHandler>(members.manifest(), *rounds, *limits, observer);
    server = protocol::testing::ValueOf(
        HttpsServer::Start(spec, server_key, certificates.Server(server_key), *handler));
    rounds->OnNotification([this] { server->News(); });
    port = server->port();
  }
  void End() {
    if (server == nullptr) return;
    server->Drain(std::chrono::milliseconds(0));
    rounds->OnNotification(nullptr);
    server.reset();
    handler.reset();
  }
  // At the same port as before.
  void Restart() {
    End();
    spec.listen = Address();
    Begin();
  }

  std::string Address() const { return fmt::format("127.0.0.1:{}", port); }

  HttpsWireSpec WireSpec(const crypto::TlsKey& key, std::string name) const {
    return {.server = Address(),
            .proxy = "",
            .server_keys = {server_key.public_key()},
            .authority = certificates.authority(),
            .certificate = certificates.Client(key, std::move(name))};
  }
  std::unique_ptr<HttpsWire> Wire(std::string name) const {
    const crypto::TlsKey key = crypto::TlsKey::Generate();
    return protocol::testing::ValueOf(HttpsWire::Create(WireSpec(key, std::move(name)), key));
  }

  bool with_sessions = false;  // the members attest the initial model themselves
  CertificatesForTest certificates;
  protocol::testing::SmallFederation members;
  crypto::TlsKey server_key = crypto::TlsKey::Generate();
  HttpsServerSpec spec;
  // Tests send a lot in no time; what limits do has tests of its own.
  server::RequestLimitsSpec limits_spec{
      .requests_a_second = 1, .burst = 1e9, .bytes_a_second = 1, .burst_bytes = 1e12};
  server::MemoryServerStore store;
  server::MemoryBlobStore blobs;
  crypto::InsecureSeededEntropy cohorts{3, "cohorts"};
  CountingObserver observer;
  std::unique_ptr<server::RoundServer> rounds;
  std::unique_ptr<server::RequestLimits> limits;
  std::unique_ptr<server::RequestHandler> handler;
  std::unique_ptr<HttpsServer> server;
  uint16_t port = 0;
};

// A member of it with a connection of its own.
class MemberForTest {
 public:
  MemberForTest(const ServingForTest& serving, uint64_t member, std::unique_ptr<HttpsWire> through)
      : wire(std::move(through)),
        remote(serving.members.manifest(), member, serving.members.site(member).signing, *wire) {}
  MemberForTest(const ServingForTest& serving, uint64_t member)
      : MemberForTest(serving, member, serving.Wire(fmt::format("site-{}", member))) {}

  std::unique_ptr<HttpsWire> wire;
  member::RemoteServer remote;
};

}  // namespace tacet::transport::https

#endif  // TACET_TRANSPORT_HTTPS_SERVING_FOR_TEST_H_
