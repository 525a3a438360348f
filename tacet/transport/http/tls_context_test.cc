#include "tacet/transport/http/tls_context.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/crypto/authority_for_test.h"

namespace tacet::transport::http {
namespace {

class TlsContextTest : public ::testing::Test {
 protected:
  ContextPointer End(const SSL_METHOD* method, const std::string& name,
                     crypto::CertificateRole role) const {
    const crypto::TlsKey key = crypto::TlsKey::Generate();
    const base::Bytes certificate = base::ValueOf(crypto::IssueCertificate(
        {.common_name = name,
         .role = role,
         .public_key = key.public_key(),
         .hosts = role == crypto::CertificateRole::kServer ? std::vector<std::string>{"127.0.0.1"}
                                                           : std::vector<std::string>(),
         .not_before = 1'750'000'000,
         .not_after = 4'000'000'000},
        authority_key_, authority_));
    ContextPointer context(SSL_CTX_new(method));
    EXPECT_TRUE(SetUpContext(context.get(), authority_, certificate, key));
    return context;
  }

  // The group on which both agree; empty without a connection.
  static std::string Agreed(SSL_CTX* server_context, SSL_CTX* client_context) {
    const SslPointer server(SSL_new(server_context)), client(SSL_new(client_context));
    BIO *at_server = nullptr, *at_client = nullptr;
    EXPECT_EQ(BIO_new_bio_pair(&at_server, 0, &at_client, 0), 1);
    SSL_set_bio(server.get(), at_server, at_server);
    SSL_set_bio(client.get(), at_client, at_client);
    SSL_set_accept_state(server.get());
    SSL_set_connect_state(client.get());
    for (int turn = 0; turn < 10; ++turn) {
      const int one = SSL_do_handshake(client.get()), other = SSL_do_handshake(server.get());
      if (one != 1 || other != 1) continue;
      const auto group = static_cast<int>(SSL_get_negotiated_group(client.get()));
      const char* const name = SSL_group_to_name(client.get(), group);
      return name == nullptr ? "" : name;
    }
    return "";
  }

  // Whether OpenSSL knows a group.
  static bool Knows(const char* group) {
    const ContextPointer context(SSL_CTX_new(TLS_method()));
    return SSL_CTX_set1_groups_list(context.get(), group) == 1;
  }

  const crypto::TlsKey authority_key_ = crypto::TlsKey::Generate();
  const base::Bytes authority_ = crypto::AuthorityOf(authority_key_, 1'750'000'000, 4'000'000'000);
  const ContextPointer server_ = End(TLS_server_method(), "hub", crypto::CertificateRole::kServer);
  const ContextPointer client_ = End(TLS_client_method(), "one", crypto::CertificateRole::kClient);
};

TEST_F(TlsContextTest, BothEndsPreferTheHybridGroupWhereTheyHaveIt) {
  EXPECT_TRUE(Knows("X25519"));
  const std::string best = Knows("X25519MLKEM768") ? "X25519MLKEM768" : "x25519";
  EXPECT_STRCASEEQ(Agreed(server_.get(), client_.get()).c_str(), best.c_str());
}

// As one end is that has an older library.
TEST_F(TlsContextTest, AnEndWithoutTheHybridGroupConnects) {
  for (SSL_CTX* const older : {server_.get(), client_.get()}) {
    ASSERT_EQ(SSL_CTX_set1_groups_list(older, "X25519:P-256"), 1);
    EXPECT_STRCASEEQ(Agreed(server_.get(), client_.get()).c_str(), "x25519");
  }
  ASSERT_EQ(SSL_CTX_set1_groups_list(client_.get(), "P-256"), 1);
  EXPECT_NE(Agreed(server_.get(), client_.get()), "");
  ASSERT_EQ(SSL_CTX_set1_groups_list(client_.get(), "P-384"), 1);
  EXPECT_EQ(Agreed(server_.get(), client_.get()), "");
}

}  // namespace
}  // namespace tacet::transport::http
