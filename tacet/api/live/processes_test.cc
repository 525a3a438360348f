// The public interface of a member and of a server where they do not begin. tests/install runs both
// in a federation.
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/member.h"
#include "tacet/server.h"

namespace tacet {
namespace {

using ::testing::HasSubstr;

TEST(ProcessesTest, AMemberNeedsAHomeThatHasJoined) {
  const auto home = std::filesystem::path(testing::TempDir()) / "no-home";
  std::filesystem::create_directories(home);
  const absl::Status opened =
      Member::Open({.home = home, .server = "127.0.0.1:1", .key_file = home / "key"}).status();
  EXPECT_EQ(opened.code(), absl::StatusCode::kNotFound) << opened;
  EXPECT_THAT(std::string(opened.message()), HasSubstr("no-home"));
  std::filesystem::remove_all(home);
}

TEST(ProcessesTest, AServerNamesAWrongOption) {
  const ServerFunctions never{.stop = [] { return true; }};
  const auto refused = [&](const ServerOptions& options) {
    return std::string(RunServer(options, never).message());
  };
  EXPECT_THAT(refused({.admin = "nowhere"}), HasSubstr("nowhere"));
  EXPECT_THAT(refused({.rounds = {.requests_a_second = 0}}), HasSubstr("requests_a_second is 0"));
  EXPECT_THAT(refused({.rounds = {.bytes_a_second = -1}}), HasSubstr("bytes_a_second is -1"));
  EXPECT_THAT(refused({.key_file = "none", .passphrase_file = "none"}), HasSubstr("exclude"));
  EXPECT_THAT(std::string(RunServer({}, {}).message()), HasSubstr("stop is missing"));
}

TEST(ProcessesTest, ARelayServerNeedsAHomeAndLimits) {
  const auto home = std::filesystem::path(testing::TempDir()) / "no-relay";
  std::filesystem::create_directories(home);
  const auto missing = RelayServer::Open(home, std::nullopt, {}, {});
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("no-relay"));
  const auto refused = RelayServer::Open(home, std::nullopt, {.bytes_a_second = 0}, {});
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("bytes_a_second is 0"));
  std::filesystem::remove_all(home);
}

TEST(ProcessesTest, WordsOfTheLedger) {
  EXPECT_EQ(Name(ChargingRule::kAnnouncedAttempts), "announced-attempts");
  EXPECT_EQ(Name(ChargingRule::kOwnSeals), "own-seals");
  EXPECT_EQ(Name(Composition::kAnyEvents), "any-events");
  EXPECT_EQ(Name(Composition::kOneEvent), "one-event");
}

}  // namespace
}  // namespace tacet
