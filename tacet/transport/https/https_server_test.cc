#include "tacet/transport/https/https_server.h"

#include <atomic>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/transport/http/raw_client_for_test.h"
#include "tacet/transport/https/serving_for_test.h"

namespace tacet::transport::https {
namespace {

using http::WaitUntil;
using protocol::AnnouncedAttempt;
using protocol::Announcement;
using protocol::AwaitRequest;
using protocol::BulkKind;
using protocol::Invited;
using protocol::testing::ValueOf;
using ::testing::HasSubstr;

class HttpsServerTest : public ::testing::Test {
 protected:
  std::future<absl::StatusOr<Announcement>> Await(const MemberForTest& member, uint64_t revision) {
    return std::async(std::launch::async, [&member, revision] {
      return member.remote.Await({.known_revision = revision});
    });
  }

  ServingForTest serving_;
};

TEST_F(HttpsServerTest, AMemberIsAnsweredAndAnErrorKeepsCodeAndText) {
  serving_.Begin();
  const MemberForTest member(serving_, 0);
  const Announcement first = ValueOf(member.remote.Await({.known_revision = 0}));
  EXPECT_EQ(first.manifest_hash, serving_.members.manifest().manifest().hash());
  EXPECT_FALSE(first.current.has_value());

  ASSERT_TRUE(serving_.rounds->Tick().ok());
  const Announcement second = ValueOf(member.remote.Await({.known_revision = first.revision}));
  ASSERT_TRUE(second.current.has_value());

  protocol::BulkName nothing{.kind = BulkKind::kUnmaskShare, .attempt = second.current->attempt};
  const auto request = [&] { return member.remote.Fetch(nothing, 0, 1000).status(); };
  const absl::Status direct = serving_.rounds->OpenPart(0, {.name = nothing}).status();
  EXPECT_EQ(request().code(), direct.code());
  EXPECT_EQ(base::Message(request()), base::Message(direct));
}

TEST_F(HttpsServerTest, WhoWaitsIsWokenByNews) {
  serving_.Begin();
  const MemberForTest member(serving_, 1);
  const Announcement known = ValueOf(member.remote.Await({}));
  auto awaited = Await(member, known.revision);
  WaitUntil([&] { return serving_.server->Load().parked == 1; });
  EXPECT_EQ(serving_.server->Load().working, 0u);

  ASSERT_TRUE(serving_.rounds->Tick().ok());
  const Announcement news = ValueOf(awaited.get());
  EXPECT_NE(news.revision, known.revision);
  EXPECT_TRUE(news.current.has_value());
  EXPECT_EQ(serving_.server->Load().parked, 0u);
}

TEST_F(HttpsServerTest, NewsOfOthersLeaveItParked) {
  serving_.Begin();
  const MemberForTest member(serving_, 1);
  const Announcement known = ValueOf(member.remote.Await({}));
  auto awaited = Await(member, known.revision);
  WaitUntil([&] { return serving_.server->Load().parked == 1; });
  for (int i = 0; i < 100; ++i) serving_.server->News();
  const MemberForTest other(serving_, 2);
  EXPECT_EQ(ValueOf(other.remote.Await({})).revision, known.revision);
  WaitUntil([&] { return serving_.server->Load().parked == 1; });
  serving_.server->Drain(std::chrono::seconds(30));
  EXPECT_EQ(ValueOf(awaited.get()).revision, known.revision);
}

TEST_F(HttpsServerTest, WithoutNewsItIsAnsweredAfterAWhile) {
  serving_.spec.limits.long_poll = std::chrono::milliseconds(50);
  serving_.Begin();
  const MemberForTest member(serving_, 1);
  const Announcement known = ValueOf(member.remote.Await({}));
  EXPECT_EQ(ValueOf(member.remote.Await({.known_revision = known.revision})), known);
}

TEST_F(HttpsServerTest, WhoGoesAwayIsForgotten) {
  serving_.Begin();
  MemberForTest member(serving_, 1);
  const Announcement known = ValueOf(member.remote.Await({}));
  auto awaited = Await(member, known.revision);
  WaitUntil([&] { return serving_.server->Load().parked == 1; });
  member.wire->Stop();
  EXPECT_EQ(awaited.get().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(member.remote.Await({}).status().code(), absl::StatusCode::kCancelled);
  WaitUntil([&] { return serving_.server->Load().parked == 0; });
}

TEST_F(HttpsServerTest, ACertificateSpeaksForItsMemberOnly) {
  serving_.Begin();
  const MemberForTest posing(serving_, 2, serving_.Wire("site-1"));
  const absl::Status refused = posing.remote.Await({}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(refused), HasSubstr("signed by site-2"));
  EXPECT_THAT(base::Message(refused), HasSubstr("certificate of site-1"));
}

TEST_F(HttpsServerTest, BehindABalancerSignaturesSayWhoItIs) {
  serving_.spec.client_certificates = false;
  serving_.Begin();
  const MemberForTest member(serving_, 2, serving_.Wire("somebody"));
  EXPECT_TRUE(member.remote.Await({}).ok());
}

TEST_F(HttpsServerTest, AnUploadInPartsArrives) {
  agreement::ManifestSpec large = protocol::testing::SmallAgreement();
  large.dimension = 1'600'000;
  large.initial_model = protocol::testing::ZerosOf(large.dimension).Digest();
  ServingForTest serving(large);
  serving.Begin();
  ASSERT_TRUE(serving.rounds->Tick().ok());
  for (uint64_t i = 0; i < 5; ++i) {
    const MemberForTest member(serving, i);
    const Announcement announced = ValueOf(member.remote.Await({}));
    if (announced.current->invited != Invited::kYes) continue;
    const secagg::Attempt attempt = announced.current->attempt;
    const base::Bytes upload = serving.members.Upload(i, attempt);
    ASSERT_GT(upload.size(), protocol::kMaxPartBytes);
    const absl::Status put =
        member.remote.Put({.kind = BulkKind::kUpload, .attempt = attempt}, upload);
    EXPECT_TRUE(put.ok()) << put;
  }
  EXPECT_EQ(serving.rounds->Status().accepted, 3u);
}

TEST_F(HttpsServerTest, OneThreadServesAllOfThem) {
  serving_.spec.threads = 1;
  serving_.Begin();
  std::vector<std::thread> members;
  std::atomic<int> answered = 0;
  for (uint64_t i = 0; i < 5; ++i) {
    members.emplace_back([&, i] {
      const MemberForTest member(serving_, i);
      for (int j = 0; j < 50; ++j) answered += member.remote.Await({}).ok() ? 1 : 0;
    });
  }
  for (std::thread& member : members) member.join();
  EXPECT_EQ(answered, 250);
}

TEST_F(HttpsServerTest, NoLongerRequestIsTakenThanMayCome) {
  serving_.Begin();
  const auto wire = serving_.Wire("site-1");
  for (const size_t bytes : {protocol::kMaxHeadBytes * 4, protocol::kMaxRequestBytes + 1000}) {
    const absl::Status refused = wire->Call(base::Bytes(bytes, 7), 60).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(base::Message(refused), HasSubstr("are expected from this member now"));
  }
  EXPECT_EQ(wire->Call(base::Bytes(100, 7), 60).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(MemberForTest(serving_, 1).remote.Await({}).ok());
}

TEST_F(HttpsServerTest, DrainingAnswersWhoWaitsAndRefusesWhoComes) {
  serving_.Begin();
  const MemberForTest member(serving_, 1), late(serving_, 2);
  const Announcement known = ValueOf(member.remote.Await({}));
  auto awaited = Await(member, known.revision);
  WaitUntil([&] { return serving_.server->Load().parked == 1; });
  serving_.server->Drain(std::chrono::seconds(30));
  EXPECT_EQ(ValueOf(awaited.get()), known);
  const absl::Status refused = late.remote.Await({}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(base::Message(refused), HasSubstr(serving_.Address()));
}

TEST_F(HttpsServerTest, AClientFindsTheServerAgainAfterItsRestart) {
  serving_.Begin();
  const MemberForTest member(serving_, 1);
  const Announcement known = ValueOf(member.remote.Await({}));
  auto awaited = Await(member, known.revision);
  WaitUntil([&] { return serving_.server->Load().parked == 1; });
  serving_.Restart();
  awaited.get().IgnoreError();  // answered or cut off
  absl::StatusOr<Announcement> again = member.remote.Await({});
  WaitUntil([&] {
    if (!again.ok()) {
      EXPECT_EQ(again.status().code(), absl::StatusCode::kUnavailable) << again.status();
      again = member.remote.Await({});
    }
    return again.ok();
  });
}

TEST_F(HttpsServerTest, TwoServersDoNotShareAPort) {
  serving_.Begin();
  HttpsServerSpec spec = serving_.spec;
  spec.listen = serving_.Address();
  const auto second =
      HttpsServer::Start(spec, serving_.server_key,
                         serving_.certificates.Server(serving_.server_key), *serving_.handler);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(base::Message(second.status()), HasSubstr("Address already in use"));
}

TEST_F(HttpsServerTest, RefusesWhatItCannotServeWith) {
  serving_.Begin();
  const auto start = [&](const HttpsServerSpec& spec, const crypto::TlsKey& key,
                         const base::Bytes& certificate) {
    return HttpsServer::Start(spec, key, certificate, *serving_.handler).status();
  };
  const crypto::TlsKey& key = serving_.server_key;
  const base::Bytes good = serving_.certificates.Server(key);
  EXPECT_THAT(base::Message(start(serving_.spec, crypto::TlsKey::Generate(), good)),
              HasSubstr("for another key"));
  EXPECT_THAT(base::Message(start(serving_.spec, key, serving_.certificates.Client(key, "site-1"))),
              HasSubstr("not for a server"));
  EXPECT_THAT(base::Message(start(serving_.spec, key, CertificatesForTest().Server(key))),
              HasSubstr("another authority"));
  HttpsServerSpec spec = serving_.spec;
  spec.places.all = 0;
  EXPECT_THAT(base::Message(start(spec, key, good)), HasSubstr("above zero"));
  spec = serving_.spec;
  spec.listen = "127.0.0.1";
  EXPECT_THAT(base::Message(start(spec, key, good)), HasSubstr("not HOST:PORT"));
  spec.listen = "*:0";
  EXPECT_TRUE(start(spec, key, good).ok());
}

}  // namespace
}  // namespace tacet::transport::https
