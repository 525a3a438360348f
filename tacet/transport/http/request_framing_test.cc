// Heads of requests that servers and proxies are known to read in different ways. The server
// refuses such a head, or reads it as RFC 9112 says: then no intermediary that follows the RFC sees
// another request, or another end of it.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/bytes.h"
#include "tacet/base/mutex.h"
#include "tacet/base/status_for_test.h"
#include "tacet/base/test_size_for_test.h"
#include "tacet/transport/http/changed_heads_for_test.h"
#include "tacet/transport/http/http_server.h"
#include "tacet/transport/http/raw_client_for_test.h"

namespace tacet::transport::http {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A request as far as a server of ours uses it.
struct Request {
  std::string method, target, host, authorization, body;
  bool operator==(const Request&) const = default;
};

void PrintTo(const Request& request, std::ostream* out) {
  *out << request.method << " " << request.target << " host " << request.host << " authorization "
       << request.authorization << " body " << request.body;
}

// The strict reader of RFC 9112. It shares no code with the server. Names in comments are rules of
// the RFC's grammar.
class StrictReader {
 public:
  explicit StrictReader(std::string_view bytes) : rest_(bytes) {}

  // The next request; nothing where the RFC allows to refuse, and where bytes are missing.
  std::optional<Request> Next() {
    if (!persists_) return std::nullopt;
    while (Take("\r\n")) {  // section 2.2: empty lines before the request-line
    }
    Request request;
    request.method = TakeWhile(IsTchar);
    if (request.method.empty() || !Take(" ")) return std::nullopt;
    request.target = TakeWhile([](uint8_t c) { return c > 0x20 && c < 0x7F; });
    if (!IsRequestTarget(request.method, request.target) || !Take(" HTTP/1.")) return std::nullopt;
    const bool minor_1 = Take("1");
    if ((!minor_1 && !Take("0")) || !Take("\r\n")) return std::nullopt;

    std::vector<std::pair<std::string, std::string>> fields;  // names in lower case
    while (!Take("\r\n")) {
      std::string name = TakeWhile(IsTchar);
      if (name.empty() || !Take(":")) return std::nullopt;
      std::string value =
          TakeWhile([](uint8_t c) { return c == '\t' || (c >= 0x20 && c != 0x7F); });
      if (!Take("\r\n")) return std::nullopt;
      for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
      fields.emplace_back(std::move(name), Trimmed(value));
    }
    const auto values = [&](std::string_view name) {
      std::vector<std::string> all;
      for (const auto& [field, value] : fields) {
        if (field == name) all.push_back(value);
      }
      return all;
    };

    // Section 3.2.
    const auto hosts = values("host");
    if (hosts.size() > 1 || (minor_1 && hosts.empty())) return std::nullopt;
    if (!hosts.empty()) request.host = hosts[0];
    if (!hosts.empty() && !IsHost(hosts[0])) return std::nullopt;
    // A field that is not a list comes once (RFC 9110, section 5.3).
    const auto authorizations = values("authorization");
    if (authorizations.size() > 1) return std::nullopt;
    if (!authorizations.empty()) request.authorization = authorizations[0];
    // Sections 6.1 and 6.3.
    if (!values("transfer-encoding").empty()) return std::nullopt;
    const auto lengths = values("content-length");
    if (lengths.size() > 1) return std::nullopt;
    uint64_t length = 0;
    for (const std::string& text : lengths) {
      if (text.empty()) return std::nullopt;
      for (const char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        if (length > (std::numeric_limits<uint64_t>::max() - 9) / 10) return std::nullopt;
        length = 10 * length + static_cast<uint64_t>(c - '0');
      }
    }
    // Section 9.3.
    persists_ = minor_1;
    for (const std::string& options : values("connection")) {
      if (!IsListOfTokens(options)) return std::nullopt;
    }
    if (rest_.size() < length) return std::nullopt;
    request.body = rest_.substr(0, static_cast<size_t>(length));
    rest_.remove_prefix(static_cast<size_t>(length));
    return request;
  }

 private:
  static bool IsAlpha(uint8_t c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
  static bool IsDigit(uint8_t c) { return c >= '0' && c <= '9'; }
  static bool IsOneOf(uint8_t c, std::string_view these) {
    return these.find(static_cast<char>(c)) != these.npos;
  }
  static bool IsTchar(uint8_t c) {
    return IsAlpha(c) || IsDigit(c) || IsOneOf(c, "!#$%&'*+-.^_`|~");
  }
  static bool IsHexdig(uint8_t c) { return IsDigit(c) || IsOneOf(c, "abcdefABCDEF"); }
  // unreserved / sub-delims of RFC 3986.
  static bool IsRegName(uint8_t c) {
    return IsAlpha(c) || IsDigit(c) || IsOneOf(c, "-._~!$&'()*+,;=");
  }
  static bool IsRequestTarget(std::string_view method, std::string_view target) {
    if (method == "OPTIONS" && target == "*") return true;
    if (method == "CONNECT") return IsHost(target) && target.find(':') != target.npos;
    for (const std::string_view scheme : {"http://", "https://"}) {
      if (!target.starts_with(scheme)) continue;
      target.remove_prefix(scheme.size());
      const size_t end = std::min(target.find('/'), target.size());
      if (!IsHost(target.substr(0, end))) return false;
      if (end == target.size()) return true;
      target.remove_prefix(end);
    }
    if (!target.starts_with('/')) return false;
    for (size_t i = 0; i < target.size(); ++i) {
      const auto c = static_cast<uint8_t>(target[i]);
      const bool encoded = c == '%' && i + 2 < target.size() &&
                           IsHexdig(static_cast<uint8_t>(target[i + 1])) &&
                           IsHexdig(static_cast<uint8_t>(target[i + 2]));
      if (!encoded && !IsRegName(c) && !IsOneOf(c, ":@/?")) return false;
      if (encoded) i += 2;
    }
    return true;
  }
  // uri-host [ ":" port ], not empty.
  static bool IsHost(std::string_view text) {
    size_t end = 0;
    if (text.starts_with('[')) {
      end = text.find(']');
      if (end == text.npos || end < 3) return false;
      for (const char c : text.substr(1, end - 1)) {
        if (!IsHexdig(static_cast<uint8_t>(c)) && c != ':' && c != '.') return false;
      }
      ++end;
    } else {
      while (end < text.size() && IsRegName(static_cast<uint8_t>(text[end]))) ++end;
      if (end == 0) return false;
    }
    text.remove_prefix(end);
    if (text.empty()) return true;
    return text[0] == ':' && std::ranges::all_of(text.substr(1), [](char c) {
             return IsDigit(static_cast<uint8_t>(c));
           });
  }
  static std::string Trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(" \t");
    if (begin == text.npos) return "";
    return std::string(text.substr(begin, text.find_last_not_of(" \t") + 1 - begin));
  }
  // #token; notes the option "close".
  bool IsListOfTokens(std::string_view text) {
    for (;;) {
      const size_t comma = std::min(text.find(','), text.size());
      std::string token = Trimmed(text.substr(0, comma));
      if (!std::ranges::all_of(token, [](char c) { return IsTchar(static_cast<uint8_t>(c)); })) {
        return false;
      }
      for (char& c : token) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
      if (token == "close") persists_ = false;
      if (comma == text.size()) return true;
      text.remove_prefix(comma + 1);
    }
  }

  bool Take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  template <typename Belongs>
  std::string TakeWhile(const Belongs& belongs) {
    size_t end = 0;
    while (end < rest_.size() && belongs(static_cast<uint8_t>(rest_[end]))) ++end;
    std::string taken(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return taken;
  }

  std::string_view rest_;
  bool persists_ = true;
};

// Notes the requests that it is given, and answers each with nothing.
class Notes final : public Service {
 public:
  std::variant<Response, std::unique_ptr<Exchange>> Begin(const RequestHead& head,
                                                          const Peer&) override {
    return std::make_unique<NotedExchange>(*this, Request{.method = head.method,
                                                          .target = head.target,
                                                          .host = head.host,
                                                          .authorization = head.authorization,
                                                          .body = ""});
  }
  std::vector<Request> Take() {
    const base::MutexLock lock(mutex_);
    return std::exchange(requests_, {});
  }

 private:
  class NotedExchange final : public Exchange {
   public:
    NotedExchange(Notes& notes, Request request) : notes_(notes), request_(std::move(request)) {}
    std::optional<Response> Receive(std::span<const uint8_t> bytes) override {
      request_.body += base::AsText(bytes);
      return std::nullopt;
    }
    std::optional<Response> Finish() override {
      const base::MutexLock lock(notes_.mutex_);
      notes_.requests_.push_back(request_);
      return Response{};
    }
    std::optional<Response> Look() override { return std::nullopt; }
    Response GiveUp() override { return {}; }

   private:
    Notes& notes_;
    Request request_;
  };

  base::Mutex mutex_;
  std::vector<Request> requests_ ABSL_GUARDED_BY(mutex_);
};

class RequestFramingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(
        server_, HttpServer::Start({.listen = {.host = "127.0.0.1", .port = 0}}, nullptr, notes_));
  }

  struct Outcome {
    std::vector<Request> read;
    int refused_with = 0;  // the status of a refusal, if there was one
  };
  // The answer to a client that sends these bytes and then nothing. A refusal ends the connection.
  Outcome Send(std::string_view bytes) {
    const RawClient client(server_->listen().port);
    client.Send(bytes);
    client.SayNoMore();
    const std::string answers = client.Rest();
    Outcome outcome{.read = notes_.Take()};
    std::string_view rest = answers;
    for (size_t i = 0; i < outcome.read.size(); ++i) {
      EXPECT_THAT(std::string(rest), StartsWith("HTTP/1.1 200 OK\r\n"));
      rest.remove_prefix(std::min(rest.find("\r\n\r\n"), rest.size() - 4) + 4);
    }
    if (rest.empty()) return outcome;
    EXPECT_THAT(std::string(rest),
                AllOf(StartsWith("HTTP/1.1 4"), HasSubstr("\r\nConnection: close\r\n")));
    EXPECT_EQ(rest.find("HTTP/1.1", 1), rest.npos);
    outcome.refused_with = std::stoi(std::string(rest.substr(9, 3)));
    return outcome;
  }
  // The server reads no request that the strict reader does not read alike.
  void ExpectReadAlike(std::string_view bytes, const Outcome& outcome) {
    StrictReader strict(bytes);
    for (const Request& read : outcome.read) {
      const std::optional<Request> expected = strict.Next();
      ASSERT_TRUE(expected.has_value()) << ::testing::PrintToString(read);
      EXPECT_EQ(read, *expected);
    }
  }

  Notes notes_;
  std::unique_ptr<HttpServer> server_;
};

struct Case {
  std::string bytes;
  size_t requests = 0;   // that are read
  int refused_with = 0;  // 0: nothing is refused
};

std::string Zero(std::string text) {  // a NUL for each @
  std::ranges::replace(text, '@', '\0');
  return text;
}

std::vector<Case> Cases() {
  const std::string line = "POST /a?b=c HTTP/1.1\r\n", host = "Host: a.example\r\n";
  const std::string post = line + host, next = "GET /next HTTP/1.1\r\n" + host + "\r\n";
  const auto length = [&](const std::string& value) {
    return Case{post + "Content-Length:" + value + "\r\n\r\nfive!" + next, 0, 400};
  };
  const auto coding = [&](const std::string& field, int status = 411) {
    return Case{post + field + "\r\n\r\n0\r\n\r\n" + next, 0, status};
  };
  const auto target = [&](const std::string& text) {
    return Case{"GET " + text + " HTTP/1.1\r\n" + host + "\r\n" + next, 0, 400};
  };
  const auto version = [&](const std::string& text) {
    return Case{"GET / " + text + "\r\n" + host + "\r\n" + next, 0, 400};
  };
  const auto hosted = [&](const std::string& fields) {
    return Case{line + fields + "\r\n" + next, 0, 400};
  };
  const auto field = [&](const std::string& text) {
    return Case{post + text + "\r\n\r\n" + next, 0, 400};
  };
  return {
      // Content-Length
      {post + "Content-Length: 5\r\n\r\nfive!" + next, 2},
      {post + "content-length:\t5 \t\r\n\r\nfive!" + next, 2},
      {post + "Content-Length: 0\r\n\r\n" + next, 2},
      {post + "\r\n" + next, 2},
      {post + "Content-Length: 5\r\n\r\nfiv", 0},
      length(" 5\r\nContent-Length: 5"),
      length(" 5\r\nContent-Length: 4"),
      length(" 5, 5"),
      length(" 5,"),
      length(" +5"),
      length(" -5"),
      length(" 0x5"),
      length(" 5 5"),
      length(" 05"),
      length(" 00"),
      length(" 5.0"),
      length(" 5e0"),
      length(""),
      length(" 18446744073709551621"),
      length(" 5\v"),
      length(" \"5\""),
      {post + "Content_Length: 5\r\n\r\n" + next, 2},
      // Transfer-Encoding
      coding("Transfer-Encoding: chunked"),
      coding("tRANSFER-ENCODING: Chunked"),
      coding("Transfer-Encoding:\tchunked"),
      coding("Transfer-Encoding: gzip, chunked"),
      coding("Transfer-Encoding: chunked, identity"),
      coding("Transfer-Encoding: identity"),
      coding("Transfer-Encoding: xchunked"),
      coding("Transfer-Encoding: \"chunked\""),
      coding("Transfer-Encoding:"),
      coding("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
      coding("Content-Length: 5\r\nTransfer-Encoding: chunked"),
      coding("Transfer-Encoding: chunked\r\nContent-Length: 5"),
      coding("Transfer-Encoding : chunked", 400),
      coding(" Transfer-Encoding: chunked", 400),
      coding("Transfer-Encoding\v: chunked", 400),
      coding("X: y\nTransfer-Encoding: chunked", 400),
      coding("X: y\rTransfer-Encoding: chunked", 400),
      {post + "Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nfive!\r\n0\r\n\r\n" + next, 0, 411},
      {post + "Transfer-Encoding: chunked\r\n\r\n0x5\r\nfive!\r\n0\r\n\r\n" + next, 0, 411},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0, 411},
      // Lines and fields
      field("X: y\r\n folded"),
      field("X: y\r\n\tfolded"),
      field("Content-Length: 0\r\n 5"),
      {line + " folded\r\n" + host + "\r\n" + next, 0, 400},
      field("X: y\rz"),
      field("X: y\nZ: z"),
      {"POST /a HTTP/1.1\n" + host + "\r\n" + next, 0, 400},
      {"POST /a HTTP/1.1\r\nHost: a\n\n" + next, 0, 400},
      {post + "\n" + next, 0, 400},
      {post + "\r\r\n" + next, 0, 400},
      field(Zero("X: y@z")),
      field(Zero("X@: y")),
      field("X : y"),
      field("X\t: y"),
      field(": y"),
      field("no colon"),
      field("X(y): z"),
      field("\"X\": z"),
      field("X\xC3\xA9: y"),
      field("X: \x7F"),
      {post + "X:\r\nY: \xC3\xA9 \"z\"\t\r\n\r\n" + next, 2},
      // Request line
      target("http://a.example/"),
      target("HTTPS://a.example/"),
      target("a.example:443"),
      target("*"),
      target("a"),
      target("/a#b"),
      target("/a\tb"),
      target("/a b"),
      target("/%"),
      target("/%4"),
      target("/%zz"),
      target("/\xC3\xA9"),
      target("/<a>"),
      target("/\\a"),
      target(""),
      {"GET /%41/../:@!$&'()*+,;=?/? HTTP/1.1\r\n" + host + "\r\n" + next, 2},
      {"CONNECT a.example:443 HTTP/1.1\r\n" + host + "\r\n" + next, 0, 400},
      {"OPTIONS * HTTP/1.1\r\n" + host + "\r\n" + next, 0, 400},
      {"post / HTTP/1.1\r\n" + host + "\r\n" + next, 2},
      {"G(T / HTTP/1.1\r\n" + host + "\r\n" + next, 0, 400},
      {" GET / HTTP/1.1\r\n" + host + "\r\n" + next, 0, 400},
      {"GET\t/ HTTP/1.1\r\n" + host + "\r\n" + next, 0, 400},
      {"GET  / HTTP/1.1\r\n" + host + "\r\n" + next, 0, 400},
      {"GET /  HTTP/1.1\r\n" + host + "\r\n" + next, 0, 400},
      {"\r\nGET / HTTP/1.1\r\n" + host + "\r\n" + next, 0, 400},
      {"\nGET / HTTP/1.1\r\n" + host + "\r\n" + next, 0, 400},
      {post + "\r\n\r\n" + next, 1, 400},
      version("HTTP/1.1 "),
      version("HTTP/1.2"),
      version("HTTP/2.0"),
      version("HTTP/2"),
      version("HTTP/0.9"),
      version("HTTP/1.10"),
      version("HTTP/01.1"),
      version("http/1.1"),
      version("HTTP/1,1"),
      version("ICY/1.1"),
      {"GET /\r\n" + host + "\r\n" + next, 0, 400},
      {"GET / HTTP/1.0\r\n\r\n" + next, 1},
      {"GET / HTTP/1.0\r\n" + host + "Connection: keep-alive\r\n\r\n" + next, 1},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0, 400},
      // Host
      hosted(""),
      hosted(host + host),
      hosted("Host: a\r\nhost: b\r\n"),
      hosted("Host:\r\n"),
      hosted("Host: a b\r\n"),
      hosted("Host: a, b\r\n"),
      hosted("Host: a/b\r\n"),
      hosted("Host: user@a\r\n"),
      hosted("Host: a:8o\r\n"),
      hosted("Host: [::1\r\n"),
      hosted("Host: :80\r\n"),
      {line + "Host: [::1]:7443\r\n\r\n" + next, 2},
      // Other fields that decide
      {post + "Connection: close\r\n\r\n" + next, 1},
      {post + "Connection: x, , Close\r\n\r\n" + next, 1},
      {post + "Connection: keep-alive\r\nConnection: close\r\n\r\n" + next, 1},
      {post + "Connection: close-not\r\n\r\n" + next, 2},
      field("Connection: close y"),
      field("Content-Length: 0\r\nConnection: Content-Length"),
      field("Connection: close, Transfer-Encoding"),
      field("Connection: host"),
      field("Authorization: a\r\nAuthorization: b"),
      field("Authorization:\r\nAuthorization: b"),
      {post + "Authorization: Bearer 7\r\n\r\n" + next, 2},
      {post + "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AA\r\n\r\n" +
           next,
       2},
      {"GET / HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nfive!" + next, 2},
      {"HEAD / HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nfive!", 1},
      // Length of the head
      {post + "X: " + std::string(16'000, 'x') + "\r\n\r\n" + next, 2},
      {post + "X: " + std::string(17'000, 'x') + "\r\n\r\n" + next, 0, 431},
      {"GET /" + std::string(17'000, 'x') + " HTTP/1.1\r\n" + host + "\r\n", 0, 431},
  };
}

TEST_F(RequestFramingTest, EveryKindIsRefusedOrReadAsTheRfcSays) {
  for (const Case& tried : Cases()) {
    SCOPED_TRACE(Shown(tried.bytes));
    const Outcome outcome = Send(tried.bytes);
    EXPECT_EQ(outcome.read.size(), tried.requests);
    EXPECT_EQ(outcome.refused_with, tried.refused_with);
    ExpectReadAlike(tried.bytes, outcome);
  }
}

TEST_F(RequestFramingTest, AnExpectationIsAnsweredBeforeTheBody) {
  const std::string bytes =
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n";
  const RawClient client(server_->listen().port);
  client.Send(bytes);
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("five!");
  client.SayNoMore();
  EXPECT_THAT(client.Rest(), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_EQ(notes_.Take(), std::vector<Request>({*StrictReader(bytes + "five!").Next()}));
}

// Bytes changed, added and left out, and heads put together from two.
TEST_F(RequestFramingTest, ChangedHeadsAreRefusedOrReadAsTheRfcSays) {
  std::vector<std::string> heads, read_heads;
  for (const Case& tried : Cases()) {
    if (tried.bytes.size() > 1000) continue;
    heads.push_back(tried.bytes);
    if (tried.refused_with == 0) read_heads.push_back(tried.bytes);
  }
  std::mt19937_64 random(9112);
  size_t read = 0, refused = 0;
  const int changes = base::TestSize("TACET_CHANGED_HEADS", 400);
  for (int i = 0; i < changes; ++i) {
    // Most changes of the others are refused for what they were before.
    const std::vector<std::string>& from = Below(2, random) == 0 ? heads : read_heads;
    std::string bytes = from[Below(from.size(), random)];
    for (size_t left = 1 + Below(3, random); left > 0; --left) {
      bytes = ChangedHead(bytes, heads[Below(heads.size(), random)], random);
    }
    SCOPED_TRACE(Shown(bytes));
    const Outcome outcome = Send(bytes);
    ExpectReadAlike(bytes, outcome);
    read += outcome.read.size();
    refused += outcome.refused_with == 0 ? 0 : 1;
  }
  // The test means something only when both happen.
  EXPECT_THAT(read, Gt(static_cast<size_t>(changes) / 8));
  EXPECT_THAT(refused, Gt(static_cast<size_t>(changes) / 8));
}

}  // namespace
}  // namespace tacet::transport::http
