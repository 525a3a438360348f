// A server that likes the data of one member, and invites it more often than an honest draw does.
#include <algorithm>
#include <cstdint>
#include <span>

#include "gtest/gtest.h"

#include "tacet/accounting/privacy_filter.h"
#include "tacet/agreement/cohort.h"
#include "tacet/ledger/attempt_cost.h"
#include "tests/live/live_federation.h"

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
  // Of all rounds: what the victim's data cost at this rate.
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

}  // namespace
}  // namespace tacet::live::testing
