#include "tacet/transport/http/request_parser.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status_for_test.h"

namespace tacet::transport::http {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMaxHead = 1000;

absl::StatusOr<std::optional<RequestHead>> Parse(std::string_view text) {
  return RequestParser(kMaxHead).Parse(base::AsBytes(text));
}
RequestHead HeadOf(std::string_view text) {
  const auto head = Parse(text);
  EXPECT_TRUE(head.ok()) << head.status() << "\n" << text;
  EXPECT_TRUE(head->has_value()) << text;
  return **head;
}
void ExpectRefused(std::string_view text, absl::StatusCode code, std::string_view why) {
  const absl::Status refused = Parse(text).status();
  EXPECT_EQ(refused.code(), code) << refused << "\n" << text;
  EXPECT_THAT(base::Message(refused), HasSubstr(std::string(why))) << text;
}

TEST(RequestParserTest, ReadsWhatAServerLooksAt) {
  const std::string text =
      "POST /tacet/1 HTTP/1.1\r\nHost: a.example:7443\r\nAuthorization: Bearer 7\r\n"
      "Content-Length: 12\r\nExpect: 100-Continue\r\n\r\n";
  const RequestHead head = HeadOf(text + "body and more");
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/tacet/1");
  EXPECT_EQ(head.host, "a.example:7443");
  EXPECT_EQ(head.authorization, "Bearer 7");
  EXPECT_EQ(head.content_length, 12u);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_TRUE(head.expects_continue);
  EXPECT_EQ(head.bytes, text.size());
}

TEST(RequestParserTest, OnlyHttp11KeepsAConnection) {
  EXPECT_TRUE(HeadOf("GET / HTTP/1.1\r\nHost: a\r\n\r\n").keep_alive);
  EXPECT_FALSE(HeadOf("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").keep_alive);
  EXPECT_FALSE(HeadOf("GET / HTTP/1.0\r\n\r\n").keep_alive);
  EXPECT_FALSE(HeadOf("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive);
  ExpectRefused("GET / HTTP/2.0\r\n\r\n", absl::StatusCode::kInvalidArgument, "HTTP");
}

TEST(RequestParserTest, AHeadMayComeByteByByte) {
  const std::string text = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";
  RequestParser parser(kMaxHead);
  for (size_t size = 1; size < text.size(); ++size) {
    ASSERT_OK_AND_ASSIGN(const auto head,
                         parser.Parse(base::AsBytes(std::string_view(text).substr(0, size))));
    EXPECT_FALSE(head.has_value()) << size;
  }
  EXPECT_EQ((*parser.Parse(base::AsBytes(text)))->content_length, 3u);
}

TEST(RequestParserTest, AHeadHasAnEnd) {
  const std::string line = "GET / HTTP/1.1\r\nHost: a\r\n";
  const std::string header = "X: " + std::string(kMaxHead, 'x');
  ExpectRefused(line + header, absl::StatusCode::kOutOfRange, "too long");
  ExpectRefused("GET /" + std::string(kMaxHead, 'x'), absl::StatusCode::kOutOfRange, "too long");
  ExpectRefused(line + header + "\r\n\r\n", absl::StatusCode::kOutOfRange, "too long");
  std::string many = line;
  while (many.size() < kMaxHead) many += "A: b\r\n";
  ExpectRefused(many, absl::StatusCode::kOutOfRange, "too long");
  many.resize(kMaxHead - 20);
  EXPECT_TRUE(Parse(many).ok());
}

// Heads that one server reads as one request and another as two.
TEST(RequestParserTest, TheEndOfABodyIsNeverInDoubt) {
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  ExpectRefused(post + "Transfer-Encoding: chunked\r\n\r\n", absl::StatusCode::kUnimplemented,
                "Content-Length");
  ExpectRefused(post + "Transfer-Encoding: gzip\r\n\r\n", absl::StatusCode::kUnimplemented,
                "Content-Length");
  for (const std::string lengths :
       {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n", "Content-Length: -1\r\n",
        "Content-Length: 3x\r\n", "Content-Length: 0x3\r\n", "Content-Length: +3\r\n",
        "Content-Length: 18446744073709551616\r\n", "Content-Length:\r\n"}) {
    const auto refused = Parse(post + lengths + "\r\n");
    EXPECT_FALSE(refused.ok()) << lengths;
  }
  EXPECT_EQ(HeadOf(post + "Content-Length: 18446744073709551615\r\n\r\n").content_length,
            ~uint64_t{0});
}

TEST(RequestParserTest, WhatDecidesAboutAccessComesOnce) {
  ExpectRefused("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", absl::StatusCode::kInvalidArgument,
                "Host comes more than once");
  ExpectRefused("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n",
                absl::StatusCode::kInvalidArgument, "Authorization comes more than once");
}

TEST(RequestParserTest, WhatIsNoRequestIsRefused) {
  for (const std::string text :
       {"\x16\x03\x01\x02", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET\r\n\r\n", "GET / \r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET / HTTP/1.1\r\n : x\r\n\r\n",
        "GET / HTTP/1.1\r\nA\x01: x\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"}) {
    const auto refused = Parse(text + "\r\n\r\n");
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace tacet::transport::http
