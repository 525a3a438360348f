// Answers that clients are known to read in different ways. A client refuses such an answer, or
// reads it as RFC 9112 says: then no intermediary that follows the RFC passes on another answer.
#include <algorithm>
#include <cstdint>
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
#include "tacet/base/status.h"
#include "tacet/base/test_size_for_test.h"
#include "tacet/transport/http/acceptor_for_test.h"
#include "tacet/transport/http/changed_heads_for_test.h"
#include "tacet/transport/https/call_format.h"
#include "tacet/transport/https/serving_for_test.h"
#include "tacet/transport/https/tls_for_test.h"

namespace tacet::transport::https {
namespace {

using protocol::testing::ValueOf;
using ::testing::Gt;

// An answer of a server of tacet.
struct Answer {
  int status = 0;
  std::string error, body;  // error: the header Tacet-Status
};

// The strict reader of RFC 9112 and docs/formats/transport.md. It shares no code with the client.
// Nothing for what is not the answer of a server of tacet, or not whole.
std::optional<Answer> ReadStrictly(std::string_view rest) {
  const auto take_line = [&]() -> std::optional<std::string> {
    const size_t end = rest.find("\r\n");
    if (end == rest.npos) return std::nullopt;
    const std::string line(rest.substr(0, end));
    rest.remove_prefix(end + 2);
    const bool is_text = std::ranges::all_of(line, [](char c) {
      const auto byte = static_cast<uint8_t>(c);
      return byte == '\t' || (byte >= 0x20 && byte != 0x7F);
    });
    return is_text ? std::optional(line) : std::nullopt;
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  Answer answer;
  do {
    const auto line = take_line();
    if (!line.has_value() || !line->starts_with("HTTP/1.1 ") || line->size() < 13) return {};
    const std::string code = line->substr(9, 3);
    if (!std::ranges::all_of(code, is_digit) || (*line)[12] != ' ') return {};
    answer = {.status = std::stoi(code), .error = "", .body = ""};
    std::vector<std::string> wires, errors, lengths;
    for (;;) {
      const auto field = take_line();
      if (!field.has_value()) return {};
      if (field->empty()) break;
      const size_t colon = field->find(':');
      if (colon == 0 || colon == field->npos) return {};
      std::string name = field->substr(0, colon), value = field->substr(colon + 1);
      for (char& c : name) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
        const bool is_tchar = is_digit(c) || (c >= 'a' && c <= 'z') ||
                              std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
        if (!is_tchar) return {};
      }
      value.erase(0, std::min(value.find_first_not_of(" \t"), value.size()));
      value.erase(value.find_last_not_of(" \t") + 1);
      if (name == "transfer-encoding") return {};
      if (name == "tacet-wire") wires.push_back(value);
      if (name == "tacet-status") errors.push_back(value);
      if (name == "content-length") lengths.push_back(value);
    }
    if (answer.status / 100 == 1) continue;
    if (wires != std::vector<std::string>{"1"} || lengths.size() != 1 || errors.size() > 1) {
      return {};
    }
    const std::string& length = lengths[0];
    if (length.empty() || length.size() > 9 || !std::ranges::all_of(length, is_digit)) return {};
    if (!errors.empty()) answer.error = errors[0];
    if (answer.status == 204 || answer.status == 304) return answer;
    if (rest.size() < std::stoul(length)) return {};
    answer.body = rest.substr(0, std::stoul(length));
  } while (answer.status / 100 == 1);
  return answer;
}

class AnswerFramingTest : public ::testing::Test {
 protected:
  // The result of a call that is answered with these bytes and the end of the connection.
  absl::StatusOr<base::Bytes> AnsweredWith(std::string bytes) {
    {
      const base::MutexLock lock(mutex_);
      answer_ = std::move(bytes);
    }
    return NewWire()->Call(base::Bytes(10), 60);
  }
  std::unique_ptr<HttpsWire> NewWire() const {
    return ValueOf(HttpsWire::Create({.server = server_.Address(),
                                      .proxy = "",
                                      .authority = certificates_.authority(),
                                      .certificate = certificates_.Client(key_, "a")},
                                     key_));
  }
  static bool IsRefusal(const absl::Status& status) {
    return status.code() == absl::StatusCode::kUnavailable ||
           status.code() == absl::StatusCode::kUnauthenticated;
  }
  // Bytes that are not refused are read as the strict reader reads them.
  static void ExpectReadAlike(const std::string& bytes, const absl::StatusOr<base::Bytes>& got) {
    if (IsRefusal(got.status())) return;
    const std::optional<Answer> strict = ReadStrictly(bytes);
    ASSERT_TRUE(strict.has_value()) << got.status();
    if (strict->status == 200) {
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(base::AsText(*got), strict->body);
    } else {
      EXPECT_EQ(got.status(), StatusFrom(strict->error, strict->body));
    }
  }

  const CertificatesForTest certificates_;
  const crypto::TlsKey key_ = crypto::TlsKey::Generate();
  const crypto::TlsKey server_key_ = crypto::TlsKey::Generate();
  const base::Bytes certificate_ = certificates_.Server(server_key_);
  base::Mutex mutex_;
  std::string answer_ ABSL_GUARDED_BY(mutex_);
  http::AcceptorForTest server_{[this](http::Descriptor client) {
    TlsForTest server(std::move(client),
                      {.server = true, .key = &server_key_, .certificate = certificate_});
    server.ReadUntil("\r\n\r\n");
    const base::MutexLock lock(mutex_);
    server.Write(answer_);
  }};
};

struct FramedAnswer {
  std::string bytes;
  bool is_read = false;
};

std::vector<FramedAnswer> FramedAnswers() {
  const std::string line = "HTTP/1.1 200 OK\r\n", wire = "Tacet-Wire: 1\r\n",
                    length = "Content-Length: 5\r\n", end = "\r\nfive!";
  const std::string whole = line + wire + length;
  const auto length_is = [&](const std::string& value) {
    return FramedAnswer{line + wire + "Content-Length:" + value + "\r\n\r\nfive!"};
  };
  const auto coding = [&](const std::string& field) {
    return FramedAnswer{line + wire + field + "\r\n5\r\nfive!\r\n0\r\n\r\n"};
  };
  const auto first = [&](const std::string& text) {
    return FramedAnswer{text + "\r\n" + wire + length + end};
  };
  const auto field = [&](const std::string& text) { return FramedAnswer{whole + text + end}; };
  const std::string interim = "HTTP/1.1 103 Early Hints\r\n";
  return {
      {whole + end, true},
      {line + "tacet-wire:1\t\r\ncontent-length:\t5 \r\n" + end, true},
      {whole + end + "and more", true},
      {whole + "Connection: close\r\nX:\r\n" + end, true},
      {"HTTP/1.1 200 \r\n" + wire + length + end, true},
      {"HTTP/1.1 404 Not Found\r\nTacet-Status: NOT_FOUND\r\n" + wire + length + end, true},
      {"HTTP/1.1 409 Other\r\nTacet-Status: FAILED_PRECONDITION\r\n" + wire + length + end, true},
      {interim + "Link: x\r\n\r\n" + whole + end, true},
      {whole + "\r\nfiv"},
      // Length of the body
      {line + wire + end},
      length_is(" 5\r\nContent-Length: 5"),
      length_is(" 5\r\nContent-Length: 4"),
      length_is(" 4\r\nContent-Length: 5"),
      length_is(" 5, 5"),
      length_is(" 4, 5"),
      length_is(" 4;5"),
      length_is(" +4"),
      length_is(" -4"),
      length_is(" 0x4"),
      length_is(" 04"),
      length_is(" 4 4"),
      length_is(" 4a"),
      length_is(""),
      length_is(" 18446744073709551620"),
      coding("Transfer-Encoding: chunked\r\n"),
      coding("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n"),
      coding("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"),
      coding("Transfer-Encoding: identity, chunked\r\n"),
      coding("transfer-encoding:chunked\r\n"),
      {line + wire + "Transfer-Encoding: identity\r\n" + length + end},
      {line + wire + "Transfer-Encoding: xchunked\r\n" + length + end},
      // A trailer says nothing about the answer.
      {line + "Transfer-Encoding: chunked\r\n\r\n5\r\nfive!\r\n0\r\n" + wire + length + "\r\n"},
      {line + "Transfer-Encoding: chunked\r\n\r\n5\r\nfive!\r\n0\r\n" + whole + "\r\n"},
      // Lines
      first("HTTP/1.0 200 OK"),
      first("HTTP/1.2 200 OK"),
      first("HTTP/2 200 OK"),
      first("HTTP/1.1 2000 OK"),
      first("HTTP/1.1 20 OK"),
      first("HTTP/1.1 200"),
      first("HTTP/1.1  200 OK"),
      first("HTTP/1.1\t200 OK"),
      first("HTTP/1.1 +20 OK"),
      first("http/1.1 200 OK"),
      first("HTTP/1.1 200 OK\r"),
      first("ICY 200 OK"),
      first("HTTP/1.1 101 Switching Protocols"),
      {"\r\n" + whole + end},
      {"five!"},
      {"HTTP/1.1 200 OK\n" + wire + length + end},
      {line + "Tacet-Wire: 1\n" + length + end},
      {line + wire + "Content-Length: 5\n" + end},
      {whole + "\nfive!"},
      field("X: y\r\n z\r\n"),
      field("X: y\r\n\tTacet-Wire: 1\r\n"),
      field("X: y\rz\r\n"),
      field("\rX: y\r\n"),
      field(std::string("X: y\0z\r\n", 8)),
      field("X : y\r\n"),
      field(": y\r\n"),
      field("no colon\r\n"),
      field("X(y): z\r\n"),
      field("X\x80: y\r\n"),
      {line + "Tacet-Wire : 1\r\n" + length + end},
      {line + " Tacet-Wire: 1\r\n" + length + end},
      {line + "X: y\r\n Tacet-Wire: 1\r\n" + length + end},
      // Headers that decide
      field("Tacet-Wire: 1\r\n"),
      field("Tacet-Wire: 2\r\n"),
      {line + "Tacet-Wire:\r\n" + length + end},
      {line + "Tacet-Wire: 1, 1\r\n" + length + end},
      {"HTTP/1.1 404 Other\r\nTacet-Status: NOT_FOUND\r\nTacet-Status: ABORTED\r\n" + wire +
       length + end},
      {interim + wire + "\r\n" + line + length + end},
      {interim + "X: y\n\r\n" + whole + end},
  };
}

TEST_F(AnswerFramingTest, EveryKindIsRefusedOrReadAsTheRfcSays) {
  for (const FramedAnswer& tried : FramedAnswers()) {
    SCOPED_TRACE(http::Shown(tried.bytes));
    const auto got = AnsweredWith(tried.bytes);
    EXPECT_EQ(!IsRefusal(got.status()), tried.is_read) << got.status();
    ExpectReadAlike(tried.bytes, got);
  }
}

TEST_F(AnswerFramingTest, ChangedAnswersAreRefusedOrReadAsTheRfcSays) {
  const std::vector<FramedAnswer> cases = FramedAnswers();
  std::mt19937_64 random(9112);
  size_t read = 0, refused = 0;
  const int changes = base::TestSize("TACET_CHANGED_HEADS", 400);
  for (int i = 0; i < changes; ++i) {
    // Those that are read come first: most changes of others are refused for what they were before.
    const auto any = [&] { return cases[http::Below(cases.size(), random)].bytes; };
    std::string bytes = http::Below(2, random) == 0 ? cases[http::Below(8, random)].bytes : any();
    for (size_t left = 1 + http::Below(2, random); left > 0; --left) {
      bytes = http::ChangedHead(bytes, any(), random);
    }
    SCOPED_TRACE(http::Shown(bytes));
    const auto got = AnsweredWith(bytes);
    ExpectReadAlike(bytes, got);
    (IsRefusal(got.status()) ? refused : read) += 1;
  }
  // The test means something only when both happen.
  EXPECT_THAT(read, Gt(static_cast<size_t>(changes) / 20));
  EXPECT_THAT(refused, Gt(static_cast<size_t>(changes) / 8));
}

// Bytes behind an answer are not the next call's answer.
TEST_F(AnswerFramingTest, AnAnswerInAdvanceIsNobodys) {
  const auto answer = [](const std::string& body) {
    return fmt::format("HTTP/1.1 200 OK\r\nTacet-Wire: 1\r\nContent-Length: {}\r\n\r\n{}",
                       body.size(), body);
  };
  http::AcceptorForTest server([&](http::Descriptor client) {
    TlsForTest tls(std::move(client),
                   {.server = true, .key = &server_key_, .certificate = certificate_});
    while (!tls.ReadUntil("\r\n\r\n0123456789").empty()) {
      if (!tls.Write(answer("asked for") + answer("in advance"))) break;
    }
  });
  const auto wire = ValueOf(HttpsWire::Create({.server = server.Address(),
                                               .proxy = "",
                                               .authority = certificates_.authority(),
                                               .certificate = certificates_.Client(key_, "a")},
                                              key_));
  for (int call = 0; call < 5; ++call) {
    const auto got = wire->Call(base::AsBytes("0123456789"), 60);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(base::AsText(*got), "asked for");
  }
}

}  // namespace
}  // namespace tacet::transport::https
