// One member that lies, alone or while one honest seat is absent, with a server that starts again
// and again or not, over HTTPS and inside another framework. Every agreed round is published.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/test_size_for_test.h"
#include "tacet/host/problems.h"
#include "tacet/secagg/small_round_for_test.h"
#include "tests/live/live_members_for_test.h"
#include "tests/live/served_federation_for_test.h"

namespace tacet::live {
namespace {

using ::testing::AllOf;
using testing::ExactAgreement;
using ::testing::HasSubstr;
using testing::LiveFederation;
using testing::Wires;

enum class Lie : uint8_t {
  kMac,
  kPayload,
  kSharesForOneSeat,
  kSharesForAllSeats,
  kNoise,        // an upload of the right length that the server refuses
  kNoVote,       // uploads, and votes never
  kSaysNothing,  // is connected, and that is all
  kIsAbsent
};
constexpr int kLies = 8;

struct Setting {
  uint32_t members = 0;
  Lie lie = Lie::kMac;
  bool one_away = false;
  bool restarts = false;  // the server, in each attempt
  uint64_t liar = 2;
};

constexpr uint32_t kRounds = 6;
constexpr uint64_t kAwayFor = 3000;  // seconds, many deadlines
constexpr uint64_t kTurnSeconds = 5;

agreement::ManifestSpec EverybodyOf(uint32_t members, uint32_t min_participants) {
  const uint32_t seats = std::min(members, 7U);
  std::vector<uint64_t> on_seats;
  for (uint64_t member = 0; member < seats; ++member) on_seats.push_back(member);
  agreement::ManifestSpec spec = protocol::testing::AgreementWith(2, on_seats);
  spec.sampling.cohort = members;
  spec.sampling.min_participants = min_participants;
  spec.rounds = kRounds;
  spec.spare_attempts = 10;
  return ExactAgreement(spec);
}

void Spoil(const LiveFederation& live, Lie lie, base::Bytes& upload) {
  const he::AggregationParams& params = live.members.terms().aggregation();
  const size_t seat_bytes = 2 * params.sharing().mask_words();
  switch (lie) {
    case Lie::kMac:
      upload[secagg::testing::UploadTagByte(params)] ^= 0x20;
      break;
    case Lie::kPayload:
      upload[secagg::testing::kUploadCiphertext + 5] ^= 0x20;
      break;
    case Lie::kSharesForOneSeat:
      secagg::testing::AlterShareWord(&upload[secagg::SharesOffset(params) + seat_bytes]);
      break;
    case Lie::kSharesForAllSeats:
      for (size_t seat = 0; seat < params.sharing().shared_seats(); ++seat) {
        secagg::testing::AlterShareWord(&upload[secagg::SharesOffset(params) + seat_bytes * seat]);
      }
      break;
    case Lie::kNoise:
      std::fill(upload.begin(), upload.end(), 0x5a);
      return;
    case Lie::kNoVote:
    case Lie::kSaysNothing:
    case Lie::kIsAbsent:
      return;
  }
  secagg::testing::FixChecksum(upload);
}

void LetLie(LiveFederation& live, const Setting& setting) {
  LiveFederation::Site& liar = live.site(setting.liar);
  liar.away = setting.lie == Lie::kSaysNothing || setting.lie == Lie::kIsAbsent;
  if (setting.lie == Lie::kNoVote) {
    liar.wire.swallows = [](const protocol::RequestBody& body) {
      return std::holds_alternative<protocol::PutVoteRequest>(body);
    };
  } else if (!liar.away) {
    liar.state.spoil_upload = [&live, setting](base::Bytes& upload) {
      Spoil(live, setting.lie, upload);
    };
  }
}

// Published rounds of which each member was left out.
std::map<uint64_t, size_t> Missed(const LiveFederation& live) {
  std::map<uint64_t, size_t> missed;
  for (const server::AttemptRecord& record : live.server->Attempts()) {
    if (record.phase != protocol::AttemptPhase::kPublished) continue;
    const secagg::AttemptNumber& number = record.attempt.number;
    for (const auto& site : live.sites) {
      missed[site->number] +=
          site->said.contains(fmt::format("upload {}/{}", number.round, number.attempt)) ? 0 : 1;
    }
  }
  return missed;
}

void Play(const Setting& setting, bool relayed) {
  constexpr uint32_t kDefault = 0;  // K_min
  LiveFederation live(EverybodyOf(setting.members, kDefault), 3, static_cast<int>(setting.members));
  live.options.abandon_seconds = 100'000;
  live.options.grace_seconds = 10;
  live.RestartServer();
  Wires wires(relayed, live);
  LetLie(live, setting);
  const uint64_t away = setting.liar == 4 ? 3 : 4;  // honest, on a seat
  const uint64_t begun = live.now;
  std::optional<uint64_t> published_again;  // after the return
  uint32_t rounds_before = 0;
  live.between = [&] {
    if (setting.lie == Lie::kSaysNothing) live.server->NotePresence(setting.liar);
    const uint64_t since = live.now - begun;
    live.site(away).away = setting.one_away && since > 20 && since < kAwayFor;
    const server::ServerStatus status = live.server->Status();
    if (since < kAwayFor) rounds_before = status.finished;
    if (!published_again.has_value() && status.finished > rounds_before) published_again = live.now;
    if (!status.last.has_value()) return;
    const server::AttemptRecord& last = *status.last;
    const bool is_open = last.phase == protocol::AttemptPhase::kCollecting ||
                         last.phase == protocol::AttemptPhase::kUnmasking;
    // The one that is absent has returned for a whole attempt.
    if (is_open && !setting.restarts && (!setting.one_away || last.begun > begun + kAwayFor)) {
      EXPECT_LE(live.now - last.begun,
                live.options.collecting_seconds + 2 * live.options.unmasking_seconds + 10);
    }
  };
  const auto finished = [&live, &setting] {
    return std::ranges::all_of(live.sites, [&setting](const auto& site) {
      return site->number == setting.liar || site->session->next_round() == kRounds;
    });
  };
  size_t attempts_before = 0;
  for (int turn = 0; turn < 2000 && !finished(); ++turn) {
    live.Turn(kTurnSeconds);
    const size_t attempts = live.server->Attempts().size();
    if (setting.restarts && std::exchange(attempts_before, attempts) < attempts) {
      wires.RestartServer();
    }
  }
  EXPECT_TRUE(finished());
  const uint64_t honest = setting.liar == 0 ? 1 : 0;
  for (const auto& site : live.sites) {
    if (site->number == setting.liar) continue;
    EXPECT_EQ(site->session->next_round(), kRounds) << site->number;
    EXPECT_EQ(site->session->model(), live.site(honest).session->model()) << site->number;
    EXPECT_EQ(site->ledger->entries().size(), live.server->Attempts().size()) << site->number;
  }
  const auto halvings = static_cast<uint64_t>(std::bit_width(setting.members - 1));
  const uint64_t seats = live.members.committee().size();
  EXPECT_LE(live.server->Attempts().size(), kRounds + 2 * halvings + seats);
  if (setting.one_away && rounds_before < kRounds) {
    ASSERT_TRUE(published_again.has_value());
    // A seat alone ends no wait: its attempt is open, and those that it missed are asked at once.
    const bool is_silent = setting.lie == Lie::kNoVote || setting.lie == Lie::kSaysNothing ||
                           setting.lie == Lie::kIsAbsent;
    // A server that starts again gives an attempt a minute.
    const uint64_t deadline = live.options.collecting_seconds + (setting.restarts ? 60 : 0);
    EXPECT_LE(*published_again - (begun + kAwayFor), is_silent ? deadline : 2000);
  }
  for (const auto& [member, rounds] : Missed(live)) {
    EXPECT_TRUE(member == setting.liar || member == away || rounds <= 2) << member << " " << rounds;
  }
}

class OneLiarTest : public ::testing::TestWithParam<bool> {};

TEST_P(OneLiarTest, EveryRoundIsPublished) {
  std::vector<Setting> settings;
  for (const uint32_t members : {5, 7, 20}) {
    for (int lie = 0; lie < kLies; ++lie) {
      for (const bool one_away : {false, true}) {
        for (const bool restarts : {false, true}) {
          // On a seat, where it has one to be silent on.
          const uint64_t seat = settings.size() % 5;
          const bool late = lie < 5 && settings.size() % 3 == 0;
          settings.push_back(
              {members, static_cast<Lie>(lie), one_away, restarts, late ? members - 1 : seat});
        }
      }
    }
  }
  // A sample.
  const auto step = static_cast<size_t>(base::TestSize("TACET_LIARS_STEP", 96));
  for (size_t i = step == 1 ? 0 : GetParam() ? 50 : 5; i < settings.size(); i += step) {
    const Setting& setting = settings[i];
    SCOPED_TRACE(::testing::Message()
                 << setting.members << " members, member " << setting.liar << ", lie "
                 << static_cast<int>(setting.lie) << (setting.one_away ? ", one seat away" : "")
                 << (setting.restarts ? ", the server starts again" : ""));
    Play(setting, GetParam());
  }
}

// A query needs everybody. It ends with a sentence about what a smaller K_min would do, or whom the
// check of shares suspects.
TEST_P(OneLiarTest, AQueryEndsWithWhatCanBeDone) {
  for (const Lie lie :
       {Lie::kMac, Lie::kPayload, Lie::kSharesForOneSeat, Lie::kSharesForAllSeats}) {
    SCOPED_TRACE(static_cast<int>(lie));
    agreement::ManifestSpec spec = EverybodyOf(7, 7);
    spec.rounds = 1;
    spec.spare_attempts = 1;
    LiveFederation live(spec, 3, 7);
    const Wires wires(GetParam(), live);
    LetLie(live, {.members = 7, .lie = lie});
    live.Run();
    const std::string why = live.server->Status().stopped;
    if (lie == Lie::kSharesForOneSeat) {
      EXPECT_EQ(live.server->Attempts().size(), 1u);
      EXPECT_THAT(why, HasSubstr("all 1 rounds are done"));
      continue;
    }
    EXPECT_EQ(live.server->Attempts().size(), 2u);  // as agreed
    EXPECT_THAT(why, AllOf(HasSubstr("the committee refused the sum"),
                           HasSubstr("min_participants is 7: a smaller one lets")));
    const bool named = lie == Lie::kSharesForAllSeats;
    EXPECT_THAT(why, HasSubstr(named ? "suspects site-2, whom no round can leave out" : "refused"));
  }
}

// Four of five seats must vote. One is silent and one is absent: both are named, and a publication
// follows the return.
TEST_P(OneLiarTest, ASilentSeatAndAnAbsentOneAreNamed) {
  LiveFederation live(EverybodyOf(5, 4), 3, 5);
  live.options.abandon_seconds = 100'000;
  live.RestartServer();
  const Wires wires(GetParam(), live);
  LetLie(live, {.members = 5, .lie = Lie::kNoVote});
  live.RunUntil([&live] { return live.IsAt(protocol::AttemptPhase::kUnmasking); });
  live.site(4).away = true;
  const uint32_t rounds = live.server->Status().finished;
  for (int turn = 0; turn < 60; ++turn) live.Turn(kTurnSeconds);
  EXPECT_EQ(live.server->Status().finished, rounds);
  const std::vector<host::Problem> problems =
      host::FindProblems({.manifest = live.members.manifest(),
                          .status = live.server->Status(),
                          .mail = {},
                          .own = {},
                          .now = live.now});
  std::map<uint64_t, host::ProblemCode> named;
  for (const host::Problem& problem : problems) {
    for (const host::ConcernedMember& one : problem.members) named[one.member] = problem.code;
  }
  EXPECT_THAT(named, ::testing::ElementsAre(std::pair(2, host::ProblemCode::kSeatSilent),
                                            std::pair(4, host::ProblemCode::kSeatAway)));
  live.site(4).away = false;
  const uint64_t back = live.now;
  live.RunUntil([&] { return live.server->Status().finished > rounds; });
  EXPECT_LE(live.now - back, live.options.unmasking_seconds);
}

// Deadlines are shorter than the time after which a member that does not call is absent.
TEST(DeadSeatsTest, AreAbsentAndNeverSilent) {
  LiveFederation live(EverybodyOf(5, 4), 3, 5);
  live.options.abandon_seconds = 100'000;
  live.options.unmasking_seconds = 20;
  live.RestartServer();
  live.RunUntil([&live] { return live.IsAt(protocol::AttemptPhase::kUnmasking); });
  live.site(3).away = live.site(4).away = true;
  std::set<uint64_t> away;
  for (int turn = 0; turn < 40; ++turn) {
    live.Turn(kTurnSeconds);
    for (const host::Problem& problem : host::FindProblems({.manifest = live.members.manifest(),
                                        .status = live.server->Status(),
                                        .mail = {},
                                        .own = {},
                                        .now = live.now})) {
      EXPECT_NE(problem.code, host::ProblemCode::kSeatSilent) << turn;
      if (problem.code != host::ProblemCode::kSeatAway) continue;
      for (const host::ConcernedMember& one : problem.members) away.insert(one.member);
    }
  }
  EXPECT_THAT(away, ::testing::ElementsAre(3, 4));
}

INSTANTIATE_TEST_SUITE_P(Wires, OneLiarTest, ::testing::Bool(), [](const auto& relayed) {
  return std::string(relayed.param ? "Relayed" : "Https");
});

}  // namespace
}  // namespace tacet::live
