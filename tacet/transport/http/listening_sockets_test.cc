#include "tacet/transport/http/listening_sockets.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tacet/base/status_for_test.h"
#include "tacet/transport/http/raw_client_for_test.h"

namespace tacet::transport::http {
namespace {

bool HasVersion6() {
  const auto listening = ListenAt({.host = "::1", .port = 0});
  return listening.ok();
}

// Addresses of those who connected to the sockets.
std::vector<std::string> ComingIn(const ListeningSockets& listening) {
  std::vector<std::string> addresses;
  for (const Descriptor& socket : listening.sockets) {
    for (;;) {
      const AcceptResult result = Accept(socket.number());
      if (result.state != AcceptState::kAccepted) break;
      addresses.push_back(result.accepted.address);
    }
  }
  std::ranges::sort(addresses);
  return addresses;
}

TEST(ListeningSocketsTest, AllAddressesAreThoseOfBothVersions) {
  ASSERT_OK_AND_ASSIGN(const auto at, base::ParseListenAddress("*:0"));
  ASSERT_OK_AND_ASSIGN(const ListeningSockets listening, ListenAt(at));
  EXPECT_GT(listening.at.port, 0);
  const Descriptor four = ConnectTo(listening.at.port);
  EXPECT_TRUE(four.ok());
  // Its address is one of version 4, by which its connections are counted.
  if (!HasVersion6()) {
    EXPECT_EQ(ComingIn(listening), (std::vector<std::string>{"127.0.0.1"}));
    return;
  }
  const Descriptor six = ConnectToVersion6(listening.at.port);
  EXPECT_TRUE(six.ok());
  EXPECT_EQ(ComingIn(listening), (std::vector<std::string>{"127.0.0.1", "::"}));
}

TEST(ListeningSocketsTest, AnAddressIsThatOfOneVersion) {
  ASSERT_OK_AND_ASSIGN(const ListeningSockets four, ListenAt({.host = "0.0.0.0", .port = 0}));
  EXPECT_EQ(four.sockets.size(), 1);
  EXPECT_TRUE(ConnectTo(four.at.port).ok());
  EXPECT_FALSE(ConnectToVersion6(four.at.port).ok());
  if (!HasVersion6()) GTEST_SKIP() << "this machine has no addresses of version 6";
  ASSERT_OK_AND_ASSIGN(const ListeningSockets six, ListenAt({.host = "::1", .port = 0}));
  EXPECT_TRUE(ConnectToVersion6(six.at.port).ok());
  EXPECT_FALSE(ConnectTo(six.at.port).ok());
}

TEST(ListeningSocketsTest, TwoServersDoNotShareAPort) {
  ASSERT_OK_AND_ASSIGN(const ListeningSockets first, ListenAt({.host = "0.0.0.0", .port = 0}));
  const auto second = ListenAt({.host = std::string(base::kAllAddresses), .port = first.at.port});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace tacet::transport::http
