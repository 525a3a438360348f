// Committee seats whose site is put back from a copy, loses its state, runs a second time, or is
// started again with its whole machine. Each says one thing about an attempt.
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/live/live_members_for_test.h"

namespace tacet::live::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;

using protocol::AttemptPhase;
using Site = LiveFederation::Site;

// The content of a backup or a snapshot of a site.
struct Copy {
  explicit Copy(const Site& site) : state(site.state), ledger(site.memory_ledger) {}
  void PutBack(Site& site) const {
    site.state = state;
    site.memory_ledger = ledger;
  }

  FailingMemberState state;
  ledger::testing::MemoryLedger ledger;
};

class PutBackSeatTest : public ::testing::Test {
 protected:
  static size_t Sent(const Site& site, std::string_view what) {
    return site.log.Count(member::NodeEventKind::kSent, what);
  }
  static size_t Silences(const Site& site) {
    return site.log.Count(member::NodeEventKind::kNote, "may-have-voted");
  }
  static bool HaveAllVoted(LiveFederation& live) {
    return std::ranges::all_of(live.members.committee(), [&live](const auto& seat) {
      return Sent(live.site(seat.member), "vote") == 1;
    });
  }
  // Hereafter a server that lies shows the seat another sum of the open attempt.
  static void ShowAnotherSum(LiveFederation& live, Site& site) {
    site.wire.lie = [attempt = live.Current()](const protocol::RequestBody& body,
                                               absl::StatusOr<base::Bytes> answer) {
      const auto* fetch = std::get_if<protocol::FetchPartRequest>(&body);
      if (fetch != nullptr && answer.ok() &&
          fetch->name == protocol::BulkName{protocol::BulkKind::kClosedRound, attempt}) {
        answer->back() ^= 1;
      }
      return answer;
    };
  }
  static void StartMachineAgain(Site& site) { site.anchor = {}; }

  // Until the sum is closed. Only this seat is there then.
  Site& TheOnlySeat(LiveFederation& live, uint32_t seat = 0) {
    live.options.unmasking_seconds = 10'000;
    live.RestartServer();
    live.RunUntil([&] { return live.IsAt(AttemptPhase::kUnmasking); }, 1);
    Site& site = live.site(live.MemberOn(seat));
    EXPECT_EQ(Sent(site, "vote"), live.server->Status().finished);
    for (auto& other : live.sites) other->away = other->number != site.number;
    return site;
  }
  void ExpectOneVote(LiveFederation& live, Site& site) {
    live.Restart(site);
    for (int turn = 0; turn < 3; ++turn) live.Turn();
    EXPECT_EQ(Silences(site), 1u);
    live.ExpectNobodySpokeTwice();
  }
  static void ExpectEnd(LiveFederation& live, size_t attempts) {
    live.Run();
    live.ExpectNobodySpokeTwice();
    live.ExpectNoViolations();
    EXPECT_EQ(live.server->Attempts().size(), attempts);
    EXPECT_EQ(live.server->Status().finished, 3u);
  }
};

// Without the anchor the seat signs two sums in one attempt, and counts as corrupt.
TEST_F(PutBackSeatTest, ACopyFromBeforeTheVoteDoesNotVoteForAnotherSum) {
  LiveFederation live;
  Site& site = TheOnlySeat(live);
  const Copy copy(site);
  live.RunUntil([&] { return Sent(site, "vote") == 1; }, 1);
  copy.PutBack(site);
  ShowAnotherSum(live, site);
  ExpectOneVote(live, site);
  EXPECT_EQ(Sent(site, "vote"), 1u);
  // The server's operators read why, and the others publish without it.
  EXPECT_THAT(live.server->Status().objections,
              ElementsAre(AllOf(
                  Field(&protocol::Objection::member, site.number),
                  Field(&protocol::Objection::reason, protocol::ObjectionReason::kMayHaveVoted))));
  site.wire.lie = nullptr;
  for (auto& other : live.sites) other->away = false;
  ExpectEnd(live, 3);
}

// The copy is older than the attempt, and the server leads it there step by step.
TEST_F(PutBackSeatTest, ACopyFromBeforeTheAttemptDoesNotVoteForAnotherSum) {
  LiveFederation live;
  live.RunUntil([&] { return live.site(0).session->next_round() == 1; });
  std::vector<Copy> copies;
  for (auto& site : live.sites) copies.emplace_back(*site);
  const auto first = protocol::testing::ValueOf(live.server->AnnouncementFor(0, 0, false));
  live.RunUntil([&] { return live.IsAt(AttemptPhase::kCollecting); }, 1);
  uint32_t seat = 0;  // without an upload in it, which would show
  while (live.IsInvited(live.MemberOn(seat))) ++seat;
  Site& site = TheOnlySeat(live, seat);
  live.RunUntil([&] { return Sent(site, "vote") == 2; }, 1);
  copies[site.number].PutBack(site);
  ShowAnotherSum(live, site);
  auto lie = site.wire.lie;
  bool leads = true;
  site.wire.lie = [&, lie](const protocol::RequestBody& body, absl::StatusOr<base::Bytes> answer) {
    if (leads && std::holds_alternative<protocol::AwaitRequest>(body) && answer.ok()) {
      leads = false;
      return absl::StatusOr<base::Bytes>(protocol::WriteAnnouncement(first));
    }
    return lie(body, std::move(answer));
  };
  ExpectOneVote(live, site);
}

TEST_F(PutBackSeatTest, ACopyFromBeforeTheShareGivesNoSecondShare) {
  LiveFederation live;
  Site& site = TheOnlySeat(live);
  live.RunUntil([&] { return Sent(site, "vote") == 1; }, 1);
  const Copy copy(site);
  bool decides = false;  // the others, so that the attempt stays open
  for (auto& other : live.sites) {
    other->away = false;
    other->wire.swallows = [&decides](const protocol::RequestBody& body) {
      return !decides && std::holds_alternative<protocol::PutVerdictRequest>(body);
    };
  }
  live.RunUntil([&] { return Sent(site, "unmask-share") == 1; }, 1);
  ASSERT_TRUE(live.IsAt(AttemptPhase::kUnmasking));
  copy.PutBack(site);
  live.Restart(site);
  live.Turn();
  EXPECT_EQ(Silences(site), 1u);
  decides = true;
  ExpectEnd(live, 3);
}

// The copy runs where there is no anchor: on another machine, or after a start of this one.
TEST_F(PutBackSeatTest, ACopyElsewhereDoesNotVoteForAnotherSum) {
  LiveFederation live;
  Site& site = TheOnlySeat(live);
  const Copy copy(site);
  live.RunUntil([&] { return Sent(site, "vote") == 1; }, 1);
  copy.PutBack(site);
  StartMachineAgain(site);
  ShowAnotherSum(live, site);
  ExpectOneVote(live, site);
  live.Restart(site);  // what the anchor says now holds for the next process
  live.Turn();
  EXPECT_EQ(Sent(site, "vote"), 1u);
  live.ExpectNobodySpokeTwice();
}

// The anchor hears of an attempt before the memory does.
TEST_F(PutBackSeatTest, AProcessThatEndsBeforeItRemembersMissesNoVote) {
  LiveFederation live;
  live.RunUntil([&] { return live.site(0).session->next_round() == 1; });
  std::vector<Copy> copies;
  for (auto& site : live.sites) copies.emplace_back(*site);
  live.RunUntil([&] { return live.IsAt(AttemptPhase::kCollecting); }, 1);
  uint32_t seat = 0;
  while (live.IsInvited(live.MemberOn(seat))) ++seat;
  Site& site = live.site(live.MemberOn(seat));
  live.RunUntil([&] { return site.anchor.words->attempt == live.Current(); }, 1);
  EXPECT_EQ(site.anchor.words->progress, member::SeatProgress::kNothing);
  copies[site.number].PutBack(site);
  live.Restart(site);
  ExpectEnd(live, 3);
  EXPECT_EQ(Silences(site), 0u);
  EXPECT_EQ(Sent(site, "vote"), 3u);
}

// Another machine had the seat in between. Its state comes back, and the anchor here is old.
TEST_F(PutBackSeatTest, AnOldAnchorIsNone) {
  LiveFederation live;
  Site& seat = live.site(live.MemberOn(0));
  live.RunUntil([&] { return Sent(seat, "vote") == 1; }, 1);
  const auto old = seat.anchor;
  live.RunUntil([&] { return live.server->Status().finished == 1; }, 1);
  Site& site = TheOnlySeat(live);
  ASSERT_EQ(&site, &seat);
  const Copy copy(site);
  live.RunUntil([&] { return Sent(site, "vote") == 2; }, 1);
  copy.PutBack(site);
  site.anchor = old;
  ShowAnotherSum(live, site);
  ExpectOneVote(live, site);
  EXPECT_EQ(Sent(site, "vote"), 2u);
}

// Its ledger is charged for its own seals only, and it was not drawn: nothing else knows.
TEST_F(PutBackSeatTest, ALostStateDoesNotVoteAgainWhereTheLedgerKnowsNothing) {
  agreement::ManifestSpec spec = protocol::testing::SmallAgreement();
  LiveFederation live(spec);
  for (auto& site : live.sites) {
    site->rule = ledger::ChargingRule::kOwnSeals;
    live.Restart(*site);
  }
  live.RunUntil([&] { return live.IsAt(AttemptPhase::kCollecting); }, 1);
  uint32_t seat = 0;
  while (live.IsInvited(live.MemberOn(seat))) ++seat;
  Site& site = TheOnlySeat(live, seat);
  live.RunUntil([&] { return Sent(site, "vote") == 1; }, 1);
  ASSERT_TRUE(site.ledger->entries().empty());
  site.state = FailingMemberState();
  ShowAnotherSum(live, site);
  ExpectOneVote(live, site);
}

// A process that ends between the vote in the state and the anchor repeats the vote, and then the
// anchor has it.
TEST_F(PutBackSeatTest, AVoteIsInTheAnchorBeforeItIsSent) {
  LiveFederation live;
  Site& site = TheOnlySeat(live);
  const Copy copy(site);
  site.anchor.full = true;
  for (int turn = 0; turn < 3; ++turn) live.Turn();
  EXPECT_EQ(Sent(site, "vote"), 0u);
  EXPECT_EQ(site.said.count("vote 0/0"), 0u);
  site.anchor.full = false;
  live.Restart(site);
  live.RunUntil([&] { return Sent(site, "vote") == 1; }, 1);
  copy.PutBack(site);
  ShowAnotherSum(live, site);
  ExpectOneVote(live, site);
}

// Others can fill the place of anchors. This costs the seat's votes, and no upload.
TEST_F(PutBackSeatTest, AMemberWithoutAPlaceForItsAnchorDoesAllButVote) {
  for (const bool stays_full : {true, false}) {
    LiveFederation live;
    live.RunUntil([&] { return live.IsAt(AttemptPhase::kCollecting); }, 1);
    uint32_t seat = 0;
    while (!live.IsInvited(live.MemberOn(seat))) ++seat;
    Site& site = live.site(live.MemberOn(seat));
    StartMachineAgain(site);
    site.anchor.full = true;
    live.Restart(site);
    live.RunUntil([&] { return live.server->Status().finished == 1; }, 1);
    EXPECT_EQ(Sent(site, "upload"), 1u);
    EXPECT_EQ(Silences(site), 1u);
    EXPECT_GE(site.log.Count(member::NodeEventKind::kNote, "no-anchor"), 1u);
    site.anchor.full = stays_full;
    ExpectEnd(live, 3);
    EXPECT_EQ(Sent(site, "unmask-share"), stays_full ? 0u : 2u);
  }
}

// The power fails at everybody at once, at any moment of an attempt. It costs that attempt, unless
// seats have their votes.
TEST_F(PutBackSeatTest, AllMachinesThatStartAgainGoOnByThemselves) {
  struct Moment {
    std::function<bool(LiveFederation&)> has_come;
    size_t attempts;
  };
  for (const Moment& moment : std::vector<Moment>{
           {[](LiveFederation& live) { return live.IsAt(AttemptPhase::kCollecting); }, 4},
           {[](LiveFederation& live) { return live.IsAt(AttemptPhase::kUnmasking); }, 4},
           {[](LiveFederation& live) { return HaveAllVoted(live); }, 3}}) {
    LiveFederation live;
    live.RunUntil([&] { return moment.has_come(live); }, 1);
    live.RestartServer();
    for (auto& site : live.sites) {
      StartMachineAgain(*site);
      live.Restart(*site);
    }
    const uint64_t before = live.now;
    live.RunUntil([&] { return live.server->Attempts().size() == 2; }, 1);
    EXPECT_LT(live.now, before + 10);  // no deadline was waited for
    ExpectEnd(live, moment.attempts);
  }
}

// One machine that starts again costs nothing, and neither do processes that do.
TEST_F(PutBackSeatTest, OneMachineThatStartsAgainIsNotMissed) {
  LiveFederation live;
  live.RunUntil([&] { return live.IsAt(AttemptPhase::kCollecting); }, 1);
  Site& site = live.site(live.MemberOn(0));
  StartMachineAgain(site);
  live.Restart(site);
  ExpectEnd(live, 3);
  EXPECT_EQ(Silences(site), 1u);
  EXPECT_EQ(Sent(site, "vote"), 2u);
}

TEST_F(PutBackSeatTest, NewProcessesOfOneMachineVoteInEveryAttempt) {
  LiveFederation live;
  live.RunInNewProcesses();
  ExpectEnd(live, 3);
  for (auto& site : live.sites) EXPECT_EQ(Silences(*site), 0u);
}

}  // namespace
}  // namespace tacet::live::testing
