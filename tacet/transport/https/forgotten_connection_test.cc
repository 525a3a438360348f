// Connections that something on the way forgets, and lines that are slow: both ends by themselves.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/transport/https/forgetful_relay_for_test.h"
#include "tacet/transport/https/serving_for_test.h"

namespace tacet::transport::https {
namespace {

using protocol::BulkKind;
using protocol::Invited;
using protocol::testing::ValueOf;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

agreement::ManifestSpec AgreementOfThreeParts() {
  agreement::ManifestSpec large = protocol::testing::SmallAgreement();
  large.dimension = 2'500'000;
  large.initial_model = protocol::testing::ZerosOf(large.dimension).Digest();
  return large;
}

class ForgottenConnectionTest : public ::testing::Test {
 protected:
  explicit ForgottenConnectionTest(
      agreement::ManifestSpec agreement = protocol::testing::SmallAgreement())
      : serving_(std::move(agreement)) {}

  std::unique_ptr<HttpsWire> WireThrough(const ForgetfulRelay& relay, uint64_t member,
                                         milliseconds most_silence) const {
    const crypto::TlsKey key = crypto::TlsKey::Generate();
    HttpsWireSpec spec = serving_.WireSpec(key, fmt::format("site-{}", member));
    spec.server = relay.Address();
    spec.most_silence = most_silence;
    return ValueOf(HttpsWire::Create(spec, key));
  }

  ServingForTest serving_;
};

// A server answers a call that waits before its client takes the connection for dead.
TEST_F(ForgottenConnectionTest, ALongPollEndsBeforeTheSilenceIsTooLong) {
  EXPECT_LE(http::ConnectionLimits().long_poll + std::chrono::seconds(5),
            HttpsWireSpec().most_silence);
  serving_.spec.limits.long_poll = milliseconds(200);
  serving_.Begin();
  const ForgetfulRelay relay(serving_.port);
  const MemberForTest member(serving_, 1, WireThrough(relay, 1, milliseconds(1500)));
  uint64_t known = ValueOf(member.remote.Await({})).revision;
  for (int i = 0; i < 10; ++i) {
    const auto announced = member.remote.Await({.known_revision = known});
    ASSERT_TRUE(announced.ok()) << announced.status();
    known = announced->revision;
  }
  EXPECT_EQ(relay.connections(), 1);
}

TEST_F(ForgottenConnectionTest, ACallIsGivenUpAndMadeAgainOnANewConnection) {
  for (const bool reads : {true, false}) {
    serving_.Begin();
    ForgetfulRelay relay(serving_.port, {.reads_forgotten = reads});
    const MemberForTest member(serving_, 1, WireThrough(relay, 1, milliseconds(300)));
    const uint64_t known = ValueOf(member.remote.Await({})).revision;
    relay.Forget();
    const absl::Status forgotten = member.remote.FetchAttestations(0).status();
    EXPECT_EQ(forgotten.code(), absl::StatusCode::kDeadlineExceeded) << forgotten;
    EXPECT_THAT(base::Message(forgotten), HasSubstr("no byte came or went"));
    EXPECT_TRUE(member.remote.FetchAttestations(0).ok());
    EXPECT_EQ(relay.connections(), 2);
    // A call that waits for news, too.
    relay.Forget();
    EXPECT_EQ(member.remote.Await({.known_revision = known}).status().code(),
              absl::StatusCode::kDeadlineExceeded);
    EXPECT_TRUE(member.remote.FetchAttestations(0).ok());
    EXPECT_EQ(relay.connections(), 3);
    serving_.End();
  }
}

// Connections that lay idle when another one was forgotten cost no silence of their own.
TEST_F(ForgottenConnectionTest, WhatForgetsOneForgetsOthers) {
  serving_.Begin();
  ForgetfulRelay relay(serving_.port);
  const MemberForTest member(serving_, 1, WireThrough(relay, 1, milliseconds(500)));
  const uint64_t known = ValueOf(member.remote.Await({})).revision;
  std::thread waits([&] { (void)member.remote.Await({.known_revision = known}); });
  http::WaitUntil([&] { return serving_.server->Load().parked == 1; });
  EXPECT_TRUE(member.remote.FetchAttestations(0).ok());
  EXPECT_EQ(relay.connections(), 2);
  relay.Forget();
  waits.join();
  EXPECT_TRUE(member.remote.FetchAttestations(0).ok());
  EXPECT_TRUE(member.remote.FetchAttestations(0).ok());
  EXPECT_EQ(relay.connections(), 3);
}

// Its connections end at the server, too, and a member that loses many is let in again.
TEST_F(ForgottenConnectionTest, TheServerKeepsNothingOfThem) {
  serving_.spec.places.of_certificate = 3;
  serving_.spec.limits.long_poll = milliseconds(100);
  serving_.spec.limits.idle = milliseconds(400);
  serving_.Begin();
  ForgetfulRelay relay(serving_.port);
  const MemberForTest member(serving_, 1, WireThrough(relay, 1, milliseconds(200)));
  for (int i = 0; i < 8; ++i) {
    uint64_t known = 0;
    http::WaitUntil([&] {
      const auto announced = member.remote.Await({});
      if (announced.ok()) known = announced->revision;
      return announced.ok();
    });
    relay.Forget();
    EXPECT_FALSE(member.remote.Await({.known_revision = known}).ok());
    EXPECT_LE(serving_.server->Load().connections, 4u);
  }
  http::WaitUntil([&] { return serving_.server->Load().connections == 0; });
}

class LargeUploadTest : public ForgottenConnectionTest {
 protected:
  LargeUploadTest() : ForgottenConnectionTest(AgreementOfThreeParts()) {}

  void SetUp() override {
    serving_.spec.limits.stall = milliseconds(300);
    serving_.Begin();
    ASSERT_TRUE(serving_.rounds->Tick().ok());
    while (ValueOf(serving_.rounds->AnnouncementFor(member_, 0, false)).current->invited !=
           Invited::kYes) {
      ++member_;
    }
    name_ = {.kind = BulkKind::kUpload, .attempt = serving_.rounds->Status().last->attempt};
    upload_ = serving_.members.Upload(member_, name_.attempt);
    ASSERT_GT(upload_.size(), 2 * protocol::kMaxPartBytes);
  }
  // Until it arrived; what was said of each call that failed.
  std::vector<absl::Status> Put(HttpsWire& wire) {
    std::vector<absl::Status> failures;
    const member::RemoteServer remote(serving_.members.manifest(), member_,
                                      serving_.members.site(member_).signing, wire,
                                      base::SystemUnixSeconds, [&](const absl::Status& why, int) {
                                        // A part that the server has not given up yet is refused
                                        // for the moment.
                                        std::this_thread::sleep_for(milliseconds(20));
                                        if (why.code() != absl::StatusCode::kResourceExhausted)
                                          failures.push_back(why);
                                        return true;
                                      });
    const absl::Status put = remote.Put(name_, upload_);
    EXPECT_TRUE(put.ok()) << put;
    EXPECT_EQ(serving_.rounds->Status().accepted, 1u);
    return failures;
  }

  uint64_t member_ = 0;
  protocol::BulkName name_;
  base::Bytes upload_;
};

TEST_F(LargeUploadTest, GoesOnWhereItsConnectionWasForgotten) {
  for (const bool reads : {true, false}) {
    ForgetfulRelay relay(serving_.port, {.reads_forgotten = reads});
    const auto wire = WireThrough(relay, member_, milliseconds(500));
    relay.ForgetAfter(protocol::kMaxPartBytes + protocol::kMaxPartBytes / 2);
    const std::vector<absl::Status> failures = Put(*wire);
    // The second time there is nothing left to send.
    EXPECT_EQ(
        std::ranges::count(failures, absl::StatusCode::kDeadlineExceeded, &absl::Status::code),
        reads ? 1 : 0);
    EXPECT_GE(relay.connections(), reads ? 2 : 1);
  }
}

// The system takes a part at once; its bytes then go at the rate of the line.
TEST_F(LargeUploadTest, ASlowLineIsNoSilence) {
  const ForgetfulRelay relay(serving_.port, {.bytes_at_once = 16'000});
  const auto wire = WireThrough(relay, member_, milliseconds(500));
  EXPECT_TRUE(Put(*wire).empty());
  EXPECT_EQ(relay.connections(), 1);
}

// A proxy takes a part at once, too, and nobody but the proxy knows how its bytes continue.
TEST_F(LargeUploadTest, AProxyThatTakesAPartAtOnceIsGivenMoreTime) {
  const ForgetfulRelay relay(serving_.port,
                             {.bytes_at_once = 16'000, .buffer_bytes = size_t{4} << 20});
  const auto wire = WireThrough(relay, member_, milliseconds(300));
  const std::vector<absl::Status> failures = Put(*wire);
  EXPECT_FALSE(failures.empty());
}

}  // namespace
}  // namespace tacet::transport::https
