// Draws of cohorts: by a server that likes the data of one member, and by members in secret.
// members.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/accounting/privacy_filter.h"
#include "tacet/agreement/cohort.h"
#include "tacet/ledger/attempt_cost.h"
#include "tests/live/live_members_for_test.h"

namespace tacet::live::testing {
namespace {

using ledger::ChargingRule;

constexpr uint64_t kMembers = 20;
constexpr uint64_t kCohort = 4;
constexpr uint64_t kVictim = 7;
constexpr uint32_t kRounds = 16;

agreement::ManifestSpec Agreement() {
  agreement::ManifestSpec spec = protocol::testing::SmallAgreement();
  spec.sampling.cohort = kCohort;
  spec.sampling.min_participants = kCohort - 1;
  spec.rounds = kRounds;
  spec.spare_attempts = 0;
  spec.mechanism.noise_stddev = 6;
  return spec;
}

// Draws until the victim is in the cohort: all else is random.
class BiasedDraws final : public crypto::Entropy {
 public:
  void Fill(std::span<uint8_t> bytes) override {
    do {
      entropy_.Fill(bytes);
    } while (!Invites(bytes));
  }

 private:
  class Repeated final : public crypto::Entropy {
   public:
    explicit Repeated(std::span<const uint8_t> bytes) : bytes_(bytes) {}
    void Fill(std::span<uint8_t> bytes) override {
      std::ranges::copy(bytes_.first(bytes.size()), bytes.begin());
    }

   private:
    std::span<const uint8_t> bytes_;
  };

  static bool Invites(std::span<const uint8_t> key) {
    if (key.size() < 32) return true;  // no draw of a cohort
    Repeated repeated(key);
    crypto::Random random = crypto::Random::FromEntropy(repeated);
    return std::ranges::binary_search(
        agreement::DrawCohort(accounting::Sampling::kFixedSize, kMembers, kCohort, random),
        kVictim);
  }

  crypto::InsecureSeededEntropy entropy_{5, "biased"};
};

class CohortDrawTest : public ::testing::Test {
 protected:
  CohortDrawTest() : live_(Agreement(), 3, kMembers) {
    for (const auto& site : live_.sites) {
      site->rule = ledger::DefaultRule(live_.members.manifest().manifest().spec());
      live_.Restart(*site);
    }
  }

  void Bias() {
    live_.draws = &draws_;
    live_.RestartServer();
  }
  LiveFederation::Site& victim() { return live_.site(kVictim); }
  double Charged() {
    return protocol::testing::ValueOf(victim().ledger->spending().Epsilon()).epsilon();
  }
  // For all rounds: what the victim's data cost at this rate.
  double Epsilon(accounting::Sampling sampling, double rate) {
    const agreement::ManifestSpec& agreed = live_.members.manifest().manifest().spec();
    accounting::PrivacyFilter filter = protocol::testing::ValueOf(
        accounting::PrivacyFilter::Create({.delta = agreed.privacy.delta}));
    accounting::SamplingEvent event = ledger::AttemptEvent(agreed, ChargingRule::kOwnSeals);
    event.sampling = sampling;
    event.sampling_rate = rate;
    EXPECT_TRUE(filter.Add(event, kRounds).ok());
    return protocol::testing::ValueOf(filter.Epsilon()).epsilon();
  }
  uint64_t Sealed() { return static_cast<uint64_t>(victim().updates.asked); }
  size_t Violations() {
    return victim().log.Count(member::NodeEventKind::kViolation, "cohort-bias");
  }

  LiveFederation live_;
  BiasedDraws draws_;
};

// A charge that counts an honest draw, as in 0.1, is less than half of what was given away.
TEST_F(CohortDrawTest, AMemberInvitedEveryTimeIsChargedWhatItGave) {
  Bias();
  live_.Run(400);
  ASSERT_EQ(live_.server->Status().finished, kRounds);
  EXPECT_EQ(Sealed(), kRounds);
  EXPECT_GE(Charged(), Epsilon(accounting::Sampling::kNone, 1));
  EXPECT_LT(Epsilon(accounting::Sampling::kFixedSize, double{kCohort} / kMembers), Charged() / 2);
  // (1/5)^9 < 2^-20 <= (1/5)^8.
  EXPECT_EQ(Violations(), kRounds - 8);
  EXPECT_EQ(live_.site(kVictim + 1).log.Count(member::NodeEventKind::kViolation, "cohort-bias"),
            0u);
}

// The rule that charges every attempt is not less.
TEST_F(CohortDrawTest, AnnouncedAttemptsDoNotRelyOnTheDrawEither) {
  Bias();
  victim().rule = ChargingRule::kAnnouncedAttempts;
  live_.Restart(victim());
  live_.Run(400);
  EXPECT_EQ(Sealed(), kRounds);
  EXPECT_GE(Charged(), Epsilon(accounting::Sampling::kNone, 1));
}

TEST_F(CohortDrawTest, AnHonestDrawIsNotAccused) {
  live_.Run(400);
  ASSERT_EQ(live_.server->Status().finished, kRounds);
  live_.ExpectNoViolations();
  uint64_t given = 0;
  for (const auto& site : live_.sites) {
    EXPECT_EQ(site->ledger->entries().size(), static_cast<size_t>(site->updates.asked));
    given += static_cast<uint64_t>(site->updates.asked);
  }
  EXPECT_EQ(given, kRounds * kCohort);
}

// A restart forgets neither invitations nor attempts.
TEST_F(CohortDrawTest, NewProcessesRememberTheInvitations) {
  Bias();
  live_.RunUntil([&] {
    live_.Restart(victim());
    return Violations() > 0;
  });
  const member::MemberMemory memory = protocol::testing::ValueOf(
      member::ReadMemberMemory(protocol::testing::ValueOf(victim().state.LoadMemory())));
  EXPECT_EQ(memory.invitations, memory.watched_attempts);
  EXPECT_EQ(memory.invitations, 9u);
}

// Members toss secret coins, and all upload. What an upload costs the disk must not show the coin.
class SecretCoinTest : public ::testing::Test {
 protected:
  static agreement::ManifestSpec Agreement() {
    agreement::ManifestSpec spec = protocol::testing::SmallAgreement();
    spec.sampling.method = accounting::Sampling::kPoisson;
    spec.sampling.dummy_uploads = true;
    spec.sampling.min_participants = 0;
    spec.rounds = 8;
    return spec;
  }

  LiveFederation live_{Agreement()};
};

// Nine flushes for yes and two for no, where own seals were charged.
TEST_F(SecretCoinTest, OwnSealsAreRefused) {
  LiveFederation::Site& site = live_.site(1);
  EXPECT_EQ(ledger::DefaultRule(live_.members.manifest().manifest().spec()),
            ChargingRule::kAnnouncedAttempts);
  EXPECT_TRUE(live_.TryToRestart(site).ok());
  site.rule = ChargingRule::kOwnSeals;
  const absl::Status refused = live_.TryToRestart(site);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(refused),
              ::testing::HasSubstr("own-seals, but in this federation a member's coin is secret"));
}

TEST_F(SecretCoinTest, YesAndNoWriteTheSame) {
  struct Cost {
    int writes = 0;
    size_t ledger_bytes = 0;
    int trained = 0;
    auto operator<=>(const Cost&) const = default;
  };
  std::map<uint32_t, std::set<Cost>> costs;  // by round
  std::map<uint32_t, std::set<bool>> coins;
  std::map<uint64_t, Cost> before;
  std::set<std::pair<uint64_t, uint32_t>> uploaded;
  const auto spent = [](const LiveFederation::Site& site) {
    return Cost{site.state.writes, site.memory_ledger.ledger.size(), site.updates.asked};
  };
  for (const auto& kept : live_.sites) {
    LiveFederation::Site& site = *kept;
    before[site.number] = spent(site);
    site.wire.watch = [&](const protocol::RequestBody& body) {
      const auto* put = std::get_if<protocol::PutPartRequest>(&body);
      if (put == nullptr || put->name.kind != protocol::BulkKind::kUpload) return;
      const uint32_t round = put->name.attempt.number.round;
      if (!uploaded.insert({site.number, round}).second) return;  // another part
      const Cost now = spent(site);
      Cost& last = before[site.number];
      costs[round].insert({now.writes - last.writes, now.ledger_bytes - last.ledger_bytes,
                           now.trained - last.trained});
      last = now;
      coins[round].insert(
          protocol::testing::ValueOf(
              member::ReadMemberMemory(protocol::testing::ValueOf(site.state.LoadMemory())))
              .participation == member::Participation::kYes);
    };
  }
  live_.Run(400);
  ASSERT_EQ(costs.size(), 8u);
  size_t mixed = 0;
  for (const auto& [round, seen] : costs) {
    EXPECT_EQ(seen.size(), 1u) << round;
    mixed += coins[round].size() == 2;
  }
  EXPECT_GE(mixed, 4u);
}

}  // namespace
}  // namespace tacet::live::testing
