// Errors that somebody has to remove, each as it happens over a network.
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/transport/http/acceptor_for_test.h"
#include "tacet/transport/http/http_server.h"
#include "tacet/transport/https/call_format.h"
#include "tacet/transport/https/serving_for_test.h"
#include "tacet/transport/https/tls_for_test.h"

namespace tacet::transport::https {
namespace {

using protocol::IsPermanent;
using protocol::IsRetryable;
using protocol::testing::ValueOf;
using ::testing::HasSubstr;

class PermanentErrorsTest : public ::testing::Test {
 protected:
  absl::Status CallThrough(const HttpsWireSpec& spec, uint32_t most_seconds = 30) {
    return ValueOf(HttpsWire::Create(spec, key_))->Call(base::Bytes(10), most_seconds).status();
  }
  HttpsWireSpec Spec(const std::string& name = "site-1", uint64_t until = Now() + kDay) const {
    HttpsWireSpec spec = serving_.WireSpec(key_, name);
    spec.certificate = serving_.certificates.Client(key_, name, until);
    return spec;
  }
  void ExpectPermanent(const absl::Status& status, const std::string& says) {
    EXPECT_TRUE(IsPermanent(status)) << status;
    EXPECT_THAT(base::Message(status), HasSubstr(says));
    EXPECT_THAT(base::Message(status), HasSubstr("127.0.0.1:"));
  }
  // A server whose certificate is this one.
  void Serve(const base::Bytes& certificate) {
    serving_.Begin();
    ASSERT_TRUE(serving_.server->SetCertificate(serving_.server_key, certificate).ok());
  }
  // Outcome of a call that is answered by something else than our server.
  absl::Status CallAtOne(const std::function<void(http::Descriptor)>& answers) {
    http::AcceptorForTest acceptor(answers);
    HttpsWireSpec spec = Spec();
    spec.server = acceptor.Address();
    return CallThrough(spec, 2);
  }

  ServingForTest serving_;
  const crypto::TlsKey key_ = crypto::TlsKey::Generate();
};

TEST_F(PermanentErrorsTest, OfTheServersCertificate) {
  const crypto::TlsKey& server = serving_.server_key;
  Serve(serving_.certificates.Server(server, {"elsewhere.example"}));
  ExpectPermanent(CallThrough(Spec()), "does not name 127.0.0.1");
  Serve(serving_.certificates.Server(server, {"127.0.0.1"}, Now() - 60));
  ExpectPermanent(CallThrough(Spec()), "has expired");
  Serve(serving_.certificates.Server(server, {"127.0.0.1"}, Now() + 5 * kDay));
  ExpectPermanent(CallThrough(Spec()), "not valid yet");
  const CertificatesForTest others("others");
  HttpsWireSpec spec = Spec();
  spec.authority = others.authority();
  spec.certificate = others.Client(key_, "site-1");
  ExpectPermanent(CallThrough(spec), "not of this federation's authority");
}

// A member's folder that holds a server's certificate of the same authority, or the server of an
// epoch that has ended.
TEST_F(PermanentErrorsTest, OfAnotherServerOfTheSameAuthority) {
  const crypto::TlsKey other = crypto::TlsKey::Generate();
  serving_.Begin();
  EXPECT_NE(CallThrough(Spec()).code(), absl::StatusCode::kUnauthenticated);
  ASSERT_TRUE(
      serving_.server->SetCertificate(other, serving_.certificates.Server(other, {"127.0.0.1"}))
          .ok());
  ExpectPermanent(CallThrough(Spec()), "its key is not the one that this epoch's manifest names");
  HttpsWireSpec trusting = Spec();
  trusting.server_keys.clear();
  EXPECT_FALSE(IsPermanent(CallThrough(trusting)));
  // Either of two servers may answer, and no third one.
  HttpsWireSpec either = Spec();
  either.server_keys.push_back(other.public_key());
  EXPECT_FALSE(IsPermanent(CallThrough(either)));
  either.server_keys.back() = crypto::TlsKey::Generate().public_key();
  EXPECT_TRUE(IsPermanent(CallThrough(either)));
}

TEST_F(PermanentErrorsTest, OfTheMembersCertificate) {
  serving_.Begin();
  ExpectPermanent(CallThrough(Spec("site-9")), "not a member in the server's epoch");
  // As when the server's clock is wrong by days.
  const absl::Status expired = CallThrough(Spec("site-1", Now() - 60));
  EXPECT_TRUE(protocol::IsLasting(expired)) << expired;
  EXPECT_THAT(base::Message(expired), HasSubstr("it has expired"));
  const absl::Status not_yet = CallThrough(Spec("site-1", Now() + 5 * kDay));
  EXPECT_TRUE(protocol::IsLasting(not_yet)) << not_yet;
  EXPECT_THAT(base::Message(not_yet), HasSubstr("not valid yet by the server's"));
}

TEST_F(PermanentErrorsTest, OfWhatAnswersAtThePort) {
  for (const std::string says : {"HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n"}) {
    const auto answers = [&](http::Descriptor client) {
      char byte = 0;
      EXPECT_EQ(recv(client.number(), &byte, 1, 0), 1);
      send(client.number(), says.data(), says.size(), MSG_NOSIGNAL);
      while (recv(client.number(), &byte, 1, 0) == 1) {
      }
    };
    ExpectPermanent(CallAtOne(answers), "something answers that is not a server of tacet");
  }
}

// Behind a balancer, or a server of another version.
class OtherService final : public http::Service {
 public:
  std::variant<http::Response, std::unique_ptr<http::Exchange>> Begin(const http::RequestHead&,
                                                                      const http::Peer&) override {
    http::Response response{.status = status};
    if (!wire.empty()) response.headers.emplace_back(kWireHeader, wire);
    return response;
  }
  int status = 200;
  std::string wire;
};

TEST_F(PermanentErrorsTest, OfOtherServers) {
  OtherService service;
  http::TlsIdentity identity(serving_.certificates.authority(), nullptr);
  ASSERT_TRUE(
      identity.Set(serving_.server_key, serving_.certificates.Server(serving_.server_key)).ok());
  const auto server = ValueOf(
      http::HttpServer::Start({.listen = {.host = "127.0.0.1", .port = 0}}, &identity, service));
  HttpsWireSpec spec = Spec();
  spec.server = server->listen().text();
  service.status = 404;
  ExpectPermanent(CallThrough(spec), "what answers is not a server of tacet (HTTP 404)");
  service.status = 503;
  EXPECT_TRUE(IsRetryable(CallThrough(spec)));
  service.status = 200;
  service.wire = "2";
  ExpectPermanent(CallThrough(spec),
                  "speaks version 2 of tacet's protocol, this program version 1");
}

// A client of another version is told which.
TEST_F(PermanentErrorsTest, OfOtherClients) {
  serving_.Begin();
  TlsForTest client(http::ConnectTo(serving_.port),
                    {.key = &key_, .certificate = serving_.certificates.Client(key_, "site-1")});
  client.Write("POST /tacet/2 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  const std::string answer = client.ReadUntil("version 2");
  EXPECT_THAT(answer, HasSubstr("Tacet-Wire: 1\r\n"));
  EXPECT_THAT(answer, HasSubstr("the server speaks version 1 of tacet's protocol, the client "));
}

TEST_F(PermanentErrorsTest, WhatPassesIsNotPermanent) {
  const auto closes = [](const http::Descriptor&) {};
  EXPECT_EQ(CallAtOne(closes).code(), absl::StatusCode::kUnavailable);
  const auto closes_later = [](const http::Descriptor& client) {
    char bytes[100];
    EXPECT_GT(recv(client.number(), bytes, sizeof(bytes), 0), 0);
  };
  EXPECT_EQ(CallAtOne(closes_later).code(), absl::StatusCode::kUnavailable);
  const auto is_silent = [](const http::Descriptor& client) {
    char byte = 0;
    while (recv(client.number(), &byte, 1, 0) == 1) {
    }
  };
  EXPECT_EQ(CallAtOne(is_silent).code(), absl::StatusCode::kDeadlineExceeded);
  serving_.Begin();
  serving_.End();
  EXPECT_EQ(CallThrough(Spec()).code(), absl::StatusCode::kUnavailable);
}

// Once it has reached its server, nobody but that ends a member.
TEST_F(PermanentErrorsTest, AreTheServersAloneOnceItWasReached) {
  serving_.Begin();
  const auto wire = ValueOf(HttpsWire::Create(Spec(), key_));
  const auto call = [&] { return wire->Call(base::Bytes(10), 30).status(); };
  EXPECT_EQ(call().code(), absl::StatusCode::kDataLoss);
  serving_.Restart();
  ASSERT_TRUE(serving_.server
                  ->SetCertificate(
                      serving_.server_key,
                      serving_.certificates.Server(serving_.server_key, {"127.0.0.1"}, Now() - 60))
                  .ok());
  const absl::Status expired = call();
  EXPECT_EQ(expired.code(), absl::StatusCode::kUnavailable) << expired;
  EXPECT_THAT(base::Message(expired), HasSubstr("has expired"));
  serving_.spec.members = {"site-0"};
  serving_.Restart();
  ExpectPermanent(call(), "not a member in the server's epoch");
}

}  // namespace
}  // namespace tacet::transport::https
