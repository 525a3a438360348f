// One member that lies, alone or while one honest seat is absent, at the defaults of a training in
// which everybody uploads: K_min is one fewer than the members. Every agreed round is published.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/test_size_for_test.h"
#include "tacet/secagg/small_round_for_test.h"
#include "tests/live/live_members_for_test.h"

namespace tacet::live {
namespace {

using testing::ExactAgreement;
using testing::LiveFederation;

enum class Lie : uint8_t {
  kMac,
  kPayload,
  kSharesForOneSeat,
  kSharesForAllSeats,
  kNoise,       // an upload of the right length that the server refuses
  kNoVote,      // uploads, and votes never
  kSaysNothing  // is connected, and that is all
};
constexpr int kLies = 7;

struct Setting {
  uint32_t members = 0;
  Lie lie = Lie::kMac;
  bool one_away = false;
};

constexpr uint32_t kRounds = 6;
constexpr uint64_t kLiar = 2;        // on a seat, where it has one to be silent on
constexpr uint64_t kAway = 4;        // honest, on a seat
constexpr uint64_t kAwayFor = 3000;  // seconds, many deadlines

agreement::ManifestSpec EverybodyOf(uint32_t members) {
  const uint32_t seats = std::min(members, 7U);
  std::vector<uint64_t> on_seats;
  for (uint64_t member = 0; member < seats; ++member) on_seats.push_back(member);
  agreement::ManifestSpec spec = protocol::testing::AgreementWith(2, on_seats);
  spec.sampling.cohort = members;
  spec.sampling.min_participants = members - 1;
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
      return;
  }
  secagg::testing::FixChecksum(upload);
}

void Play(const Setting& setting) {
  LiveFederation live(EverybodyOf(setting.members), 3, static_cast<int>(setting.members));
  live.options.abandon_seconds = 100'000;
  live.options.grace_seconds = 10;
  live.RestartServer();
  LiveFederation::Site& liar = live.site(kLiar);
  const bool connected_only = setting.lie == Lie::kSaysNothing;
  liar.away = connected_only;
  if (setting.lie == Lie::kNoVote) {
    liar.wire.swallows = [](const protocol::RequestBody& body) {
      return std::holds_alternative<protocol::PutVoteRequest>(body);
    };
  } else if (!connected_only) {
    liar.state.spoil_upload = [&](base::Bytes& upload) { Spoil(live, setting.lie, upload); };
  }

  const he::KeySharing& sharing = live.members.terms().aggregation().sharing();
  const uint32_t seats = sharing.shape().seats;
  std::map<uint64_t, std::set<uint32_t>> left_out;  // rounds, by member
  const uint64_t begun = live.now;
  live.between = [&] {
    if (connected_only) live.server->NotePresence(kLiar);
    const uint64_t since = live.now - begun;
    live.site(kAway).away = setting.one_away && since > 20 && since < kAwayFor;
    const server::ServerStatus status = live.server->Status();
    for (const uint64_t member : status.left_out) left_out[member].insert(status.finished);
    if (!status.last.has_value()) return;
    const server::AttemptRecord& last = *status.last;
    const bool is_open = last.phase == protocol::AttemptPhase::kCollecting ||
                         last.phase == protocol::AttemptPhase::kUnmasking;
    // The one that is absent has returned for a whole attempt.
    if (is_open && (!setting.one_away || last.begun > begun + kAwayFor)) {
      EXPECT_LE(live.now - last.begun,
                live.options.collecting_seconds + 2 * live.options.unmasking_seconds + 10);
    }
  };
  const auto finished = [&live] {
    return std::ranges::all_of(live.sites, [](const auto& site) {
      return site->number == kLiar || site->session->next_round() == kRounds;
    });
  };
  for (int turn = 0; turn < 2000 && !finished(); ++turn) live.Turn(5);
  EXPECT_TRUE(finished());
  for (const auto& site : live.sites) {
    if (site->number == kLiar) continue;
    EXPECT_EQ(site->session->next_round(), kRounds) << site->number;
    EXPECT_EQ(site->session->model(), live.sites.front()->session->model()) << site->number;
  }
  const auto halvings = static_cast<uint64_t>(std::bit_width(setting.members - 1));
  EXPECT_LE(live.server->Attempts().size(), kRounds + 2 * halvings + seats);
  // With five seats one of them can name anybody.
  const size_t most = seats >= sharing.threshold() + 2 ? 2 : 1;
  for (const auto& [member, rounds] : left_out) {
    EXPECT_TRUE(member == kLiar || rounds.size() <= most) << member;
  }
}

TEST(OneLiarTest, EveryRoundIsPublished) {
  std::vector<Setting> settings;
  for (const uint32_t members : {5, 7, 20}) {
    for (int lie = 0; lie < kLies; ++lie) {
      for (const bool one_away : {false, true}) {
        settings.push_back({members, static_cast<Lie>(lie), one_away});
      }
    }
  }
  // A sample: every eleventh one.
  const auto step = static_cast<size_t>(base::TestSize("TACET_LIARS_STEP", 11));
  for (size_t i = 0; i < settings.size(); i += step) {
    SCOPED_TRACE(::testing::Message()
                 << settings[i].members << " members, lie " << static_cast<int>(settings[i].lie)
                 << (settings[i].one_away ? ", one seat away" : ""));
    Play(settings[i]);
  }
}

}  // namespace
}  // namespace tacet::live
