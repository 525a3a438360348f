#include "tacet/transport/grpc/host_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"

namespace tacet::transport::grpc {
namespace {

TEST(HostPortTest, IsReadAndWrittenTheSame) {
  for (const char* text : {"tacet.example:7443", "192.0.2.1:0", "[2001:db8::1]:65535"}) {
    const auto at = ParseHostPort(text);
    ASSERT_TRUE(at.ok()) << at.status();
    EXPECT_EQ(HostPortText(*at), text);
  }
  EXPECT_EQ(ParseHostPort("[::1]:7443")->host, "::1");
}

TEST(HostPortTest, NothingElseIsRead) {
  for (const char* text : {"", ":", "host", "host:", ":1", "host:65536", "host:-1", "host:1x",
                           "a b:1", "::1:7443", "[]:1", "[::1]", "unix:/tmp/x:1", "h/x:1"}) {
    const auto at = ParseHostPort(text);
    EXPECT_EQ(at.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(base::Message(at.status()), ::testing::HasSubstr("not HOST:PORT"));
  }
}

}  // namespace
}  // namespace tacet::transport::grpc
