// Answers of a malicious server to a member: without end, compressed, leading elsewhere. And the
// secrets of a connection, which stay in memory.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tacet/base/status.h"
#include "tacet/transport/http/acceptor_for_test.h"
#include "tacet/transport/https/serving_for_test.h"
#include "tacet/transport/https/tls_for_test.h"

namespace tacet::transport::https {
namespace {

using protocol::testing::ValueOf;
using ::testing::HasSubstr;

class HostileServerTest : public ::testing::Test {
 protected:
  // Outcome of a call whose answer is `head`, and then `piece` until the client has enough.
  absl::StatusOr<base::Bytes> AnsweredWith(const std::string& head, const std::string& piece = "") {
    http::AcceptorForTest acceptor([&](http::Descriptor client) {
      TlsForTest server(
          std::move(client),
          {.server = true, .key = &server_key_, .certificate = certificates_.Server(server_key_)});
      server.ReadUntil("\r\n\r\n");
      server.Write(head);
      while (!piece.empty() && server.Write(piece)) sent_ += piece.size();
    });
    const auto wire = ValueOf(HttpsWire::Create({.server = acceptor.Address(),
                                                 .proxy = "",
                                                 .authority = certificates_.authority(),
                                                 .certificate = certificates_.Client(key_, "a")},
                                                key_));
    return wire->Call(base::Bytes(10), 60);
  }
  void ExpectEnough(const std::string& head, const std::string& piece, const std::string& says) {
    sent_ = 0;
    const absl::Status refused = AnsweredWith(head, piece).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable) << refused;
    EXPECT_THAT(base::Message(refused), HasSubstr(says));
    EXPECT_LT(sent_, size_t{64} << 20);  // what fits into the system's buffers, and the answer
  }

  CertificatesForTest certificates_;
  const crypto::TlsKey key_ = crypto::TlsKey::Generate();
  const crypto::TlsKey server_key_ = crypto::TlsKey::Generate();
  std::atomic<size_t> sent_ = 0;
};

TEST_F(HostileServerTest, AnswersWithoutEndAreLeft) {
  const std::string answer = "HTTP/1.1 200 OK\r\nTacet-Wire: 1\r\n";
  const std::string body(16'000, 'x');
  ExpectEnough(answer, "X: " + std::string(1000, 'x') + "\r\n", "headers have more than 65536");
  ExpectEnough("", "HTTP/1.1 100 Continue\r\n\r\n", "headers have more than 65536");
  ExpectEnough(answer + "\r\n", body, "the header Content-Length is missing");
  ExpectEnough(answer + "Content-Length: 1000000000000\r\n\r\n", body, "sends more than 8388608");
  ExpectEnough(answer + "Transfer-Encoding: chunked\r\n\r\n", "3e80\r\n" + body + "\r\n",
               "the body has a Transfer-Encoding");
}

TEST_F(HostileServerTest, NothingIsInflated) {
  const auto answer = AnsweredWith(
      "HTTP/1.1 200 OK\r\nTacet-Wire: 1\r\nContent-Encoding: gzip\r\nContent-Length: "
      "4\r\n\r\nabcd");
  EXPECT_EQ(base::AsText(ValueOf(answer)), "abcd");
}

TEST_F(HostileServerTest, ACallGoesNowhereElse) {
  std::atomic<int> led_here = 0;
  http::AcceptorForTest elsewhere([&](const http::Descriptor&) { ++led_here; });
  for (const std::string status : {"301 Moved", "307 Temporary Redirect"}) {
    const absl::Status refused =
        AnsweredWith(
            fmt::format("HTTP/1.1 {}\r\nLocation: https://{}/\r\nContent-Length: 0\r\n\r\n", status,
                        elsewhere.Address()))
            .status();
    EXPECT_THAT(base::Message(refused), HasSubstr("not a server of tacet (HTTP 30"));
  }
  elsewhere.Stop();
  EXPECT_EQ(led_here, 0);
}

// libcurl would write them to this file for every program that does not prevent it. It looks at the
// environment once in a process, so the call is made in one of its own.
TEST(TlsSecretsTest, AreWrittenToNoFile) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto log_of = [](pid_t process) {
    return testing::TempDir() + "secrets-" + std::to_string(process) + ".log";
  };
  const auto call = [&] {
    setenv("SSLKEYLOGFILE", log_of(getppid()).c_str(), 1);
    ServingForTest serving;
    serving.Begin();
    const bool answered = MemberForTest(serving, 1).remote.Await({}).ok();
    serving.End();
    std::_Exit(answered ? 7 : 1);
  };
  EXPECT_EXIT(call(), testing::ExitedWithCode(7), "");
  const std::string log = log_of(getpid());
  std::stringstream written;
  written << std::ifstream(log).rdbuf();
  EXPECT_THAT(written.str(), testing::Not(HasSubstr("SECRET")));
  std::filesystem::remove(log);
}

}  // namespace
}  // namespace tacet::transport::https
