// Tests of the HTTP server over plain sockets: requests, long polls, deadlines, places.
#include "tacet/transport/http/http_server.h"

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status_for_test.h"
#include "tacet/transport/http/raw_client_for_test.h"

namespace tacet::transport::http {
namespace {

using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

base::Bytes BytesOf(std::string_view text) { return {text.begin(), text.end()}; }

class Zeros final : public BodySource {
 public:
  explicit Zeros(uint64_t size) : size_(size) {}
  uint64_t size() const override { return size_; }
  absl::Status Read(std::span<uint8_t> out) override {
    std::ranges::fill(out, '0');
    return absl::OkStatus();
  }

 private:
  uint64_t size_;
};

// /echo answers with the body, /zeros with as many bytes as the body says, /park as soon as there
// is news, /refuse before any body.
class TestService final : public Service {
 public:
  std::variant<Response, std::unique_ptr<Exchange>> Begin(const RequestHead& head,
                                                          const Peer& peer) override {
    ++begun;
    EXPECT_FALSE(peer.certificate_name.has_value());
    if (head.target == "/refuse") return Response{.status = 413, .body = BytesOf("too much\n")};
    return std::make_unique<TestExchange>(*this, head.target);
  }

  std::atomic<int> begun = 0, open = 0;
  std::atomic<bool> news = false;

 private:
  class TestExchange final : public Exchange {
   public:
    TestExchange(TestService& service, std::string target)
        : service_(service), target_(std::move(target)) {
      ++service_.open;
    }
    ~TestExchange() override { --service_.open; }

    std::optional<Response> Receive(std::span<const uint8_t> bytes) override {
      body_ += base::AsText(bytes);
      return std::nullopt;
    }
    std::optional<Response> Finish() override {
      if (target_ == "/park") return std::nullopt;
      if (target_ != "/zeros") return Response{.body = BytesOf(body_)};
      return Response{.body = BytesOf("<"), .more = std::make_unique<Zeros>(std::stoull(body_))};
    }
    std::optional<Response> Look() override {
      return service_.news ? std::optional(Response{.body = BytesOf("news\n")}) : std::nullopt;
    }
    Response GiveUp() override { return {.body = BytesOf("nothing\n")}; }

   private:
    TestService& service_;
    std::string target_, body_;
  };
};

class HttpServerTest : public ::testing::Test {
 protected:
  void Start() {
    spec_.listen = {.host = "127.0.0.1", .port = 0};
    ASSERT_OK_AND_ASSIGN(server_, HttpServer::Start(spec_, nullptr, service_));
    port_ = server_->listen().port;
  }
  static std::string Post(const std::string& path, const std::string& body,
                          const std::string& headers = "") {
    return fmt::format("POST {} HTTP/1.1\r\nHost: a\r\n{}Content-Length: {}\r\n\r\n{}", path,
                       headers, body.size(), body);
  }
  std::string Last(const std::string& path, const std::string& body) const {
    const RawClient client(port_);
    client.Send(Post(path, body, "Connection: close\r\n"));
    return client.Rest();
  }
  void AwaitParked(size_t count) const {
    WaitUntil([&] { return server_->Load().parked == count; });
  }
  void AwaitGone() const {
    WaitUntil([&] { return server_->Load().connections == 0; });
  }

  TestService service_;
  HttpServerSpec spec_;
  std::unique_ptr<HttpServer> server_;
  uint16_t port_ = 0;
};

TEST_F(HttpServerTest, AConnectionCarriesRequestsOneAfterTheOther) {
  Start();
  const RawClient client(port_);
  client.Send(Post("/echo", "one"));
  EXPECT_THAT(client.ReadUntil("one"), StartsWith("HTTP/1.1 200 OK\r\n"));
  // Two at once are answered in order; the last one ends the connection.
  client.Send(Post("/echo", "two") + Post("/zeros", "3") +
              Post("/echo", "four", "Connection: close\r\n"));
  const std::string rest = client.Rest();
  EXPECT_THAT(rest, HasSubstr("Content-Length: 3\r\n\r\ntwoHTTP/1.1"));
  EXPECT_THAT(rest, HasSubstr("Content-Length: 4\r\n\r\n<000HTTP/1.1"));
  EXPECT_THAT(rest, EndsWith("Connection: close\r\n\r\nfour"));
  EXPECT_EQ(service_.begun, 4);
  AwaitGone();
}

TEST_F(HttpServerTest, LargeBodiesGoInAndOut) {
  Start();
  const std::string body(3'000'000, 'x');
  EXPECT_THAT(Last("/echo", body), EndsWith("\r\n\r\n" + body));
  EXPECT_EQ(Last("/zeros", "3000000").size(), Last("/zeros", "1000000").size() + 2'000'000);
}

TEST_F(HttpServerTest, ABodyIsAskedFor) {
  Start();
  const RawClient client(port_);
  const std::string request = Post("/echo", "body", "Expect: 100-continue\r\n");
  client.Send(request.substr(0, request.size() - 4));
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("body");
  EXPECT_THAT(client.ReadUntil("body"), StartsWith("HTTP/1.1 200"));
}

// The refusal arrives although the client continues sending for a while.
TEST_F(HttpServerTest, ABodyIsRefusedBeforeItIsTaken) {
  Start();
  const RawClient client(port_);
  const std::string request = Post("/refuse", std::string(1'000'000, 'x'));
  EXPECT_TRUE(client.Send(request.substr(0, 1000)));
  EXPECT_THAT(client.ReadUntil("too much\n"), HasSubstr("Connection: close"));
  EXPECT_TRUE(client.Send(request.substr(1000)));
  EXPECT_EQ(client.Rest(), "");
  EXPECT_EQ(service_.open, 0);
}

TEST_F(HttpServerTest, WhatIsNoRequestIsRefused) {
  Start();
  for (const auto& [text, status] : std::vector<std::pair<std::string, std::string>>{
           {"nonsense\r\n\r\n", "400"},
           {"GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x'), "431"},
           {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            "411"}}) {
    const RawClient client(port_);
    client.Send(text);
    EXPECT_THAT(client.Rest(), StartsWith("HTTP/1.1 " + status));
  }
  EXPECT_EQ(service_.begun, 0);
  AwaitGone();
}

TEST_F(HttpServerTest, AParkedRequestIsAnsweredWithTheNews) {
  Start();
  const RawClient client(port_);
  client.Send(Post("/park", ""));
  AwaitParked(1);
  for (int i = 0; i < 100; ++i) server_->Look();
  AwaitParked(1);
  service_.news = true;
  server_->Look();
  EXPECT_THAT(client.ReadUntil("news\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(server_->Load().parked, 0u);
  // News that came before it was parked.
  client.Send(Post("/park", ""));
  EXPECT_THAT(client.ReadUntil("news\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, AParkedRequestIsGivenUpOrForgotten) {
  spec_.limits.long_poll = milliseconds(100);
  Start();
  const RawClient patient(port_);
  patient.Send(Post("/park", ""));
  EXPECT_THAT(patient.ReadUntil("nothing\n"), StartsWith("HTTP/1.1 200"));
  spec_.limits.long_poll = std::chrono::minutes(1);
  Start();
  {
    const RawClient impatient(port_);
    impatient.Send(Post("/park", ""));
    AwaitParked(1);
  }
  AwaitGone();
  EXPECT_EQ(service_.open, 0);
}

TEST_F(HttpServerTest, SilenceHasAnEndInEveryPhase) {
  spec_.limits = {.hello = milliseconds(100),
                  .head = milliseconds(100),
                  .idle = milliseconds(100),
                  .stall = milliseconds(100)};
  Start();
  const RawClient silent(port_), in_head(port_), in_body(port_), idle(port_), reader(port_);
  in_head.Send("POST /echo HTTP/1.1\r\n");
  in_body.Send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf");
  idle.Send(Post("/echo", "one"));
  idle.ReadUntil("one");
  reader.Send(Post("/zeros", "100000000"));  // and reads nothing
  AwaitGone();
  EXPECT_EQ(in_head.Rest() + in_body.Rest() + idle.Rest() + silent.Rest(), "");
  EXPECT_EQ(service_.open, 0);
}

// Bytes that come one by one, each before its time is over.
TEST_F(HttpServerTest, SlowRequestsTimeOut) {
  spec_.limits = {
      .head = milliseconds(300), .transfer = milliseconds(300), .bytes_per_second = 100};
  Start();
  const auto drip = [this](const std::string& begin) {
    const RawClient client(port_);
    client.Send(begin);
    const auto start = std::chrono::steady_clock::now();
    while (!client.Closes(milliseconds(20)) && client.Send("x")) {
    }
    return std::chrono::steady_clock::now() - start;
  };
  EXPECT_LT(drip("POST /echo HTTP/1.1\r\nX: "), std::chrono::seconds(2));
  EXPECT_LT(drip("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n"),
            std::chrono::seconds(4));
  // A longer body has longer.
  EXPECT_GT(drip("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\n"),
            std::chrono::seconds(3));
}

TEST_F(HttpServerTest, StrangersBeyondTheCapReplaceTheirLike) {
  spec_.places = {.all = 20, .of_address = 10};
  Start();
  const RawClient honest(port_, "127.0.0.9");
  std::vector<RawClient> many;
  for (int i = 0; i < 40; ++i) many.emplace_back(port_, "127.0.0.2");
  EXPECT_TRUE(many.front().Closes(std::chrono::seconds(10)));
  WaitUntil([this] { return server_->Load().replaced == 30; });
  WaitUntil([this] { return server_->Load().connections == 11; });
  honest.Send(Post("/echo", "here"));
  EXPECT_THAT(honest.ReadUntil("here"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, DrainingAnswersWhatIsParkedAndEndsWhatIsIdle) {
  Start();
  const RawClient parked(port_), idle(port_), silent(port_);
  idle.Send(Post("/echo", "one"));
  idle.ReadUntil("one");
  parked.Send(Post("/park", ""));
  AwaitParked(1);
  const auto start = std::chrono::steady_clock::now();
  server_->Drain(std::chrono::seconds(30));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_THAT(parked.Rest(), EndsWith("nothing\n"));
  EXPECT_EQ(idle.Rest() + silent.Rest(), "");
  EXPECT_FALSE(RawClient(port_).connected() && !RawClient(port_).Closes(milliseconds(500)));
}

TEST_F(HttpServerTest, DrainingCutsWhatTakesLonger) {
  Start();
  const RawClient slow(port_);
  slow.Send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf");
  WaitUntil([this] { return server_->Load().working == 1; });
  server_->Drain(milliseconds(50));
  EXPECT_EQ(slow.Rest(), "");
  EXPECT_EQ(server_->Load().connections, 0u);
}

TEST_F(HttpServerTest, ManyClientsAtOnce) {
  Start();
  std::vector<std::thread> clients;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&, i] {
      const RawClient client(port_);
      for (int j = 0; j < 200; ++j) {
        const std::string body = fmt::format("({}:{})", i, j);
        client.Send(Post("/echo", body));
        answered += client.ReadUntil(body).ends_with(body) ? 1 : 0;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, 1600);
}

TEST_F(HttpServerTest, LimitsAreAboveZero) {
  spec_.limits.stall = milliseconds(0);
  const auto server = HttpServer::Start(spec_, nullptr, service_);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(base::Message(server.status()), HasSubstr("above zero"));
}

}  // namespace
}  // namespace tacet::transport::http
