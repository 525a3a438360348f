// Tests of TLS access rules, observed from OpenSSL's own ends of the connection.
#include <atomic>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/transport/grpc/serving_for_test.h"
#include "tacet/transport/grpc/tls_for_test.h"

namespace tacet::transport::grpc {
namespace {

using protocol::testing::ValueOf;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TlsServerTest : public ::testing::Test {
 protected:
  TlsServerTest() { serving_.Begin(); }

  TlsForTest Connect(const base::Bytes& certificate, int version = TLS1_3_VERSION) {
    return {ConnectTo(serving_.port),
            {.server = false,
             .version = version,
             .key = certificate.empty() ? nullptr : &key_,
             .certificate = certificate}};
  }
  bool Serves(const base::Bytes& certificate, int version = TLS1_3_VERSION) {
    return Connect(certificate, version).Reads();
  }

  ServingForTest serving_;
  crypto::TlsKey key_ = crypto::TlsKey::Generate();
};

TEST_F(TlsServerTest, ServesTls13AndRefuses12) {
  const base::Bytes certificate = serving_.certificates.Client(key_, "site-1");
  TlsForTest good = Connect(certificate);
  EXPECT_EQ(good.version(), "TLSv1.3");
  EXPECT_TRUE(good.Reads()) << good.error();
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
}

TEST_F(TlsServerTest, AnExchangedCertificateIsShownToNewConnections) {
  const base::Bytes client = serving_.certificates.Client(key_, "site-1");
  const MemberForTest connected(serving_, 1);
  ASSERT_TRUE(connected.remote.Await({}).ok());
  const crypto::Digest before = Connect(client).PeerFingerprint();
  EXPECT_EQ(Connect(client).PeerFingerprint(), before);

  const crypto::TlsKey new_key = crypto::TlsKey::Generate();
  const base::Bytes renewed = serving_.certificates.Server(new_key);
  EXPECT_THAT(base::Message(serving_.server->SetCertificate(serving_.server_key, renewed)),
              HasSubstr("for another key"));
  EXPECT_EQ(Connect(client).PeerFingerprint(), before);
  ASSERT_TRUE(serving_.server->SetCertificate(new_key, renewed).ok());
  TlsForTest after = Connect(client);
  EXPECT_EQ(after.PeerFingerprint(), crypto::Sha256(renewed));
  EXPECT_TRUE(after.Reads()) << after.error();

  EXPECT_TRUE(connected.remote.Await({}).ok());  // not disturbed
  EXPECT_TRUE(MemberForTest(serving_, 2).remote.Await({}).ok());
}

// An OpenSSL server that takes one connection.
class TlsClientTest : public ::testing::Test {
 protected:
  // Whether a GrpcWire says anything to a server with this certificate and version.
  bool Speaks(const base::Bytes& certificate, int version) {
    const auto listener = ValueOf(Listener::Open({.host = "127.0.0.1", .port = 0}, 1000));
    std::atomic<bool> spoken = false;
    listener->Start([&](int, Descriptor connection) {
      fcntl(connection.number(), F_SETFL, 0);  // blocking
      TlsForTest server(
          std::move(connection),
          {.server = true, .version = version, .key = &server_key_, .certificate = certificate});
      if (server.Reads()) spoken = true;
    });
    const auto wire =
        ValueOf(GrpcWire::Create({.server = fmt::format("localhost:{}", listener->port()),
                                  .proxy = "",
                                  .authority = certificates_.authority(),
                                  .certificate = certificates_.Client(key_, "site-1"),
                                  .own_connection = true},
                                 key_));
    EXPECT_EQ(wire->Call(base::Bytes{1}, 30).status().code(), absl::StatusCode::kUnavailable);
    listener->Stop();
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
    return GrpcWire::Create({.server = server,
                             .proxy = proxy,
                             .authority = certificates_.authority(),
                             .certificate = certificate,
                             .own_connection = true},
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
}  // namespace tacet::transport::grpc
