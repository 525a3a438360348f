// Members that do not act on what the server announces tell it why, as long as it announces that.
#include "tacet/protocol/objection.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/live/live_members_for_test.h"

namespace tacet::live::testing {
namespace {

using protocol::Objection;
using protocol::ObjectionReason;
using protocol::testing::ValueOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ObjectionsTest : public ::testing::Test {
 protected:
  std::vector<Objection> Objections() const { return live_.server->Status().objections; }
  // The members that object for this reason.
  std::vector<uint64_t> Objecting(ObjectionReason reason) const {
    std::vector<uint64_t> members;
    for (const Objection& one : Objections()) {
      if (one.reason == reason) members.push_back(one.member);
    }
    std::ranges::sort(members);
    return members;
  }
  static size_t Sent(const LiveFederation::Site& site) {
    return site.log.Count(member::NodeEventKind::kSent, "objection");
  }

  LiveFederation live_;
};

TEST_F(ObjectionsTest, AServerPutBackFromABackupHearsOfItFromEverybody) {
  live_.RunUntil([&] { return live_.server->Status().finished == 1; });
  const server::MemoryServerStore backup = live_.store;
  live_.RunUntil([&] { return live_.server->Status().finished == 2; });
  for (int turn = 0; turn < 3; ++turn) live_.Turn();
  EXPECT_THAT(Objections(), IsEmpty());
  const server::MemoryServerStore right = live_.store;
  const secagg::AttemptNumber known = live_.Current().number;

  live_.store = backup;
  live_.RestartServer();
  for (int turn = 0; turn < 3; ++turn) live_.Turn();
  EXPECT_THAT(Objecting(ObjectionReason::kRollback), ElementsAre(0, 1, 2, 3, 4));
  for (const Objection& one : Objections()) EXPECT_LE(one.attempt, known);
  EXPECT_EQ(std::ranges::max(Objections(), {}, &Objection::attempt).attempt, known);
  const size_t said = Sent(live_.site(0));
  for (int turn = 0; turn < 3; ++turn) live_.Turn();
  EXPECT_EQ(Sent(live_.site(0)), said);  // once for each announcement

  live_.store = right;
  live_.RestartServer();
  live_.Run();
  EXPECT_THAT(Objections(), IsEmpty());
  EXPECT_EQ(live_.site(0).session->next_round(), 3u);
}

TEST_F(ObjectionsTest, AMemberWithAnotherModelSaysSoAtEveryAnnouncement) {
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kCollecting); });
  LiveFederation::Site& site = live_.site(2);
  site.wire.lie = [](const protocol::RequestBody& body, absl::StatusOr<base::Bytes> answer) {
    if (!std::holds_alternative<protocol::AwaitRequest>(body) || !answer.ok()) return answer;
    protocol::Announcement told = ValueOf(protocol::ReadAnnouncement(*answer));
    if (told.current.has_value()) told.current->attempt.model_digest[0] ^= 1;
    return absl::StatusOr<base::Bytes>(protocol::WriteAnnouncement(told));
  };
  live_.Restart(site);
  live_.Turn();
  EXPECT_THAT(Objecting(ObjectionReason::kFork), ElementsAre(2));
  EXPECT_EQ(Objections()[0].attempt, live_.Current().number);
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kUnmasking); });
  EXPECT_THAT(Objections(), IsEmpty());  // of the earlier announcement
  live_.Turn();
  EXPECT_THAT(Objecting(ObjectionReason::kFork), ElementsAre(2));
  for (const auto& other : live_.sites) EXPECT_TRUE(other->number == 2 || Sent(*other) == 0);
}

TEST_F(ObjectionsTest, ASeatWithoutTheClosedRoundSaysSo) {
  const uint64_t seat = live_.MemberOn(1);
  live_.site(seat).wire.lie = [](const protocol::RequestBody& body,
                                 absl::StatusOr<base::Bytes> answer) {
    const auto* fetch = std::get_if<protocol::FetchPartRequest>(&body);
    if (fetch == nullptr || fetch->name.kind != protocol::BulkKind::kClosedRound) return answer;
    return absl::StatusOr<base::Bytes>(base::NotFound("there is no such complete object"));
  };
  // The other seats decide without it: two of them say nothing for now.
  for (const uint32_t silent : {2u, 3u}) {
    live_.site(live_.MemberOn(silent)).wire.swallows = [](const protocol::RequestBody& body) {
      return std::holds_alternative<protocol::PutVoteRequest>(body);
    };
  }
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kUnmasking); });
  live_.Turn();
  EXPECT_THAT(Objecting(ObjectionReason::kNoClosedRound), ElementsAre(seat));
}

// The disk of the server works again: the seat votes, and nothing is wrong any more.
TEST_F(ObjectionsTest, ASeatThatVotesTakesItsObjectionBack) {
  const uint64_t seat = live_.MemberOn(1);
  bool lost = true;
  live_.site(seat).wire.lie = [&lost](const protocol::RequestBody& body,
                                      absl::StatusOr<base::Bytes> answer) {
    const auto* fetch = std::get_if<protocol::FetchPartRequest>(&body);
    if (!lost || fetch == nullptr || fetch->name.kind != protocol::BulkKind::kClosedRound) {
      return answer;
    }
    return absl::StatusOr<base::Bytes>(base::NotFound("there is no such complete object"));
  };
  for (const uint32_t silent : {2u, 3u}) {
    live_.site(live_.MemberOn(silent)).wire.swallows = [](const protocol::RequestBody& body) {
      return std::holds_alternative<protocol::PutVoteRequest>(body);
    };
  }
  live_.RunUntil([&] { return Objections().size() == 1; }, 1);
  lost = false;
  live_.Restart(live_.site(seat));
  live_.Turn();
  EXPECT_TRUE(live_.IsAt(protocol::AttemptPhase::kUnmasking));
  EXPECT_THAT(Objections(), IsEmpty());
}

// A failure on a record shows to nobody.
TEST_F(ObjectionsTest, ABrokenProgramIsNotTold) {
  live_.site(0).updates.fail = "no such patient";
  live_.Run();
  for (const auto& site : live_.sites) EXPECT_EQ(Sent(*site), 0u);
  EXPECT_THAT(Objections(), IsEmpty());
  EXPECT_THAT(live_.server->Status().abstainers, IsEmpty());
}

TEST_F(ObjectionsTest, NobodyObjectsInAnothersNameOrToWhatIsOver) {
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kCollecting); });
  const uint64_t revision = ValueOf(live_.server->AnnouncementFor(1, 0, false)).revision;
  const auto put = [&](uint64_t sender, uint64_t member, uint64_t about) {
    return live_.server->Take(
        sender, protocol::PutObjectionRequest{
                    .objection = protocol::WriteObjection(
                        {.member = member, .revision = about, .attempt = live_.Current().number},
                        live_.members.manifest(), live_.members.site(member).signing)});
  };
  EXPECT_EQ(put(1, 3, revision).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(put(1, 1, revision - 1).ok());
  EXPECT_TRUE(put(1, 1, revision + 1).ok());
  EXPECT_THAT(Objections(), IsEmpty());
  EXPECT_TRUE(put(1, 1, revision).ok());
  EXPECT_TRUE(put(1, 1, revision).ok());
  EXPECT_THAT(Objections(), SizeIs(1));
  live_.RestartServer();
  EXPECT_THAT(Objections(), IsEmpty());
}

}  // namespace
}  // namespace tacet::live::testing
