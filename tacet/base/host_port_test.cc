#include "tacet/base/host_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status_for_test.h"

namespace tacet::base {
namespace {

TEST(HostPortTest, IsReadAndWrittenTheSame) {
  for (const char* text :
       {"tacet.example:7443", "192.0.2.1:0", "localhost:80", "[2001:db8::1]:65535"}) {
    ASSERT_OK_AND_ASSIGN(const auto at, ParseHostPort(text));
    EXPECT_EQ(at.text(), text);
  }
  EXPECT_EQ(ParseHostPort("[::1]:7443")->host, "::1");
  EXPECT_EQ(ParseHostPort("[::1]:7443")->port, 7443);
}

TEST(HostPortTest, NothingElseIsRead) {
  for (const char* text :
       {"", ":", "host", "host:", ":1", "host:65536", "host:-1", "host:1x", "a b:1", "a:b:1",
        "::1:7443", "[]:1", "[::1]", "[::1:1", "unix:/tmp/x:1", "h/x:1"}) {
    const auto at = ParseHostPort(text);
    EXPECT_EQ(at.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(Message(at.status()), ::testing::HasSubstr("not HOST:PORT"));
  }
}

TEST(HostPortTest, AServerListensAtAllAddresses) {
  for (const char* text : {":7443", "*:7443", "[::]:7443"}) {
    ASSERT_OK_AND_ASSIGN(const auto at, ParseListenAddress(text));
    EXPECT_EQ(at.text(), "[::]:7443") << text;
  }
  EXPECT_EQ(ParseListenAddress("0.0.0.0:7443")->host, "0.0.0.0");
  for (const char* text : {"", ":", "*", "*:", "**:1", "::1", "*:65536", "*.example:1"}) {
    EXPECT_THAT(Message(ParseListenAddress(text).status()), ::testing::HasSubstr("not HOST:PORT"))
        << text;
  }
}

TEST(HostPortTest, KnowsWhatStaysOnThisMachine) {
  for (const char* host : {"localhost", "127.0.0.1", "127.9.9.9", "::1"}) {
    EXPECT_TRUE((HostPort{.host = host}.loopback())) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "128.0.0.1", "localhost.example", ""}) {
    EXPECT_FALSE((HostPort{.host = host}.loopback())) << host;
  }
}

}  // namespace
}  // namespace tacet::base
