#include "tacet/transport/https/connection_failure.h"

#include <string>
#include <vector>

#include <curl/curl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "tacet/base/status.h"
#include "tacet/protocol/wire.h"
#include "tacet/transport/https/call_format.h"

namespace tacet::transport::https {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const ConnectionNames kNames = {.server = "hub.example:7443", .host = "hub.example", .proxy = ""};

struct Case {
  ConnectionFailure failure;
  std::string says;
};

// Permanent before the server was reached; afterwards it passes, with the same words.
TEST(ConnectionFailureTest, WhatAnybodyCouldCauseIsPermanentUntilTheServerWasReached) {
  const std::vector<Case> cases = {
      {{.curl = CURLE_COULDNT_RESOLVE_HOST, .resolver = EAI_NONAME}, "Correct --server"},
      {{.curl = CURLE_COULDNT_RESOLVE_PROXY, .resolver = EAI_NONAME}, "Correct --proxy"},
      {{.curl = CURLE_PEER_FAILED_VERIFICATION}, "does not name hub.example"},
      {{.curl = CURLE_PEER_FAILED_VERIFICATION, .verified = X509_V_ERR_CERT_HAS_EXPIRED},
       "has expired. Check this machine's clock"},
      {{.curl = CURLE_PEER_FAILED_VERIFICATION, .verified = X509_V_ERR_CERT_NOT_YET_VALID},
       "not valid yet. Check this machine's clock"},
      {{.curl = CURLE_PEER_FAILED_VERIFICATION, .verified = X509_V_ERR_INVALID_PURPOSE},
       "not for a server"},
      {{.curl = CURLE_PEER_FAILED_VERIFICATION,
        .verified = X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY},
       "not of this federation's authority"},
      {{.curl = CURLE_SSL_CONNECT_ERROR, .tls_reason = SSL_R_WRONG_VERSION_NUMBER},
       "Check host and port of --server"},
      {{.curl = CURLE_SSL_CONNECT_ERROR, .alert = SSL_AD_HANDSHAKE_FAILURE},
       "Check host and port of --server"},
      // An alert of somebody who has not shown the server's certificate.
      {{.curl = CURLE_SSL_CONNECT_ERROR, .alert = SSL_AD_CERTIFICATE_REVOKED},
       "Check host and port of --server"},
      {{.curl = CURLE_RECV_ERROR, .proxy_status = 407}, "asks for a user and a password"},
      {{.curl = CURLE_RECV_ERROR, .proxy_status = 403}, "Ask its administrator"}};
  for (const Case& one : cases) {
    const absl::Status first = StatusOf(one.failure, kNames, false);
    EXPECT_TRUE(protocol::IsPermanent(first)) << first;
    EXPECT_FALSE(protocol::IsRetryable(first)) << first;
    EXPECT_THAT(base::Message(first), HasSubstr(one.says));
    const absl::Status later = StatusOf(one.failure, kNames, true);
    EXPECT_TRUE(protocol::IsRetryable(later)) << later;
    EXPECT_EQ(base::Message(later), base::Message(first));
  }
}

TEST(ConnectionFailureTest, WhatTheServerSaysIsPermanentAtAnyTime) {
  const std::vector<Case> cases = {
      {{.alert = SSL_AD_CERTIFICATE_REVOKED}, "not a member in the server's epoch"},
      {{.alert = SSL_AD_UNKNOWN_CA}, "another federation"},
      {{.alert = TLS13_AD_CERTIFICATE_REQUIRED}, "TLS alert 116"}};
  for (Case one : cases) {
    one.failure.curl = CURLE_RECV_ERROR;
    one.failure.alert_is_servers = true;
    for (const bool reached : {false, true}) {
      const absl::Status refused = StatusOf(one.failure, kNames, reached);
      EXPECT_TRUE(protocol::IsPermanent(refused)) << refused;
      EXPECT_THAT(base::Message(refused), HasSubstr(one.says));
      EXPECT_THAT(base::Message(refused), HasSubstr("hub.example:7443"));
    }
  }
}

// The server's clock may be wrong: the member tries again, now and then.
TEST(ConnectionFailureTest, WhatAServersClockRefusesLasts) {
  const std::vector<Case> cases = {
      {{.alert = SSL_AD_CERTIFICATE_EXPIRED}, "it has expired"},
      {{.alert = SSL_AD_BAD_CERTIFICATE}, "not valid yet by the server's clock"}};
  for (Case one : cases) {
    one.failure.curl = CURLE_RECV_ERROR;
    one.failure.alert_is_servers = true;
    for (const bool reached : {false, true}) {
      const absl::Status refused = StatusOf(one.failure, kNames, reached);
      EXPECT_TRUE(protocol::IsRetryable(refused)) << refused;
      EXPECT_TRUE(protocol::IsLasting(refused)) << refused;
      EXPECT_THAT(base::Message(refused), HasSubstr(one.says));
      EXPECT_THAT(base::Message(refused), HasSubstr("hub.example:7443"));
    }
  }
}

TEST(ConnectionFailureTest, TheRestPasses) {
  const std::vector<ConnectionFailure> failures = {
      {.curl = CURLE_COULDNT_RESOLVE_HOST, .resolver = EAI_AGAIN},
      {.curl = CURLE_COULDNT_CONNECT, .text = "Connection refused"},
      {.curl = CURLE_OPERATION_TIMEDOUT},
      {.curl = CURLE_SSL_CONNECT_ERROR, .text = "Connection reset by peer"},
      {.curl = CURLE_SSL_CONNECT_ERROR, .tls_reason = SSL_R_UNEXPECTED_EOF_WHILE_READING},
      {.curl = CURLE_RECV_ERROR, .text = "Connection reset by peer"},
      {.curl = CURLE_RECV_ERROR, .alert = SSL_AD_INTERNAL_ERROR, .alert_is_servers = true},
      {.curl = CURLE_RECV_ERROR, .proxy_status = 502},
      {.curl = CURLE_GOT_NOTHING},
      {.curl = CURLE_OUT_OF_MEMORY}};
  for (const ConnectionFailure& failure : failures) {
    const absl::Status passing = StatusOf(failure, kNames, false);
    EXPECT_TRUE(protocol::IsRetryable(passing)) << passing;
    EXPECT_FALSE(protocol::IsPermanent(passing)) << passing;
  }
}

TEST(ConnectionFailureTest, AnswersOfOthers) {
  EXPECT_TRUE(protocol::IsPermanent(StatusOfStranger(404, kNames, false)));
  EXPECT_TRUE(protocol::IsRetryable(StatusOfStranger(404, kNames, true)));
  for (const long busy : {429, 502, 503}) {
    EXPECT_TRUE(protocol::IsRetryable(StatusOfStranger(busy, kNames, false))) << busy;
  }
  const absl::Status version = StatusOfVersion("2", kNames);
  EXPECT_TRUE(protocol::IsPermanent(version));
  EXPECT_THAT(base::Message(version), HasSubstr("version 2 of tacet's protocol, this program"));
}

TEST(CallFormatTest, StatusesSurviveTheWire) {
  for (int number = 1; number <= 16; ++number) {
    const auto code = static_cast<absl::StatusCode>(number);
    const absl::Status read = StatusFrom(absl::StatusCodeToString(code), "why");
    // No server ends a client's wire.
    EXPECT_EQ(read.code(), code == absl::StatusCode::kUnauthenticated
                               ? absl::StatusCode::kPermissionDenied
                               : code);
    EXPECT_EQ(base::Message(read), "why");
    EXPECT_GE(HttpStatusOf(code), 400);
  }
  // An answer that cannot be read may be read when it comes again.
  for (const std::string word : {"NO_SUCH_CODE", "OK", ""}) {
    EXPECT_TRUE(protocol::IsRetryable(StatusFrom(word, ""))) << word;
  }
}

TEST(CallFormatTest, TextsOfTheOtherEndAreForPeopleOnly) {
  const std::string text = base::Message(StatusFrom("NOT_FOUND", "a\x1b[2Jb\tc\x7f\n"));
  EXPECT_EQ(text, "a?[2Jb?c?");
  EXPECT_EQ(base::Message(StatusFrom("NOT_FOUND", std::string(5000, 'x'))).size(), 1000u);
}

TEST(CallFormatTest, PathsHaveAVersion) {
  EXPECT_EQ(VersionIn(CallPath()), kWireVersion);
  EXPECT_EQ(VersionIn("/tacet/77"), 77u);
  for (const std::string path : {"/", "/tacet/", "/tacet/1/", "/tacet/-1", "/tacet/x", "/tacet/ 1",
                                 "/tacet/4294967296", "tacet/1", "/tacet/1?x"}) {
    EXPECT_FALSE(VersionIn(path).has_value()) << path;
  }
}

}  // namespace
}  // namespace tacet::transport::https
