// Members of a live federation whose server lies. Wires between an unmodified server and unmodified
// members change bytes and order.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/agreement/pair_keys.h"
#include "tacet/base/status.h"
#include "tacet/crypto/ml_kem.h"
#include "tacet/crypto/random.h"
#include "tacet/member/attestors.h"
#include "tacet/protocol/encrypted_checkpoint.h"
#include "tacet/protocol/whole_requests_for_test.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/secagg/upload.h"
#include "tacet/secagg/vote.h"
#include "tacet/secagg/whole_messages_for_test.h"
#include "tests/live/live_members_for_test.h"

namespace tacet::live {
namespace {

using protocol::testing::ValueOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::ExactAgreement;
using ::testing::HasSubstr;
using testing::LiveFederation;
using testing::SevenOfNine;

using Answered = absl::StatusOr<base::Bytes>;

class LyingServerTest : public ::testing::Test {
 protected:
  using Site = LiveFederation::Site;

  // The announcement that `site` hears of where the federation stands.
  static void LieInAnnouncements(Site& site, std::function<void(protocol::Announcement&)> lie) {
    site.wire.lie = [lie](const protocol::RequestBody& body, Answered answer) -> Answered {
      if (!std::holds_alternative<protocol::AwaitRequest>(body) || !answer.ok()) return answer;
      protocol::Announcement announcement = ValueOf(protocol::ReadAnnouncement(*answer));
      lie(announcement);
      return protocol::WriteAnnouncement(announcement);
    };
  }
  // The objects that it is given in the place of whole ones of some kinds.
  static void GiveInstead(Site& site, std::map<protocol::BulkKind, base::Bytes> objects) {
    site.wire.lie = [objects = std::move(objects)](const protocol::RequestBody& body,
                                                   Answered answer) -> Answered {
      const auto* fetch = std::get_if<protocol::FetchPartRequest>(&body);
      if (fetch == nullptr || !answer.ok()) return answer;
      const auto object = objects.find(fetch->name.kind);
      if (object == objects.end()) return answer;
      return protocol::WriteFetchedPart(object->second.size(), object->second);
    };
  }
  // The objects that it fetches whole: objects here fit into one part.
  static void LieInObjects(
      Site& site, protocol::BulkKind kind,
      std::function<void(const protocol::FetchPartRequest&, base::Bytes&)> lie) {
    site.wire.lie = [kind, lie](const protocol::RequestBody& body, Answered answer) -> Answered {
      const auto* fetch = std::get_if<protocol::FetchPartRequest>(&body);
      if (fetch == nullptr || fetch->name.kind != kind || !answer.ok()) return answer;
      const std::span<const uint8_t> part = ValueOf(protocol::ReadFetchedPart(*answer)).part;
      base::Bytes object(part.begin(), part.end());
      lie(*fetch, object);
      return protocol::WriteFetchedPart(object.size(), object);
    };
  }

  static std::vector<std::string> ViolationsOf(const Site& site) {
    std::vector<std::string> names;
    for (const member::NodeEvent& event : site.log.events()) {
      if (event.kind == member::NodeEventKind::kViolation) names.push_back(event.what);
    }
    return names;
  }
  static std::string ViolationText(const Site& site) {
    for (const member::NodeEvent& event : site.log.events()) {
      if (event.kind == member::NodeEventKind::kViolation) return event.text;
    }
    return "";
  }
  static size_t Sent(const Site& site, std::string_view what) {
    return site.log.Count(member::NodeEventKind::kSent, what);
  }

  // One who uploads in the first attempt, which is collecting.
  uint64_t Participant() {
    for (uint64_t number = 0; number < 5; ++number) {
      if (live_.IsInvited(number)) return number;
    }
    ADD_FAILURE() << "nobody is invited";
    return 0;
  }
  void Begin() {
    live_.Turn(0);  // the seats name the model with which round 0 begins
    live_.Tick(0);
    ASSERT_TRUE(live_.IsAt(protocol::AttemptPhase::kCollecting));
  }
  size_t ShareBytes() const {
    return secagg::UnmaskShareBytes(live_.members.terms().aggregation().sharing());
  }
  // Where the payload of a closed round is altered, above the noise.
  size_t PayloadByte(const base::Bytes& closed_round) const {
    return closed_round.size() - live_.members.terms().aggregation().aggregated_ciphertext_bytes() +
           5;
  }

  LiveFederation live_;
};

TEST_F(LyingServerTest, AForkedModelGetsNoUpload) {
  Begin();
  Site& site = live_.site(Participant());
  LieInAnnouncements(site, [](protocol::Announcement& announcement) {
    if (announcement.current) announcement.current->attempt.model_digest[0] ^= 1;
  });
  for (int turn = 0; turn < 5; ++turn) live_.Turn();
  EXPECT_THAT(ViolationsOf(site), ElementsAre("fork"));
  EXPECT_EQ(site.updates.asked, 0);
  EXPECT_EQ(Sent(site, "upload"), 0u);
  // Also when the server then says what it says to everybody: the attempt is not trusted any more.
  site.wire.lie = nullptr;
  for (int turn = 0; turn < 5; ++turn) {
    live_.Turn();
    live_.Restart(site);
  }
  EXPECT_EQ(Sent(site, "upload"), 0u);
  EXPECT_THAT(ViolationsOf(site), Contains("equivocation"));
}

TEST_F(LyingServerTest, AModelThatChangesDuringAnAttemptIsNamed) {
  Begin();
  Site& site = live_.site(Participant());
  live_.Turn();
  ASSERT_EQ(Sent(site, "upload"), 1u);
  LieInAnnouncements(site, [](protocol::Announcement& announcement) {
    ++announcement.revision;
    announcement.current->attempt.model_digest[0] ^= 1;
  });
  live_.Turn();
  EXPECT_THAT(ViolationsOf(site), ElementsAre("equivocation"));
  // Nothing of that attempt is signed or applied here, also after a restart: the next round's state
  // comes from its attestors.
  site.wire.lie = nullptr;
  live_.Restart(site);
  live_.RunUntil([&] { return site.session->next_round() == 1; }, 1);
  EXPECT_EQ(Sent(site, "vote"), 0u);
  EXPECT_EQ(site.log.Count(member::NodeEventKind::kApplied, "sum"), 0u);
  EXPECT_EQ(site.log.Count(member::NodeEventKind::kApplied, "checkpoint"), 1u);
}

TEST_F(LyingServerTest, AnOldAnnouncementIsARollback) {
  Site& site = live_.site(1);
  std::optional<protocol::Announcement> first;
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kCollecting); });
  first = ValueOf(live_.server->AnnouncementFor(1, 0, false));
  live_.RunUntil([&] {
    return live_.IsAt(protocol::AttemptPhase::kCollecting) && live_.Current().number.round == 1;
  });
  live_.Turn();
  const uint32_t applied = site.session->next_round();
  const int asked = site.updates.asked;
  LieInAnnouncements(site, [&](protocol::Announcement& announcement) {
    const uint64_t revision = announcement.revision;
    announcement = *first;
    announcement.revision = revision + 1;
  });
  for (int turn = 0; turn < 5; ++turn) {
    live_.Turn();
    live_.Restart(site);
  }
  EXPECT_THAT(ViolationsOf(site), Contains("rollback"));
  EXPECT_EQ(site.session->next_round(), applied);
  EXPECT_EQ(site.updates.asked, asked);
}

TEST_F(LyingServerTest, AClosedAttemptDoesNotCollectAgain) {
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  Site& other = live_.site(3);
  ASSERT_TRUE(other.session->Step().ok());
  LieInAnnouncements(other, [](protocol::Announcement& announcement) {
    ++announcement.revision;
    announcement.current->phase = protocol::AttemptPhase::kCollecting;
    announcement.current->participants = 0;
    announcement.finished = announcement.current->attempt.number.round;
    announcement.kept.clear();
  });
  const uint32_t applied = other.session->next_round();
  live_.Turn();
  EXPECT_THAT(ViolationsOf(other), Contains("rollback"));
  EXPECT_EQ(other.session->next_round(), applied);
}

// The sum is altered for all seats alike: they vote and unmask, each refuses what comes out, and
// the server learns no more than that.
TEST_F(LyingServerTest, AnAlteredSumIsConfirmedByNobody) {
  for (auto& site : live_.sites) {
    LieInObjects(
        *site, protocol::BulkKind::kClosedRound, [this](const auto& fetch, base::Bytes& object) {
          if (fetch.name.attempt.number.attempt == 0 && fetch.name.attempt.number.round == 0)
            object[PayloadByte(object)] ^= 0x20;
        });
  }
  live_.RunUntil([&] { return live_.server->Status().failed == 1; });
  EXPECT_EQ(live_.server->Attempts().front().failure, "refused");
  size_t refused = 0;
  for (auto& site : live_.sites) {
    refused += site->log.Count(member::NodeEventKind::kViolation, "unsound-sum");
    EXPECT_EQ(Sent(*site, "confirmation"), 0u);
    EXPECT_EQ(site->session->next_round(), 0u);
  }
  EXPECT_GE(refused, 2u);
  // The next attempt, with other keys, goes well.
  live_.Run();
  for (auto& site : live_.sites) EXPECT_EQ(site->session->next_round(), 3u);
}

// Also when it is published, and only one member is given another sum than the committee voted for.
TEST_F(LyingServerTest, AnAlteredSumIsAppliedByNobody) {
  Site& site = live_.site(2);
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  site.away = true;
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kPublished); }, 1);
  LieInObjects(site, protocol::BulkKind::kClosedRound,
               [this](const protocol::FetchPartRequest&, base::Bytes& object) {
                 object[PayloadByte(object)] ^= 0x20;
               });
  site.away = false;
  ASSERT_TRUE(site.session->Step().ok());
  EXPECT_EQ(site.session->next_round(), 0u);
  EXPECT_EQ(site.log.Count(member::NodeEventKind::kNote, "no-aggregate"), 1u);
  site.wire.lie = nullptr;
  live_.Run();
  live_.ExpectModels(3, {0, 1, 2, 3, 4});
}

// One upload alone, and what a sum of K' would be worth if nothing else were in it.
TEST_F(LyingServerTest, AnIsolatedUploadIsNotUnmasked) {
  Begin();
  const uint64_t victim = Participant();
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  const base::Bytes upload = ValueOf(live_.site(victim).state.LoadUpload(live_.Current()));
  secagg::Aggregator alone(live_.members.terms().aggregation(), live_.Current(), 1);
  ASSERT_TRUE(alone.Submit(victim, upload).ok());
  const secagg::Aggregator::Closed closed = live_.members.Close(alone);
  for (auto& site : live_.sites) {
    GiveInstead(*site, {{protocol::BulkKind::kClosedRound, closed.closed_round},
                        {protocol::BulkKind::kRoster, closed.roster}});
    live_.Restart(*site);  // those that voted for the true one say nothing about another
  }
  for (int turn = 0; turn < 5; ++turn) live_.Turn();
  size_t noticed = 0;
  for (auto& site : live_.sites) {
    EXPECT_EQ(Sent(*site, "unmask-share"), 0u);
    noticed += site->log.Count(member::NodeEventKind::kViolation, "closed-round");
    noticed += site->log.Count(member::NodeEventKind::kViolation, "participants");
  }
  EXPECT_GE(noticed, 1u);
}

// One participant's upload among uploads that the server, who has the epoch key from a member,
// invents in the names of two others.
TEST_F(LyingServerTest, AnUploadAmongInventedOnesGetsNoQuorum) {
  Begin();
  const uint64_t victim = Participant();
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  const secagg::Attempt attempt = live_.Current();
  secagg::Aggregator lie(live_.members.terms().aggregation(), attempt, 2);
  ASSERT_TRUE(lie.Submit(victim, ValueOf(live_.site(victim).state.LoadUpload(attempt))).ok());
  std::vector<uint64_t> invented;  // in the name of one that was not invited, and one that was
  for (const bool invited : {false, true}) {
    for (uint64_t number = 0; number < 5; ++number) {
      if (number == victim || live_.IsInvited(number) != invited) continue;
      invented.push_back(number);
      break;
    }
    ASSERT_TRUE(lie.Submit(invented.back(), live_.members.Upload(invented.back(), attempt)).ok());
  }
  ASSERT_EQ(invented.size(), 2u);
  const secagg::Aggregator::Closed closed = live_.members.Close(lie);
  for (auto& site : live_.sites) {
    GiveInstead(*site, {{protocol::BulkKind::kClosedRound, closed.closed_round},
                        {protocol::BulkKind::kRoster, closed.roster}});
    // The server has their key packets from another attempt.
    const uint32_t seat = *secagg::SeatOf(live_.members.committee(), site->number);
    site->wire.lie = [&, seat, instead = site->wire.lie](const protocol::RequestBody& body,
                                                         Answered answer) -> Answered {
      if (!std::holds_alternative<protocol::FetchPacketsRequest>(body)) {
        return instead(body, std::move(answer));
      }
      std::vector<base::Bytes> copies;
      for (const uint64_t member : {victim, invented[0], invented[1]}) {
        copies.push_back(secagg::CopyForSeat(live_.members.KeysWithSeats(member).packet, 5, seat));
      }
      return protocol::WriteBlobs(copies);
    };
  }
  for (int turn = 0; turn < 5; ++turn) live_.Steps();
  EXPECT_EQ(live_.server->Attempts().front().failure, "refused");
  for (auto& site : live_.sites) {
    EXPECT_EQ(Sent(*site, "unmask-share"), 0u);
    EXPECT_EQ(site->session->next_round(), 0u);
  }
  const Site& stranger = live_.site(invented[0]);
  EXPECT_THAT(ViolationsOf(stranger), ElementsAre("closed-round"));
  EXPECT_THAT(ViolationText(stranger), HasSubstr("this member did not send"));
  EXPECT_EQ(Sent(stranger, "refusal"), 1u);
  const Site& replaced = live_.site(invented[1]);
  EXPECT_THAT(ViolationsOf(replaced), ElementsAre("dropped-upload"));
  EXPECT_EQ(Sent(replaced, "refusal"), 1u);
}

// A single one in the name of a seat has that seat's refusal in every case.
TEST_F(LyingServerTest, AnInventedUploadIsRefusedByItsMember) {
  Begin();
  std::vector<uint64_t> invited;
  std::optional<uint64_t> stranger;
  for (uint64_t number = 0; number < 5; ++number) {
    if (live_.IsInvited(number)) {
      invited.push_back(number);
    } else {
      stranger = number;
    }
  }
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  const secagg::Attempt attempt = live_.Current();
  secagg::Aggregator lie(live_.members.terms().aggregation(), attempt, 2);
  for (const uint64_t number : {invited[0], invited[1]}) {
    ASSERT_TRUE(lie.Submit(number, ValueOf(live_.site(number).state.LoadUpload(attempt))).ok());
  }
  ASSERT_TRUE(lie.Submit(*stranger, live_.members.Upload(*stranger, attempt)).ok());
  const secagg::Aggregator::Closed closed = live_.members.Close(lie);
  Site& site = live_.site(*stranger);
  GiveInstead(site, {{protocol::BulkKind::kClosedRound, closed.closed_round},
                     {protocol::BulkKind::kRoster, closed.roster}});
  ASSERT_TRUE(site.session->Step().ok());
  EXPECT_THAT(ViolationsOf(site), ElementsAre("closed-round"));
  EXPECT_THAT(ViolationText(site), HasSubstr("in this member's name"));
  EXPECT_EQ(Sent(site, "refusal"), 1u);
  EXPECT_EQ(Sent(site, "vote"), 0u);
  EXPECT_TRUE(live_.IsAt(protocol::AttemptPhase::kUnmasking));  // one refusal is nobody's proof
}

// A seat votes only where it has a pair key with each participant: the copies that it is given are
// whole, signed, and of the roster's members.
TEST_F(LyingServerTest, KeyPacketsThatAreWithheldOrAlteredGetNoVote) {
  using Lie = std::function<void(std::vector<base::Bytes>&)>;
  const std::pair<Lie, std::string> lies[] = {
      {[](auto& copies) { copies.clear(); }, "does not give this seat the key packet of member"},
      {[](auto& copies) { copies.pop_back(); }, "does not give this seat the key packet of member"},
      {[](auto& copies) { copies[0].back() ^= 1; }, "does not have its hash"},
      {[](auto& copies) { copies[0].pop_back(); }, "bytes, expected"},
      {[](auto& copies) {  // in another member's name
         std::swap_ranges(copies[0].begin() + 42, copies[0].begin() + 50, copies[1].begin() + 42);
       },
       "did not sign it"},
      {[](auto& copies) { copies[0][6] ^= 1; }, "for another manifest or epoch"}};
  for (const auto& [lie, why] : lies) {
    SCOPED_TRACE(why);
    LiveFederation live;
    live.RunUntil([&] { return live.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
    Site& site = live.site(live.MemberOn(2));
    int asked = 0;
    site.wire.lie = [&, &lie = lie](const protocol::RequestBody& body,
                                    Answered answer) -> Answered {
      if (!std::holds_alternative<protocol::FetchPacketsRequest>(body)) return answer;
      ++asked;
      std::vector<base::Bytes> copies = ValueOf(protocol::ReadBlobs(*answer));
      if (!copies.empty()) lie(copies);
      return protocol::WriteBlobs(copies);
    };
    ASSERT_TRUE(site.session->Step().ok());
    EXPECT_THAT(ViolationsOf(site), ElementsAre("closed-round"));
    EXPECT_THAT(ViolationText(site), HasSubstr(why));
    EXPECT_EQ(Sent(site, "refusal"), 1u);
    EXPECT_EQ(Sent(site, "vote"), 0u);
    EXPECT_LE(asked, 1 + member::RemoteServer::kMostUnreadable);
  }
}

// A bad member signs two lists of ciphertexts, and the server gives the second one to a seat:
// alone, or with a roster that names it.
class SecondListTest : public LyingServerTest {
 protected:
  static constexpr uint32_t kSeat = 2;

  void RunUntilUnmasking(uint32_t round) {
    live_.RunUntil(
        [&] {
          return live_.IsAt(protocol::AttemptPhase::kUnmasking) &&
                 live_.Current().number.round == round;
        },
        1);
  }
  secagg::Roster Roster() const {
    return ValueOf(
        secagg::ReadRoster(live_.Fetch(protocol::BulkKind::kRoster), live_.Current(), 3));
  }
  // For a member that has other coins.
  base::Bytes SecondPacket(uint64_t member) const {
    crypto::InsecureSeededEntropy entropy(1, "other coins");
    const crypto::KemKey coins = crypto::KemKey::Generate(entropy);
    const agreement::SignedManifest& manifest = live_.members.manifest();
    const std::vector<crypto::KemPublicKey> seat_keys = manifest.seat_keys();
    return ValueOf(agreement::KeysWithSeats(
                       manifest.manifest(),
                       {.exchange_key = live_.members.exchange_keys(member).exchange,
                        .kem_key = coins,
                        .epoch_key = live_.members.epoch_key(),
                        .epoch = manifest.epoch()},
                       member, seat_keys, live_.members.site(member).signing))
        .packet;
  }
  void GivePacketInstead(uint64_t member, const base::Bytes& packet) {
    site_.wire.lie = [member, packet, others = site_.wire.lie](const protocol::RequestBody& body,
                                                               Answered answer) -> Answered {
      if (others != nullptr) answer = others(body, std::move(answer));
      if (!std::holds_alternative<protocol::FetchPacketsRequest>(body)) return answer;
      std::vector<base::Bytes> copies = ValueOf(protocol::ReadBlobs(*answer));
      for (base::Bytes& copy : copies) {
        if (ValueOf(secagg::ReadKeyPacket(copy, 5, kSeat)).owner.client != member) continue;
        copy = secagg::CopyForSeat(packet, 5, kSeat);
      }
      return protocol::WriteBlobs(copies);
    };
  }
  void ExpectNoVoteBecause(const std::string& why) {
    const size_t votes = Sent(site_, "vote");
    ASSERT_TRUE(site_.session->Step().ok());
    EXPECT_THAT(ViolationsOf(site_), ElementsAre("closed-round"));
    EXPECT_THAT(ViolationText(site_), HasSubstr(why));
    EXPECT_EQ(Sent(site_, "vote"), votes);
    EXPECT_EQ(Sent(site_, "refusal"), 1u);
  }

  LiveFederation::Site& site_ = live_.site(live_.MemberOn(kSeat));
};

TEST_F(SecondListTest, AnotherListThanTheRostersGetsNoVote) {
  RunUntilUnmasking(0);
  const uint64_t bad = Roster().members.front();
  GivePacketInstead(bad, SecondPacket(bad));
  ExpectNoVoteBecause(fmt::format("another key packet of member {} than this seat was given", bad));
}

// It asks for the packets again, so the lie does not outlive the server that told it. Two rosters
// of three of five members have one in common.
TEST_F(SecondListTest, ASeatVotesAgainOnceTheServerGivesTheRostersList) {
  RunUntilUnmasking(0);
  for (const uint64_t bad : Roster().members) GivePacketInstead(bad, SecondPacket(bad));
  ExpectNoVoteBecause("than this seat was given");
  site_.wire.lie = nullptr;
  live_.Run();
  EXPECT_THAT(ViolationsOf(site_), ElementsAre("closed-round"));
  EXPECT_GT(Sent(site_, "vote"), 0u);
}

// The seat voted in round 0 with the first list, and was started again since.
TEST_F(SecondListTest, AnotherListThanTheFirstOneGetsNoVoteAfterARestart) {
  RunUntilUnmasking(0);
  const std::vector<uint64_t> first = Roster().members;
  RunUntilUnmasking(1);
  ASSERT_EQ(Sent(site_, "vote"), 1u);
  secagg::Roster roster = Roster();  // of three of five members, as the first one
  size_t place = 0;
  while (std::ranges::find(first, roster.members[place]) == first.end()) ++place;
  const uint64_t bad = roster.members[place];
  const base::Bytes packet = SecondPacket(bad);
  roster.lists[place] = secagg::ListDigest(packet, 5);
  const secagg::Attempt attempt = live_.Current();
  secagg::ClosedRound closed =
      ValueOf(secagg::ReadClosedRound(live_.Fetch(protocol::BulkKind::kClosedRound), attempt,
                                      live_.members.terms().aggregation(), 1));
  closed.roster_digest = secagg::RosterDigest(roster);
  GiveInstead(site_, {{protocol::BulkKind::kClosedRound, secagg::WriteClosedRound(closed)},
                      {protocol::BulkKind::kRoster, secagg::WriteRoster(roster, attempt)}});
  GivePacketInstead(bad, packet);
  live_.Restart(site_);
  ExpectNoVoteBecause(fmt::format("another key packet of member {} than this seat took", bad));
}

// A packet that comes twice changes nothing. A seat asks as long as it lacks one, so at most once
// for each attempt here.
TEST_F(LyingServerTest, ASeatAsksForTheKeyPacketsThatItLacks) {
  LiveFederation live;
  size_t questions = 0;
  for (const auto& site : live.sites) {
    site->wire.lie = [&](const protocol::RequestBody& body, Answered answer) -> Answered {
      if (!std::holds_alternative<protocol::FetchPacketsRequest>(body) || !answer.ok()) {
        return answer;
      }
      ++questions;
      std::vector<base::Bytes> copies = ValueOf(protocol::ReadBlobs(*answer));
      copies.push_back(copies.front());
      return protocol::WriteBlobs(copies);
    };
  }
  live.Run();
  EXPECT_GE(questions, live.sites.size());
  EXPECT_LE(questions, live.server->Status().attempts * live.sites.size());
}

TEST_F(LyingServerTest, AnotherRosterThanTheClosedRoundNamesGetsNoVote) {
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  secagg::Roster roster =
      ValueOf(secagg::ReadRoster(live_.Fetch(protocol::BulkKind::kRoster), live_.Current(), 3));
  std::swap(roster.members[0], roster.members[1]);
  Site& site = live_.site(live_.MemberOn(2));
  GiveInstead(site, {{protocol::BulkKind::kRoster, secagg::WriteRoster(roster, live_.Current())}});
  ASSERT_TRUE(site.session->Step().ok());
  EXPECT_THAT(ViolationsOf(site), ElementsAre("closed-round"));
  EXPECT_THAT(ViolationText(site), HasSubstr("is not the one that the closed round names"));
  EXPECT_EQ(Sent(site, "vote"), 0u);
}

TEST_F(LyingServerTest, ASecondClosedRoundGetsNoSecondVote) {
  live_.options.unmasking_seconds = 10'000;
  live_.RestartServer();
  // Only one seat is there: it votes, and waits.
  Begin();
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  Site& site = live_.site(live_.MemberOn(0));
  for (auto& other : live_.sites) other->away = other->number != site.number;
  live_.RunUntil([&] { return Sent(site, "vote") == 1; }, 1);
  LieInObjects(site, protocol::BulkKind::kClosedRound,
               [](const protocol::FetchPartRequest&, base::Bytes& object) { object.back() ^= 1; });
  live_.Restart(site);
  live_.Turn();
  EXPECT_THAT(ViolationsOf(site), ElementsAre("closed-round"));
  EXPECT_THAT(ViolationText(site), HasSubstr("a second, different sum"));
  live_.ExpectNobodySpokeTwice();
}

// Two closed rounds for two halves of the committee: three votes for the one and two for the other.
TEST_F(LyingServerTest, TwoClosedRoundsForTwoHalvesAreNamedAndPublishNothing) {
  live_.options.unmasking_seconds = 1000;
  live_.RestartServer();
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  for (const uint32_t seat : {1, 4}) {
    LieInObjects(live_.site(live_.MemberOn(seat)), protocol::BulkKind::kClosedRound,
                 [this](const protocol::FetchPartRequest&, base::Bytes& object) {
                   object[PayloadByte(object)] ^= 0x20;
                 });
  }
  for (int turn = 0; turn < 8; ++turn) live_.Turn();
  for (auto& site : live_.sites) {
    EXPECT_EQ(Sent(*site, "vote"), 1u);
    EXPECT_EQ(Sent(*site, "unmask-share"), 0u);
    EXPECT_THAT(ViolationsOf(*site), ElementsAre("votes-disagree"));
    EXPECT_EQ(site->session->next_round(), 0u);
  }
  live_.now += 1000;
  live_.Turn();
  EXPECT_EQ(live_.server->Attempts().front().failure, "not-decrypted");
  EXPECT_EQ(live_.server->Status().finished, 0u);
}

TEST_F(LyingServerTest, AnotherClosedRoundForOneSeatIsNamedByIt) {
  Site& site = live_.site(live_.MemberOn(3));
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  LieInObjects(site, protocol::BulkKind::kClosedRound,
               [this](const protocol::FetchPartRequest& fetch, base::Bytes& object) {
                 if (fetch.name.attempt.number.round == 0) object[PayloadByte(object)] ^= 0x20;
               });
  live_.RunUntil([&] { return live_.site(0).session->next_round() == 1; }, 1);
  live_.Turn();
  EXPECT_EQ(Sent(site, "vote"), 1u);
  EXPECT_EQ(Sent(site, "unmask-share"), 0u);
  EXPECT_EQ(site.log.Count(member::NodeEventKind::kApplied, "sum"), 0u);
  live_.Run();
  live_.ExpectModels(3, {0, 1, 2, 3, 4});
}

TEST_F(LyingServerTest, ADroppedUploadIsNamedByItsSender) {
  Begin();
  const uint64_t dropped_member = Participant();
  Site& site = live_.site(dropped_member);
  const secagg::Attempt dropped = live_.Current();
  // Acknowledged, and thrown away: the server closes at its deadline with the others.
  const auto is_upload = [](const protocol::RequestBody& body) {
    const auto* put = std::get_if<protocol::PutPartRequest>(&body);
    return put != nullptr && put->name.kind == protocol::BulkKind::kUpload;
  };
  site.wire.swallows = is_upload;
  site.wire.lie = [=](const protocol::RequestBody& body, Answered answer) -> Answered {
    if (!is_upload(body)) return answer;
    return protocol::WriteArrived(std::get<protocol::PutPartRequest>(body).total);
  };
  live_.Turn();
  live_.now += live_.options.collecting_seconds;
  live_.RunUntil([&] { return !ViolationsOf(site).empty(); }, 1);
  EXPECT_THAT(ViolationsOf(site), ElementsAre("dropped-upload"));
  EXPECT_EQ(Sent(site, "vote"), 0u);
  EXPECT_EQ(Sent(site, "upload"), 1u);
  // The others decrypt without it, and what they published is not applied here by its sum.
  live_.RunUntil([&] { return live_.site(dropped_member == 0 ? 1 : 0).session->next_round() == 1; },
                 1);
  for (int turn = 0; turn < 3; ++turn) live_.Turn();
  for (const member::NodeEvent& event : site.log.events()) {
    if (event.kind != member::NodeEventKind::kApplied || event.what != "sum") continue;
    ASSERT_TRUE(event.attempt.has_value());
    EXPECT_NE(*event.attempt, dropped.number);
  }
}

TEST_F(LyingServerTest, AWrongNumberOfParticipantsGetsNoVote) {
  for (auto& site : live_.sites) {
    LieInAnnouncements(*site, [](protocol::Announcement& announcement) {
      if (announcement.current && announcement.current->participants > 0) {
        --announcement.current->participants;
      }
    });
  }
  live_.RunUntil([&] { return live_.server->Status().failed == 1; });
  for (auto& site : live_.sites) {
    EXPECT_EQ(Sent(*site, "vote"), 0u);
    EXPECT_EQ(site->session->next_round(), 0u);
  }
}

TEST_F(LyingServerTest, FewerParticipantsThanAgreedAreNamed) {
  Begin();
  Site& site = live_.site(live_.MemberOn(0));
  LieInAnnouncements(site, [](protocol::Announcement& announcement) {
    if (announcement.current && announcement.current->participants > 0) {
      announcement.current->participants = 1;
    }
  });
  live_.RunUntil([&] { return !ViolationsOf(site).empty(); }, 1);
  EXPECT_THAT(ViolationsOf(site), ElementsAre("participants"));
  EXPECT_THAT(ViolationText(site), HasSubstr("1 participants, 2 to 3 are allowed"));
  EXPECT_EQ(Sent(site, "vote"), 0u);
}

// Shares that seats encrypted and signed are passed on altered, or another attempt's instead.
TEST_F(LyingServerTest, AlteredUnmaskSharesAreNamedAndDecryptNothing) {
  Site& site = live_.site(2);
  LieInObjects(site, protocol::BulkKind::kUnmaskShare,
               [this](const protocol::FetchPartRequest&, base::Bytes& object) {
                 for (size_t at = ShareBytes() / 2; at < object.size(); at += ShareBytes()) {
                   object[at] ^= 1;
                 }
               });
  live_.RunUntil([&] { return live_.site(0).session->next_round() >= 1; }, 1);
  live_.Turn();
  EXPECT_THAT(ViolationsOf(site), Contains("bad-share"));
  EXPECT_EQ(site.log.Count(member::NodeEventKind::kApplied, "sum"), 0u);
}

TEST_F(LyingServerTest, OneAlteredUnmaskShareDoesNotHideTheOthers) {
  Site& site = live_.site(2);
  LieInObjects(site, protocol::BulkKind::kUnmaskShare,
               [this](const protocol::FetchPartRequest&, base::Bytes& object) {
                 object[ShareBytes() / 2] ^= 1;
               });
  live_.Run();
  live_.ExpectModels(3, {0, 1, 2, 3, 4});
  EXPECT_THAT(ViolationsOf(site), Contains("bad-share"));
  EXPECT_EQ(live_.server->Status().attempts, 3u);
}

// The bytes behind the last whole share are named, and cost none of the whole ones.
TEST_F(LyingServerTest, UnmaskSharesThatAreCutShortDoNotHideTheOthers) {
  Site& site = live_.site(2);
  LieInObjects(site, protocol::BulkKind::kUnmaskShare,
               [this](const protocol::FetchPartRequest&, base::Bytes& object) {
                 if (object.size() == 5 * ShareBytes()) object.pop_back();
               });
  live_.Run();
  live_.ExpectModels(3, {0, 1, 2, 3, 4});
  EXPECT_THAT(ViolationsOf(site), Contains("bad-share"));
  EXPECT_EQ(live_.server->Status().attempts, 3u);
}

TEST_F(LyingServerTest, MoreUnmaskSharesThanSeatsAreNamedAndNotTaken) {
  Site& site = live_.site(2);
  LieInObjects(site, protocol::BulkKind::kUnmaskShare,
               [this](const protocol::FetchPartRequest&, base::Bytes& object) {
                 object.resize(5 * ShareBytes() + 1);
               });
  live_.RunUntil([&] { return live_.site(0).session->next_round() >= 1; }, 1);
  live_.Turn();
  EXPECT_THAT(ViolationsOf(site), Contains("bad-share"));
  EXPECT_EQ(site.log.Count(member::NodeEventKind::kApplied, "sum"), 0u);
}

TEST_F(LyingServerTest, AnotherRoundsUnmaskSharesAreNamed) {
  Site& site = live_.site(2);
  base::Bytes first;
  LieInObjects(site, protocol::BulkKind::kUnmaskShare,
               [&](const protocol::FetchPartRequest& fetch, base::Bytes& object) {
                 if (fetch.name.attempt.number.round == 0)
                   first = object;
                 else
                   object = first;
               });
  live_.RunUntil([&] { return live_.site(0).session->next_round() == 2; }, 1);
  live_.Turn();
  EXPECT_THAT(ViolationsOf(site), Contains("bad-share"));
  EXPECT_EQ(site.log.Count(member::NodeEventKind::kApplied, "sum"), 1u);
}

TEST_F(LyingServerTest, AnotherRoundsSumIsNotApplied) {
  Site& site = live_.site(2);
  base::Bytes first;
  LieInObjects(site, protocol::BulkKind::kClosedRound,
               [&](const protocol::FetchPartRequest& fetch, base::Bytes& object) {
                 if (fetch.name.attempt.number.round == 0)
                   first = object;
                 else
                   object = first;
               });
  live_.RunUntil([&] { return live_.site(0).session->next_round() == 2; }, 1);
  live_.Turn();
  EXPECT_THAT(ViolationsOf(site), Contains("bad-sum"));
  EXPECT_EQ(site.log.Count(member::NodeEventKind::kApplied, "sum"), 1u);
}

// The votes of a quorum are shown to nobody but the seats: what the others cannot check they do not
// apply.
// A clock that was wrong for a while refuses whatever came meanwhile, of everybody: a vote that was
// dropped then left the attempt without an end.
TEST_F(LyingServerTest, WhatWasRefusedForTheClockIsSentAgain) {
  std::map<std::pair<uint64_t, size_t>, int> refused;
  for (auto& site : live_.sites) {
    site->wire.lie = [&refused, number = site->number](const protocol::RequestBody& body,
                                                       Answered answer) -> Answered {
      if (std::holds_alternative<protocol::AwaitRequest>(body)) return answer;
      // The answers of a server that takes nothing.
      return ++refused[{number, body.index()}] % 25 == 1
                 ? absl::AbortedError("request: made at 1 by the sender's clock, it is 1000 here")
                 : std::move(answer);
    };
  }
  live_.Run();
  live_.ExpectModels(3, {0, 1, 2, 3, 4});
  live_.ExpectNoViolations();
}

TEST_F(LyingServerTest, WithoutVotesNothingIsApplied) {
  Site& site = live_.site(2);
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  site.away = true;
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kPublished); }, 1);
  site.away = false;
  size_t shown = 3;  // of a quorum of four, the first as often as wanted
  site.wire.lie = [&](const protocol::RequestBody& body, Answered answer) -> Answered {
    if (!std::holds_alternative<protocol::FetchVotesRequest>(body) || !answer.ok()) return answer;
    std::vector<base::Bytes> votes = ValueOf(protocol::ReadBlobs(*answer));
    while (votes.size() > shown) votes.pop_back();
    votes.resize(votes.size() + 3, votes.front());
    return protocol::WriteBlobs(votes);
  };
  ASSERT_TRUE(site.session->Step().ok());
  EXPECT_EQ(site.session->next_round(), 0u);
  shown = 4;
  live_.Restart(site);
  ASSERT_TRUE(site.session->Step().ok());
  EXPECT_EQ(site.session->next_round(), 1u);
}

// Member 4 comes when the others are ahead by more than a kept sum, and needs a checkpoint.
class LyingServerAndLatecomersTest : public ::testing::Test {
 protected:
  LyingServerAndLatecomersTest() {
    late_.away = true;
    live_.options.collecting_seconds = 20;
    live_.RestartServer();
  }

  // So that a state has a velocity.
  static agreement::ManifestSpec WithMomentum() {
    agreement::ManifestSpec spec = ExactAgreement();
    spec.optimizer.momentum = 0.5;
    return spec;
  }
  const agreement::SignedManifest& manifest() const { return live_.members.manifest(); }
  // The state that member 0 has come to.
  protocol::Checkpoint State() {
    return ValueOf(protocol::ReadCheckpoint(ValueOf(live_.site(0).state.LoadCheckpoint()),
                                            manifest().manifest().federation(), 0,
                                            protocol::StateSizeOf(manifest().manifest().spec())));
  }
  base::Bytes Sealed(const protocol::Checkpoint& state) {
    return protocol::SealCheckpoint(state, live_.site(0).session->digest_key().OfModel(state.model),
                                    manifest().manifest(), manifest().epoch(), 0,
                                    live_.members.epoch_key());
  }
  // The late member is given `sealed` in the place of each checkpoint for which `wanted`.
  void LieInCheckpoints(base::Bytes sealed,
                        std::function<bool(const protocol::FetchPartRequest&)> wanted) {
    late_.wire.lie = [sealed, wanted](const protocol::RequestBody& body,
                                      Answered answer) -> Answered {
      const auto* fetch = std::get_if<protocol::FetchPartRequest>(&body);
      if (fetch == nullptr || fetch->name.kind != protocol::BulkKind::kCheckpoint || !answer.ok() ||
          !wanted(*fetch)) {
        return answer;
      }
      return protocol::WriteFetchedPart(sealed.size(), sealed);
    };
  }
  void ComeBack() {
    late_.away = false;
    for (int turn = 0; turn < 5; ++turn) live_.Turn();
  }

  LiveFederation live_{WithMomentum(), 1};
  LiveFederation::Site& late_ = live_.site(4);
};

TEST_F(LyingServerAndLatecomersTest, AStaleCheckpointIsRefusedAndNamed) {
  live_.RunUntil([&] { return live_.site(0).session->next_round() == 1; });
  const base::Bytes stale = Sealed(State());
  live_.Run();
  // Only the stale one, in the place of all others: nothing is taken.
  bool only = true;
  LieInCheckpoints(
      stale, [&](const protocol::FetchPartRequest& fetch) { return only || fetch.index == 0; });
  ComeBack();
  EXPECT_EQ(late_.session->next_round(), 0u);
  EXPECT_GE(late_.log.Count(member::NodeEventKind::kViolation, "bad-checkpoint"), 1u);
  // One true one among them is found.
  only = false;
  live_.Restart(late_);
  live_.Run();
  EXPECT_EQ(late_.session->next_round(), 3u);
  EXPECT_EQ(late_.session->model(), live_.site(0).session->model());
}

// Anyone who holds the epoch key can seal any state: the optimiser's is stated as well as the
// model.
TEST_F(LyingServerAndLatecomersTest, AnotherVelocityIsRefusedAndNamed) {
  live_.Run();
  protocol::Checkpoint state = State();
  state.velocity[0] += 1;
  LieInCheckpoints(Sealed(state), [](const protocol::FetchPartRequest&) { return true; });
  ComeBack();
  EXPECT_EQ(late_.session->next_round(), 0u);
  EXPECT_GE(late_.log.Count(member::NodeEventKind::kViolation, "bad-checkpoint"), 1u);
}

// Attestations are signed: without a majority of the attestors no state is taken.
TEST_F(LyingServerAndLatecomersTest, WithoutTheAttestorsNothingIsTaken) {
  live_.Run();
  const auto attestors = member::AttestorsOf(manifest());
  late_.wire.lie = [&](const protocol::RequestBody& body, Answered answer) -> Answered {
    if (!std::holds_alternative<protocol::FetchAttestationsRequest>(body) || !answer.ok())
      return answer;
    std::vector<base::Bytes> few;
    for (const base::Bytes& blob : ValueOf(protocol::ReadBlobs(*answer))) {
      if (ValueOf(protocol::ReadAttestation(blob, manifest())).member == attestors[0]) {
        few = {blob, blob, blob, blob, blob};
      }
    }
    return protocol::WriteBlobs(few);
  };
  ComeBack();
  EXPECT_EQ(late_.session->next_round(), 0u);
  EXPECT_EQ(late_.log.Count(member::NodeEventKind::kApplied, "checkpoint"), 0u);
}

TEST_F(LyingServerTest, WhatTheManifestDoesNotHaveIsNamed) {
  const std::vector<std::pair<std::string, std::function<void(protocol::Announcement&)>>> lies = {
      {"other-federation", [](protocol::Announcement& a) { a.manifest_hash[3] ^= 1; }},
      {"other-federation", [](protocol::Announcement& a) { a.epoch = 9; }},
      {"other-federation", [](protocol::Announcement& a) { a.current->attempt.number.epoch = 9; }},
      {"impossible", [](protocol::Announcement& a) { a.current->attempt.number.round = 3; }},
      {"impossible", [](protocol::Announcement& a) { a.current->attempt.number.attempt = 3; }},
      {"impossible", [](protocol::Announcement& a) { a.finished = 1; }},
      {"impossible", [](protocol::Announcement& a) { a.finished = 4; }},
      {"impossible",
       [](protocol::Announcement& a) { a.current->invited = protocol::Invited::kOwnCoin; }},
      {"impossible", [](protocol::Announcement& a) { a.listed.back().attempt = 1; }},
      {"impossible",
       [](protocol::Announcement& a) {
         a.listed.clear();
         for (uint32_t i = 0; i < 8; ++i) a.listed.push_back({0, i / 3, i % 3});
       }},
      {"impossible", [](protocol::Announcement& a) { a.first_listed = 1; }},
  };
  Begin();
  for (size_t i = 0; i < lies.size(); ++i) {
    SCOPED_TRACE(i);
    LiveFederation live;
    live.Turn(0);
    live.Tick(0);
    Site& site = live.site(0);
    LieInAnnouncements(site, lies[i].second);
    for (int turn = 0; turn < 3; ++turn) (void)site.session->Step();
    EXPECT_THAT(ViolationsOf(site), ElementsAre(lies[i].first));
    EXPECT_EQ(site.updates.asked, 0);
    EXPECT_TRUE(site.ledger->entries().empty());
  }
}

TEST_F(LyingServerTest, AnswersThatCannotBeReadAreNamed) {
  Begin();
  Site& site = live_.site(0);
  site.wire.lie = [](const protocol::RequestBody&, Answered) -> Answered {
    return base::Bytes{1, 2, 3};
  };
  const auto progress = site.session->Step();
  EXPECT_TRUE(protocol::IsRetryable(progress.status())) << progress.status();
  EXPECT_THAT(ViolationsOf(site), ElementsAre("unreadable"));
}

TEST_F(LyingServerTest, AnotherUploadInItsNameIsNamed) {
  Begin();
  Site& site = live_.site(Participant());
  site.wire.lie = [](const protocol::RequestBody& body, Answered answer) -> Answered {
    const auto* put = std::get_if<protocol::PutPartRequest>(&body);
    if (put == nullptr || put->name.kind != protocol::BulkKind::kUpload) return answer;
    return base::AlreadyExists("another upload of this member was accepted");
  };
  live_.Turn();
  EXPECT_THAT(ViolationsOf(site), ElementsAre("replaced-upload"));
  EXPECT_THAT(site.log.events().back().text, HasSubstr("second copy of this site's folder"));
}

TEST_F(LyingServerTest, AnotherKeyPacketInItsNameIsNamed) {
  Begin();
  Site& site = live_.site(Participant());
  site.wire.lie = [](const protocol::RequestBody& body, Answered answer) -> Answered {
    const auto* put = std::get_if<protocol::PutPartRequest>(&body);
    if (put == nullptr || put->name.kind != protocol::BulkKind::kKeyPacket) return answer;
    return base::AlreadyExists("another key packet of this member was accepted");
  };
  live_.Turn();
  EXPECT_THAT(ViolationsOf(site), ElementsAre("replaced-packet"));
  EXPECT_EQ(Sent(site, "upload"), 0u);
}

// It was put back to the time before it got the packets, while the members' programs continue.
TEST_F(LyingServerTest, AServerThatLostTheKeyPacketsGetsThemInTheSameAttempt) {
  std::set<uint64_t> uploaded;  // in round 0
  std::set<uint64_t> refused;
  std::set<uint64_t> given_again;
  for (const auto& site : live_.sites) {
    site->wire.lie = [&, member = site->number](const protocol::RequestBody& body,
                                                Answered answer) -> Answered {
      const auto* put = std::get_if<protocol::PutPartRequest>(&body);
      if (put == nullptr) return answer;
      if (put->name.kind == protocol::BulkKind::kKeyPacket && refused.contains(member)) {
        given_again.insert(member);
      }
      if (put->name.kind != protocol::BulkKind::kUpload) return answer;
      if (put->name.attempt.number.round == 0) uploaded.insert(member);
      const bool knows = put->name.attempt.number.round == 0 || given_again.contains(member);
      if (knows || !uploaded.contains(member)) return answer;
      refused.insert(member);
      return base::FailedPrecondition("an upload before this member's key packet");
    };
  }
  live_.Run();
  EXPECT_FALSE(refused.empty());
  EXPECT_EQ(given_again, refused);
  for (const auto& site : live_.sites) {
    EXPECT_EQ(site->log.Count(member::NodeEventKind::kNote, "upload-not-taken"), 0u);
  }
  live_.ExpectNoViolations();
}

// Nobody but the holder of the site's key can have sent it.
TEST_F(LyingServerTest, AnotherVoteInItsNamePointsToACopyOfTheSite) {
  Begin();
  for (const auto& site : live_.sites) {
    site->wire.lie = [](const protocol::RequestBody& body, Answered answer) -> Answered {
      if (!std::holds_alternative<protocol::PutVoteRequest>(body)) return answer;
      return base::AlreadyExists("another item of kind 3 was put here before");
    };
  }
  live_.Turn();
  live_.Turn();
  int told = 0;
  for (const auto& site : live_.sites) {
    for (const member::NodeEvent& event : site->log.events()) {
      if (event.what != "vote-not-taken") continue;
      EXPECT_THAT(event.text, HasSubstr("a second copy of this site's folder runs"));
      ++told;
    }
  }
  EXPECT_GT(told, 0);
}

// An invitation that comes after this member was told that it has no part, and was charged so.
TEST_F(LyingServerTest, ALaterInvitationIsRefused) {
  Begin();
  Site& site = live_.site(0);
  const bool invited = live_.IsInvited(0);
  protocol::Invited told = protocol::Invited::kNo;
  LieInAnnouncements(site, [&](protocol::Announcement& announcement) {
    announcement.revision += told == protocol::Invited::kNo ? 1 : 2;
    if (announcement.current) announcement.current->invited = told;
  });
  ASSERT_TRUE(site.session->Step().ok());
  told = protocol::Invited::kYes;
  ASSERT_TRUE(site.session->Step().ok());
  EXPECT_EQ(site.updates.asked, 0) << invited;
  EXPECT_EQ(site.log.Count(member::NodeEventKind::kRefused, "upload"), 1u);
}

// Seats that lie: their sessions are absent while an attempt is unmasking, and the test signs in
// their place.
class WrongSeatTest : public ::testing::Test {
 protected:
  using Site = LiveFederation::Site;

  void Play(LiveFederation& live, std::vector<uint32_t> seats) {
    live_ = &live;
    liars_ = std::move(seats);
    lied_.reset();
    live.between = [this] {
      for (const uint32_t seat : liars_) {
        live_->site(live_->MemberOn(seat)).away = live_->IsAt(protocol::AttemptPhase::kUnmasking);
      }
      if (!live_->IsAt(protocol::AttemptPhase::kUnmasking) || lied_ == live_->Current()) return;
      lied_ = live_->Current();
      for (const uint32_t seat : liars_) Lie(seat);
    };
  }

  // Votes like the others, and gives another share than the sum of its masks: encrypted and signed
  // as it should be.
  void Lie(uint32_t seat) {
    const secagg::Attempt attempt = live_->Current();
    const crypto::Digest hash = Hash(live_->Fetch(protocol::BulkKind::kClosedRound));
    const absl::Status voted = live_->server->Take(
        live_->MemberOn(seat),
        protocol::PutVoteRequest{attempt, secagg::WriteVote(attempt, seat, hash, KeyOf(seat))});
    ASSERT_TRUE(voted.ok()) << voted;
    Give(seat, WrongShare(seat, attempt, hash));
  }
  base::Bytes WrongShare(uint32_t seat, const secagg::Attempt& attempt,
                         const crypto::Digest& hash) {
    const std::vector<uint16_t> wrong(live_->members.terms().aggregation().sharing().mask_words(),
                                      static_cast<uint16_t>(17 + seat));
    return secagg::WriteUnmaskShare(wrong, attempt, hash, seat,
                                    live_->members.KeysOf(attempt).result_key, KeyOf(seat),
                                    live_->cohorts);
  }
  void Give(uint32_t seat, const base::Bytes& share) {
    const absl::Status given =
        server::testing::TakePart(*live_->server, live_->MemberOn(seat),
                                  {.name = {protocol::BulkKind::kUnmaskShare, live_->Current()},
                                   .total = share.size(),
                                   .digest = crypto::Sha256(share),
                                   .part = share})
            .status();
    ASSERT_TRUE(given.ok()) << given;
  }
  crypto::Digest Hash(const base::Bytes& closed_round) const {
    const secagg::Terms& terms = live_->members.terms();
    return secagg::ClosedRoundHash(ValueOf(secagg::ReadClosedRound(
        closed_round, live_->Current(), terms.aggregation(), terms.min_participants())));
  }
  const crypto::SigningKey& KeyOf(uint32_t seat) const {
    return live_->members.site(live_->MemberOn(seat)).signing;
  }
  bool IsLiar(uint64_t member) const {
    return std::ranges::any_of(liars_,
                               [&](uint32_t seat) { return live_->MemberOn(seat) == member; });
  }
  std::vector<uint64_t> Honest() const {
    std::vector<uint64_t> honest;
    for (const auto& site : live_->sites) {
      if (!IsLiar(site->number)) honest.push_back(site->number);
    }
    return honest;
  }
  // The first attempt fails, and nobody has another model than at the start.
  void ExpectThatOneAttemptFails() {
    for (int turn = 0; live_->server->Status().failed == 0 && turn < 60; ++turn) live_->Turn(5);
    ASSERT_EQ(live_->server->Attempts().front().phase, protocol::AttemptPhase::kFailed);
    for (const auto& site : live_->sites) {
      EXPECT_EQ(site->session->next_round(), 0u);
      EXPECT_EQ(site->session->model(), std::vector<float>(protocol::testing::kSmallDimension));
      EXPECT_EQ(site->log.Count(member::NodeEventKind::kSent, "confirmation"), 0u);
    }
  }
  LiveFederation* live_ = nullptr;
  std::vector<uint32_t> liars_;
  std::optional<secagg::Attempt> lied_;
};

// As many as the agreement tolerates fail nothing, and everybody names them.
TEST_F(WrongSeatTest, UpToFAreCorrectedAndNamedByEverybody) {
  struct Lie {
    agreement::ManifestSpec agreement;
    int members;
    std::vector<uint32_t> liars;
  };
  for (const Lie& lie : std::vector<Lie>{{SevenOfNine(), 9, {0}},
                                         {SevenOfNine(), 9, {3}},
                                         {SevenOfNine(), 9, {6}},
                                         {SevenOfNine(), 9, {1, 5}},
                                         {ExactAgreement(), 5, {0}},
                                         {ExactAgreement(), 5, {4}}}) {
    LiveFederation live(lie.agreement, 3, lie.members);
    Play(live, lie.liars);
    live.Run();
    live.ExpectNobodySpokeTwice();
    EXPECT_EQ(live.server->Status().attempts, 3u);
    std::set<std::string> names;
    for (const uint32_t liar : lie.liars) names.insert(fmt::format("site-{}", live.MemberOn(liar)));
    for (const uint64_t number : Honest()) {
      const Site& site = live.site(number);
      EXPECT_EQ(site.session->next_round(), 3u);
      EXPECT_EQ(site.session->model(), live.site(Honest().front()).session->model());
      size_t named = 0;
      for (const member::NodeEvent& event : site.log.events()) {
        if (event.kind != member::NodeEventKind::kViolation) continue;
        ++named;
        EXPECT_EQ(event.what, "wrong-share");
        EXPECT_TRUE(std::ranges::any_of(names, [&event](const std::string& name) {
          return event.text.find("of " + name + " does") != std::string::npos;
        })) << event.text;
      }
      EXPECT_EQ(named, 3 * lie.liars.size()) << number;
      EXPECT_EQ(site.ledger->entries().size(), 3u);
    }
  }
}

// With more of them too few right shares are left. The attempt fails, and nobody has another model.
TEST_F(WrongSeatTest, MoreThanFChangeNobodysModel) {
  {
    LiveFederation live(SevenOfNine(), 3, 9);
    Play(live, {1, 3, 5});
    ExpectThatOneAttemptFails();
  }
  LiveFederation live;
  Play(live, {0, 4});
  ExpectThatOneAttemptFails();
  size_t refused = 0;
  for (const uint64_t number : Honest()) {
    refused += live.site(number).log.Count(member::NodeEventKind::kViolation, "unsound-sum");
  }
  EXPECT_GE(refused, 3u);
}

// More seats than are tolerated: they confirm a sum that nobody can decrypt yet. The others
// continue until they can, and nobody's model is another.
TEST_F(WrongSeatTest, FalseConfirmationsDelayNothing) {
  LiveFederation live;
  live.RunUntil([&] { return live.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  const secagg::Attempt attempt = live.Current();
  for (const uint32_t seat : {0, 1}) {
    ASSERT_TRUE(
        live.server->Take(live.MemberOn(seat), protocol::PutVerdictRequest{attempt, true}).ok());
  }
  ASSERT_TRUE(live.IsAt(protocol::AttemptPhase::kPublished));
  live.Steps();
  for (const auto& site : live.sites) EXPECT_EQ(site->session->next_round(), 0u);
  live.RunWithoutFault(3, {0, 1, 2, 3, 4});
  EXPECT_EQ(live.server->Status().attempts, 3u);
}

// Two seats of five under f = 2 vote, and keep their shares back until they have seen the
// aggregate. They see nothing, nobody is charged again, and the round ends with their shares.
TEST_F(WrongSeatTest, SeatsThatKeepTheirSharesBackSeeNoAggregate) {
  LiveFederation live(ExactAgreement(protocol::testing::AgreementWith(2, {3, 0, 4, 1, 2})));
  live_ = &live;
  live.RunUntil([&] { return live.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  const secagg::Attempt attempt = live.Current();
  const base::Bytes closed = live.Fetch(protocol::BulkKind::kClosedRound);
  const crypto::Digest hash = Hash(closed);
  for (const uint32_t seat : {0, 1}) {
    Site& site = live.site(live.MemberOn(seat));
    site.away = true;
    ASSERT_TRUE(live.server
                    ->Take(site.number,
                           protocol::PutVoteRequest{
                               attempt, secagg::WriteVote(attempt, seat, hash, KeyOf(seat))})
                    .ok());
  }
  for (int turn = 0; turn < 12; ++turn) {
    live.Turn(50);
    ASSERT_TRUE(live.IsAt(protocol::AttemptPhase::kUnmasking)) << turn;
    EXPECT_EQ(live.Current(), attempt);
    for (const uint32_t seat : {0, 1}) {
      EXPECT_EQ(server::testing::PartOf(*live.server, live.MemberOn(seat),
                                        {.name = {protocol::BulkKind::kUnmaskShare, attempt}})
                    .status()
                    .code(),
                absl::StatusCode::kFailedPrecondition);
    }
  }
  EXPECT_EQ(live.server->Status().unmask_shares, 3u);
  for (const uint32_t seat : {0, 1}) live.site(live.MemberOn(seat)).away = false;
  live.Run();
  live.ExpectModels(3, {0, 1, 2, 3, 4});
  EXPECT_EQ(live.server->Status().attempts, 3u);
}

// A server that repeats a round until it likes the result: a seat that has decrypted the aggregate
// names it, and the agreement ends it.
TEST_F(LyingServerTest, ARoundThatIsAbortedAfterItsDecryptionIsNamed) {
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kPublished); }, 1);
  Site* confirmed = nullptr;
  for (const auto& site : live_.sites) {
    if (site->log.Count(member::NodeEventKind::kSent, "confirmation") == 1) confirmed = site.get();
  }
  ASSERT_NE(confirmed, nullptr);
  LieInAnnouncements(*confirmed, [](protocol::Announcement& announcement) {
    ++announcement.revision;
    announcement.finished = 0;
    announcement.kept.clear();
    announcement.current->phase = protocol::AttemptPhase::kFailed;
  });
  ASSERT_TRUE(confirmed->session->Step().ok());
  EXPECT_THAT(ViolationsOf(*confirmed), ElementsAre("aborted-round"));
}

// An upload that the server refuses after its last byte, with something new in every announcement.
TEST_F(LyingServerTest, ARefusedUploadIsSentAFewTimes) {
  Begin();
  Site* invited = nullptr;
  for (const auto& site : live_.sites) {
    if (live_.IsInvited(site->number)) invited = site.get();
  }
  uint64_t revision = 0;
  size_t sent = 0;
  invited->wire.watch = [&](const protocol::RequestBody& body) {
    const auto* put = std::get_if<protocol::PutPartRequest>(&body);
    if (put != nullptr && put->name.kind == protocol::BulkKind::kUpload) sent += put->part.size();
  };
  invited->wire.lie = [&](const protocol::RequestBody& body,
                          absl::StatusOr<base::Bytes> answer) -> absl::StatusOr<base::Bytes> {
    const auto* const put = std::get_if<protocol::PutPartRequest>(&body);
    if (put != nullptr && put->name.kind == protocol::BulkKind::kUpload) {
      if (put->part.empty()) return protocol::WriteArrived(0);
      return absl::FailedPreconditionError("not now");
    }
    if (!std::holds_alternative<protocol::AwaitRequest>(body)) return answer;
    auto announcement = ValueOf(protocol::ReadAnnouncement(*answer));
    announcement.revision = ++revision;
    return protocol::WriteAnnouncement(announcement);
  };
  for (int step = 0; step < 50; ++step) ASSERT_TRUE(invited->session->Step().ok());
  const size_t upload = secagg::UploadBytes(live_.members.terms().aggregation());
  // Each time but the first also after the key packet, which the server may have lost.
  EXPECT_EQ(sent, (2 * member::MemberMachine::kMaxRefusals - 1) * upload);
}

// A late share that is wrong is corrected like any other.
TEST_F(WrongSeatTest, AWrongShareThatComesLateIsCorrected) {
  LiveFederation live(SevenOfNine(), 3, 9);
  live_ = &live;
  liars_ = {2};
  Site& liar = live.site(live.MemberOn(2));
  Site& late = live.site(3);  // without a seat
  live.RunUntil([&] { return live.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  liar.away = late.away = true;
  live.RunUntil([&] { return live.IsAt(protocol::AttemptPhase::kPublished); }, 1);
  Give(2, WrongShare(2, live.Current(), Hash(live.Fetch(protocol::BulkKind::kClosedRound))));
  late.away = false;
  ASSERT_TRUE(late.session->Step().ok());
  EXPECT_EQ(late.session->next_round(), 1u);
  EXPECT_EQ(late.log.Count(member::NodeEventKind::kViolation, "wrong-share"), 1u);
}

}  // namespace
}  // namespace tacet::live
