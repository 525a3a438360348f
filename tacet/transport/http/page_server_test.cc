#include "tacet/transport/http/page_server.h"

#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/transport/http/raw_client_for_test.h"

namespace tacet::transport::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class PageServerTest : public ::testing::Test {
 protected:
  void Start(PageServerSpec spec = {}) {
    spec.listen = {.host = "127.0.0.1", .port = 0};
    auto server = PageServer::Start(spec, [this](const PageRequest& request) {
      ++handled_;
      if (request.path == "/secret" && request.authorization != "Bearer 1") {
        return Page{.status = 401};
      }
      const std::string posted = request.method == "POST" ? ", POST " + request.body : "";
      return Page{.body = "you asked for " + request.path + posted + "\n",
                  .headers = {{"X-Test", "1"}}};
    });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  std::string Say(std::string_view text) const {
    const RawClient client(server_->listen().port);
    EXPECT_TRUE(client.connected());
    client.Send(text);
    return client.Rest();
  }
  std::string Get(std::string_view path) const {
    return Say("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }

  std::atomic<int> handled_ = 0;
  std::unique_ptr<PageServer> server_;
};

TEST_F(PageServerTest, AnswersGetAndHead) {
  Start();
  const std::string answer = Get("/page?x=1");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("you asked for /page\n"));
  EXPECT_THAT(answer, HasSubstr("X-Test: 1"));
  const std::string head = Say("HEAD /page HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(head, Not(HasSubstr("you asked")));
}

TEST_F(PageServerTest, HandsOverTheAuthorization) {
  Start();
  EXPECT_THAT(Get("/secret"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Say("GET /secret HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer 1\r\n\r\n"),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(PageServerTest, TakesNothingIn) {
  Start();
  for (const std::string method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    EXPECT_THAT(Say(method + " / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
                StartsWith("HTTP/1.1 405"))
        << method;
  }
  EXPECT_EQ(handled_, 0);
}

TEST_F(PageServerTest, TakesASmallBodyWhereItIsToldTo) {
  Start({.max_body_bytes = 10});
  const auto post = [this](std::string_view length, std::string_view body,
                           std::string_view host = "localhost") {
    return Say("POST /do?x=1 HTTP/1.1\r\nHost: " + std::string(host) +
               "\r\nContent-Length: " + std::string(length) + "\r\n\r\n" + std::string(body));
  };
  EXPECT_THAT(post("5", "hello"), HasSubstr("you asked for /do, POST hello\n"));
  EXPECT_THAT(post("0", ""), HasSubstr("you asked for /do, POST \n"));
  EXPECT_EQ(handled_, 2);
  EXPECT_THAT(post("11", "hello world"), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(post("18446744073709551615", "x"), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(post("5", "hello", "evil.example"), StartsWith("HTTP/1.1 421"));
  EXPECT_THAT(Say("PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
              StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(Say("OPTIONS / HTTP/1.1\r\nHost: localhost\r\n\r\n"), StartsWith("HTTP/1.1 405"));
  EXPECT_EQ(handled_, 2);
}

TEST_F(PageServerTest, ABodyThatDoesNotComeHasNoEffect) {
  Start({.time = std::chrono::milliseconds(300), .max_body_bytes = 10});
  EXPECT_THAT(Say("POST /do HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhel"),
              Not(HasSubstr("you asked")));
  EXPECT_EQ(handled_, 0);
}

TEST_F(PageServerTest, ANameThatOnlyLeadsHereIsRefused) {
  Start();
  for (const std::string host : {"evil.example", "evil.example:80", "127.0.0.1.evil.example"}) {
    EXPECT_THAT(Say("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n"), StartsWith("HTTP/1.1 421"))
        << host;
  }
  EXPECT_THAT(Say("GET / HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 421"));
  EXPECT_THAT(Say("GET / HTTP/1.1\r\nHost:\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  for (const std::string host :
       {"localhost:1234", "127.0.0.1", "127.0.0.1:80", "[::1]:9464", "[::1]"}) {
    EXPECT_THAT(Say("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n"), StartsWith("HTTP/1.1 200"))
        << host;
  }
}

TEST_F(PageServerTest, PartsOfAnAnswerAreNotMultiplied) {
  Start();
  std::string ranges = "bytes=0-";
  for (int i = 0; i < 300; ++i) ranges += ",0-";
  const std::string answer =
      Say("GET / HTTP/1.1\r\nHost: localhost\r\nRange: " + ranges + "\r\n\r\n");
  EXPECT_LT(answer.size(), 1000u);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
}

TEST_F(PageServerTest, ARequestHasAnEnd) {
  Start();
  const std::string header = "X-Filler: " + std::string(1000, 'x') + "\r\n";
  std::string many = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  for (int i = 0; i < 1000; ++i) many += header;
  const std::string answer = Say(many + "\r\n");
  EXPECT_THAT(answer, Not(HasSubstr("you asked")));
  Say("GET /" + std::string(1 << 20, 'a') + " HTTP/1.1\r\n\r\n");
  Say(std::string(1 << 20, '\n'));
  EXPECT_EQ(handled_, 0);
  EXPECT_THAT(Get("/"), StartsWith("HTTP/1.1 200"));
}

TEST_F(PageServerTest, ASlowClientIsLeft) {
  Start({.time = std::chrono::milliseconds(300)});
  const RawClient silent(server_->listen().port), slow(server_->listen().port);
  slow.Send("GET / HTTP/1.1\r\n");
  std::atomic<bool> ended = false;
  std::thread dripping([&] {
    while (!ended && slow.Send("X: y\r\n")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  EXPECT_THAT(slow.Rest(), Not(HasSubstr("you asked")));
  ended = true;
  dripping.join();
  EXPECT_EQ(silent.Rest().find("you asked"), std::string::npos);
  EXPECT_EQ(handled_, 0);
}

TEST_F(PageServerTest, MoreConnectionsThanPlacesDoNoHarm) {
  Start({.connections = 4});
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 8; ++i) {
    silent.push_back(std::make_unique<RawClient>(server_->listen().port));
  }
  EXPECT_THAT(Get("/"), StartsWith("HTTP/1.1 200"));
}

TEST_F(PageServerTest, StopsWhileClientsAreConnected) {
  Start({.time = std::chrono::minutes(1)});
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 6; ++i) {
    silent.push_back(std::make_unique<RawClient>(server_->listen().port));
  }
  server_.reset();
  SUCCEED();
}

// Random bytes, cut and altered requests: none ends the server.
TEST_F(PageServerTest, GarbageDoesNoHarm) {
  Start({.time = std::chrono::milliseconds(200)});
  std::minstd_rand random(7);
  const std::string whole =
      "GET /%41?a=b&c=%7a HTTP/1.1\r\nHost: localhost\r\nRange: bytes=1-2,3-\r\n"
      "Accept-Encoding: gzip, br\r\nTransfer-Encoding: chunked\r\nContent-Length: -1\r\n"
      "Expect: 100-continue\r\nConnection: keep-alive\r\n\r\n5\r\nhello\r\n";
  for (int i = 0; i < 500; ++i) {
    std::string text = whole.substr(0, random() % (whole.size() + 1));
    for (size_t flips = random() % 4; flips > 0 && !text.empty(); --flips) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    const RawClient client(server_->listen().port);
    client.Send(text + (i % 2 == 0 ? "\r\n\r\n" : ""));
    client.SayNoMore();
    client.Rest();
  }
  EXPECT_THAT(Get("/"), StartsWith("HTTP/1.1 200"));
}

TEST_F(PageServerTest, TwoDoNotShareAPort) {
  Start();
  const auto second = PageServer::Start({.listen = server_->listen()}, nullptr);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("cannot listen on " + server_->listen().text()));
}

}  // namespace
}  // namespace tacet::transport::http
