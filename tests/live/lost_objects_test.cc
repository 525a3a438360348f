// A server that loses its large objects: the folder with them is removed, its whole host is lost
// and another one continues on the same database, or the power fails everywhere as well. The
// federation finishes without a person.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/test_size_for_test.h"
#include "tests/live/stored_federation_for_test.h"

namespace tacet::live::testing {
namespace {

using protocol::AttemptPhase;

// When the objects are lost.
enum class Moment : uint8_t {
  kTwoUploads,
  kClosed,  // no seat has fetched the closed round
  kOneVote,
  kOneShare,
  kPublished,  // nobody has applied the sum
  kAppliedByOne,
  kAppliedByAllButOne,  // the last one is offline
  kNextAttempt,         // which collects, and one member is offline that has missed the last
};
constexpr int kMoments = 8;

enum class Loss : uint8_t {
  kFolder,      // removed while the server runs
  kAtARestart,  // removed while it does not
  kDamage,      // each file is cut short while it does not
  kHost,        // the folder is another machine's
  kPower        // as at a restart, and every site's machine is started again, too
};

std::string NameOf(Moment moment) {
  static constexpr std::array<const char*, kMoments> kNames = {
      "TwoUploads",         "Closed",     "OneVote", "OneShare", "Published", "AppliedByOne",
      "AppliedByAllButOne", "NextAttempt"};
  return kNames.at(static_cast<size_t>(moment));
}

std::string NameOf(Loss loss) {
  static constexpr std::array<const char*, 5> kNames = {"folder", "restart", "damage", "host",
                                                        "power"};
  return kNames.at(static_cast<size_t>(loss));
}

// Everybody uploads, and nobody can be missed.
agreement::ManifestSpec Everybody() {
  agreement::ManifestSpec spec = ExactAgreement();
  spec.sampling.cohort = 5;
  spec.sampling.min_participants = 5;
  return spec;
}

class LostObjectsTest : public ::testing::TestWithParam<std::tuple<Database, Loss, Moment>> {
 protected:
  static constexpr uint64_t kAway = 2;

  static Database database() { return std::get<0>(GetParam()); }
  static Loss loss() { return std::get<1>(GetParam()); }
  static Moment moment() { return std::get<2>(GetParam()); }

  void Lose() {
    if (loss() == Loss::kFolder) return stored_.RemoveBlobs();
    stored_.Stop();
    if (loss() == Loss::kAtARestart || loss() == Loss::kPower) stored_.RemoveBlobs();
    if (loss() == Loss::kDamage) stored_.DamageBlobs();
    if (loss() == Loss::kHost) stored_.LoseHost();
    live_.now += 120;  // until somebody, or something, starts a server
    stored_.Start();
    if (loss() != Loss::kPower) return;
    for (const auto& site : live_.sites) {
      site->anchor = {};
      live_.Restart(*site);
    }
  }
  // Nobody holds a closed round that no seat has fetched. Where every machine starts again, seats
  // say nothing in the attempt that is open when they come, or that began when most of them had
  // applied the last one. That attempt alone is lost.
  static bool IsAttemptLost() {
    if (loss() != Loss::kPower) return moment() == Moment::kClosed;
    return moment() != Moment::kPublished && moment() != Moment::kAppliedByOne;
  }

  uint32_t Applied() const {
    return static_cast<uint32_t>(std::ranges::count_if(
        live_.sites, [](const auto& site) { return site->session->next_round() == 1; }));
  }
  bool IsNow() const {
    const server::ServerStatus status = live_.server->Status();
    switch (moment()) {
      case Moment::kTwoUploads:
        return status.accepted == 2 && live_.IsAt(AttemptPhase::kCollecting);
      case Moment::kClosed:
        return live_.IsAt(AttemptPhase::kUnmasking);
      case Moment::kOneVote:
        return status.votes == 1 && live_.IsAt(AttemptPhase::kUnmasking);
      case Moment::kOneShare:
        return status.unmask_shares == 1 && live_.IsAt(AttemptPhase::kUnmasking);
      case Moment::kPublished:
        return live_.IsAt(AttemptPhase::kPublished);
      case Moment::kAppliedByOne:
        return Applied() == 1;
      case Moment::kAppliedByAllButOne:
        return Applied() == 4;
      case Moment::kNextAttempt:
        return status.finished == 1 && live_.IsAt(AttemptPhase::kCollecting);
    }
    return false;
  }
  // One step of one member at a time.
  void RunUntilMoment() {
    const bool misses = moment() >= Moment::kAppliedByAllButOne;
    for (int turn = 0; turn < 100; ++turn) {
      live_.Tick(1);
      if (IsNow()) return;
      for (auto& site : live_.sites) {
        // It is connected, so that an attempt begins, and hears nothing.
        const bool is_published = live_.server->Status().finished > 0;
        if (misses && is_published && site->number == kAway) continue;
        site->last = site->session->Step().status();
        if (IsNow()) return;
      }
    }
    FAIL() << "the moment never came";
  }

  // Before any member says something.
  void ExpectNamedWithinTenSeconds() {
    for (int second = 0; second < 10 && live_.server->Status().lost.empty(); ++second) {
      live_.Tick(1);
    }
    EXPECT_FALSE(live_.server->Status().lost.empty());
  }

  StoredFederation stored_{database(), Everybody()};
  LiveFederation& live_ = stored_.live();
};

// A sample, unless every case is asked for.
bool IsPlayed() {
  static int number = 0;
  return number++ % base::TestSize("TACET_LOST_OBJECTS_STEP", 3) == 0;
}

TEST_P(LostObjectsTest, TheFederationFinishesWithoutAPerson) {
  if (!IsPlayed()) return;
  live_.restarts = false;  // sites continue as they are
  RunUntilMoment();
  ASSERT_FALSE(HasFatalFailure());
  const uint64_t begun = live_.now;
  Lose();
  ExpectNamedWithinTenSeconds();
  live_.Run(400);
  const server::ServerStatus status = live_.server->Status();
  EXPECT_EQ(status.finished, 3u);
  EXPECT_LT(live_.now - begun, 1200u);
  for (const auto& site : live_.sites) {
    EXPECT_EQ(site->session->next_round(), 3u) << site->number;
    EXPECT_EQ(site->session->model(), live_.site(0).session->model()) << site->number;
    EXPECT_EQ(site->ledger->ChargesOf(live_.members.manifest().manifest().federation(), 0),
              status.attempts);
  }
  live_.ExpectNoViolations();
  live_.ExpectNobodySpokeTwice();
  EXPECT_TRUE(status.left_out.empty());
  EXPECT_TRUE(status.lost.empty());
  EXPECT_EQ(status.attempts, IsAttemptLost() ? 4u : 3u);
}

std::string CaseName(const ::testing::TestParamInfo<std::tuple<Database, Loss, Moment>>& info) {
  return NameOf(std::get<0>(info.param)) + "_" + NameOf(std::get<1>(info.param)) + "_" +
         NameOf(std::get<2>(info.param));
}

constexpr auto kAllMoments = [] {
  std::array<Moment, kMoments> all{};
  for (int i = 0; i < kMoments; ++i) all[static_cast<size_t>(i)] = static_cast<Moment>(i);
  return all;
}();

INSTANTIATE_TEST_SUITE_P(Sqlite, LostObjectsTest,
                         ::testing::Combine(::testing::Values(Database::kSqlite),
                                            ::testing::Values(Loss::kFolder, Loss::kPower,
                                                              Loss::kAtARestart, Loss::kDamage),
                                            ::testing::ValuesIn(kAllMoments)),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, LostObjectsTest,
                         ::testing::Combine(::testing::Values(Database::kPostgres),
                                            ::testing::Values(Loss::kHost),
                                            ::testing::ValuesIn(kAllMoments)),
                         CaseName);

}  // namespace
}  // namespace tacet::live::testing
