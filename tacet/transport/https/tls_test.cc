// Tests of TLS access rules, observed from OpenSSL's own ends of the connection.
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/mutex.h"
#include "tacet/base/status.h"
#include "tacet/transport/http/acceptor_for_test.h"
#include "tacet/transport/https/call_format.h"
#include "tacet/transport/https/serving_for_test.h"
#include "tacet/transport/https/tls_for_test.h"

namespace tacet::transport::https {
namespace {

using protocol::testing::ValueOf;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TlsServerTest : public ::testing::Test {
 protected:
  TlsServerTest() { serving_.Begin(); }

  TlsForTest Connect(const base::Bytes& certificate, int version = TLS1_3_VERSION) {
    return {http::ConnectTo(serving_.port),
            {.server = false,
             .version = version,
             .key = certificate.empty() ? nullptr : &key_,
             .certificate = certificate}};
  }
  static bool Answers(TlsForTest& tls) {
    if (tls.connected()) tls.Write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    return tls.ReadUntil(CallPath()).ends_with(CallPath());  // where calls go
  }
  bool Serves(const base::Bytes& certificate, int version = TLS1_3_VERSION) {
    TlsForTest tls = Connect(certificate, version);
    return Answers(tls);
  }

  ServingForTest serving_;
  crypto::TlsKey key_ = crypto::TlsKey::Generate();
};

TEST_F(TlsServerTest, ServesTls13AndRefuses12) {
  const base::Bytes certificate = serving_.certificates.Client(key_, "site-1");
  TlsForTest good = Connect(certificate);
  EXPECT_EQ(good.version(), "TLSv1.3");
  EXPECT_TRUE(Answers(good)) << good.error();
  EXPECT_FALSE(Connect(certificate, TLS1_2_VERSION).connected());
}

// Each differs in one thing from what is served.
TEST_F(TlsServerTest, RefusesClientsWithoutACertificateForThem) {
  EXPECT_TRUE(Serves(serving_.certificates.Client(key_, "site-1")));
  EXPECT_FALSE(Serves({}));
  // Another authority, of the same name and of another.
  EXPECT_FALSE(Serves(CertificatesForTest("hospitals").Client(key_, "site-1")));
  EXPECT_FALSE(Serves(CertificatesForTest("others").Client(key_, "site-1")));
  EXPECT_FALSE(Serves(serving_.certificates.Client(key_, "site-1", Now() - 60)));        // ended
  EXPECT_FALSE(Serves(serving_.certificates.Client(key_, "site-1", Now() + 5 * kDay)));  // to begin
  EXPECT_FALSE(Serves(serving_.certificates.Server(key_)));
  // Names that the epoch does not have.
  for (const std::string name : {"site-5", "site-", "server", "SITE-1"}) {
    TlsForTest removed = Connect(serving_.certificates.Client(key_, name));
    EXPECT_FALSE(Answers(removed)) << name;
    EXPECT_THAT(removed.error(), HasSubstr("certificate revoked")) << name;
  }
  EXPECT_EQ(serving_.observer.refused + serving_.observer.answered, 0u);
}

// For handshakes that were refused, as they come.
class RefusalsForTest {
 public:
  void Add(const http::RefusedHandshake& refused) {
    const base::MutexLock lock(mutex_);
    refused_.push_back(refused);
    came_.SignalAll();
  }
  // The next one: its reason, and the name if there is one.
  std::string Take() {
    base::MutexLock lock(mutex_);
    while (refused_.empty()) came_.Wait(mutex_);
    const http::RefusedHandshake first = refused_.front();
    refused_.pop_front();
    return fmt::format("{} {}", http::HandshakeFaultName(first.fault), first.name);
  }

 private:
  base::Mutex mutex_;
  base::CondVar came_;
  std::deque<http::RefusedHandshake> refused_ ABSL_GUARDED_BY(mutex_);
};

// Only a certificate of the authority gives its name away.
TEST_F(TlsServerTest, ARefusedHandshakeHasAReason) {
  RefusalsForTest refusals;
  serving_.End();
  serving_.spec.on_refused_handshake = [&](const auto& refused) { refusals.Add(refused); };
  serving_.Begin();
  const auto reason = [&](const base::Bytes& certificate, int version = TLS1_3_VERSION) {
    EXPECT_FALSE(Serves(certificate, version));
    return refusals.Take();
  };
  const CertificatesForTest& certificates = serving_.certificates;
  EXPECT_TRUE(Serves(certificates.Client(key_, "site-1")));
  EXPECT_EQ(reason(certificates.Client(key_, "site-1", Now() - 60)), "certificate-ended site-1");
  EXPECT_EQ(reason(certificates.Client(key_, "site-1", Now() + 5 * kDay)),
            "certificate-not-yet-valid site-1");
  EXPECT_EQ(reason(certificates.Client(key_, "site-9")), "not-a-member site-9");
  EXPECT_EQ(reason(CertificatesForTest("hospitals").Client(key_, "site-1")), "other-certificate ");
  EXPECT_EQ(reason(CertificatesForTest("others").Client(key_, "site-1", Now() - 60)),
            "other-certificate ");
  EXPECT_EQ(reason(certificates.Server(key_)), "other-certificate ");
  EXPECT_EQ(reason({}), "no-certificate ");
  EXPECT_EQ(reason(certificates.Client(key_, "site-1"), TLS1_2_VERSION), "broken ");
  // A member that does not accept the server's certificate says so.
  HttpsWireSpec spec = serving_.WireSpec(key_, "site-1");
  const CertificatesForTest others("others");
  spec.authority = others.authority();
  spec.certificate = others.Client(key_, "site-1");
  const std::unique_ptr<HttpsWire> wire = ValueOf(HttpsWire::Create(spec, key_));
  EXPECT_FALSE(wire->Call({}, 10).ok());
  EXPECT_EQ(refusals.Take(), "alert ");
  serving_.End();
}

TEST_F(TlsServerTest, AnExchangedCertificateIsShownToNewConnections) {
  const base::Bytes client = serving_.certificates.Client(key_, "site-1");
  const MemberForTest connected(serving_, 1);
  ASSERT_TRUE(connected.remote.Await({}).ok());
  const crypto::Digest before = Connect(client).PeerFingerprint();
  EXPECT_EQ(Connect(client).PeerFingerprint(), before);

  crypto::TlsKey new_key = crypto::TlsKey::Generate();
  const base::Bytes renewed = serving_.certificates.Server(new_key);
  EXPECT_THAT(base::Message(serving_.server->SetCertificate(serving_.server_key, renewed)),
              HasSubstr("for another key"));
  EXPECT_EQ(Connect(client).PeerFingerprint(), before);
  ASSERT_TRUE(serving_.server->SetCertificate(new_key, renewed).ok());
  TlsForTest after = Connect(client);
  EXPECT_EQ(after.PeerFingerprint(), crypto::Sha256(renewed));
  EXPECT_TRUE(Answers(after)) << after.error();

  EXPECT_TRUE(connected.remote.Await({}).ok());  // not disturbed
  // Members accept the key that their epoch names, and no other.
  EXPECT_FALSE(MemberForTest(serving_, 2).remote.Await({}).ok());
  serving_.server_key = std::move(new_key);
  EXPECT_TRUE(MemberForTest(serving_, 2).remote.Await({}).ok());
}

// A member whose line breaks often is not locked out by its dead connections, nor are others.
TEST_F(TlsServerTest, AConnectionBeyondTheCapReplacesTheMembersMostSilentOne) {
  serving_.End();
  serving_.spec.places.of_certificate = 2;
  serving_.Begin();
  const base::Bytes member = serving_.certificates.Client(key_, "site-1");
  TlsForTest other = Connect(serving_.certificates.Client(key_, "site-2"));
  TlsForTest first = Connect(member), second = Connect(member);
  EXPECT_TRUE(Answers(other) && Answers(second));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the server notes it a bit later
  EXPECT_TRUE(Answers(first));
  TlsForTest third = Connect(member);
  EXPECT_TRUE(Answers(third));
  EXPECT_FALSE(second.Reads());
  EXPECT_TRUE(Answers(first) && Answers(third) && Answers(other));
  EXPECT_EQ(serving_.server->Load().replaced, 1u);
}

// An OpenSSL server that takes one connection.
class TlsClientTest : public ::testing::Test {
 protected:
  // Whether a HttpsWire says anything to a server with this certificate and version.
  bool Speaks(const base::Bytes& certificate, int version) {
    std::atomic<bool> spoken = false;
    http::AcceptorForTest acceptor([&](http::Descriptor connection) {
      TlsForTest server(
          std::move(connection),
          {.server = true, .version = version, .key = &server_key_, .certificate = certificate});
      if (server.Reads()) spoken = true;
    });
    const auto wire =
        ValueOf(HttpsWire::Create({.server = fmt::format("localhost:{}", acceptor.port()),
                                   .proxy = "",
                                   .authority = certificates_.authority(),
                                   .certificate = certificates_.Client(key_, "site-1")},
                                  key_));
    EXPECT_FALSE(wire->Call(base::Bytes{1}, 30).ok());
    acceptor.Stop();
    return spoken;
  }

  CertificatesForTest certificates_;
  crypto::TlsKey key_ = crypto::TlsKey::Generate(), server_key_ = crypto::TlsKey::Generate();
};

TEST_F(TlsClientTest, SpeaksToItsServerWithTls13Only) {
  EXPECT_TRUE(Speaks(certificates_.Server(server_key_), TLS1_3_VERSION));
  EXPECT_FALSE(Speaks(certificates_.Server(server_key_), TLS1_2_VERSION));
  EXPECT_FALSE(Speaks(certificates_.Server(server_key_, {"elsewhere.example"}), TLS1_3_VERSION));
  EXPECT_FALSE(Speaks(CertificatesForTest("others").Server(server_key_), TLS1_3_VERSION));
  EXPECT_FALSE(Speaks(certificates_.Client(server_key_, "localhost"), TLS1_3_VERSION));
}

TEST_F(TlsClientTest, RefusesWhatItCannotConnectWith) {
  const auto create = [&](const std::string& server, const std::string& proxy,
                          const base::Bytes& certificate) {
    return HttpsWire::Create({.server = server,
                              .proxy = proxy,
                              .authority = certificates_.authority(),
                              .certificate = certificate},
                             key_)
        .status();
  };
  const base::Bytes good = certificates_.Client(key_, "site-1");
  EXPECT_TRUE(create("localhost:1", "", good).ok());
  EXPECT_THAT(base::Message(create("localhost", "", good)), HasSubstr("not HOST:PORT"));
  EXPECT_THAT(base::Message(create("localhost:1", "secret@proxy", good)),
              AllOf(HasSubstr("the proxy is not"), Not(HasSubstr("secret"))));
  EXPECT_THAT(base::Message(create("localhost:1", "", certificates_.Client(server_key_, "site-1"))),
              HasSubstr("for another key"));
  EXPECT_THAT(base::Message(create("localhost:1", "", CertificatesForTest().Client(key_, "a"))),
              HasSubstr("another authority"));
}

}  // namespace
}  // namespace tacet::transport::https
