// A site that takes part in two federations over one data set, under its officer's policy.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/policy/permission.h"
#include "tests/live/live_members_for_test.h"
#include "tests/live/site_policy_for_test.h"

namespace tacet::live::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kYearly = 4.3;

// Every member in every round; all permitted attempts together cost this epsilon.
// Each epsilon is another federation's.
agreement::ManifestSpec AgreementOf(double epsilon) {
  agreement::ManifestSpec spec = protocol::testing::SmallAgreement();
  spec.federation = {static_cast<uint8_t>(10 * epsilon)};
  spec.sampling.cohort = 5;
  spec.rounds = 12;
  spec.spare_attempts = 2;
  spec.mechanism.noise_stddev = 0;
  spec.privacy.target_epsilon = epsilon;
  return spec;
}

policy::SitePolicy Policy() { return PolicyOfFirstSite(kYearly); }

policy::DataUse Use() { return {.site = "site-0", .records = 10}; }

class SharedBudgetTest : public ::testing::Test {
 protected:
  static ledger::LedgerHeader Header() {
    ledger::LedgerHeader header;
    header.population = "ward 3";
    header.spending.composition = accounting::Composition::kAnyEvents;
    return header;
  }

  // Site 0 of `live` spends the shared data under the policy.
  void Join(LiveFederation& live) {
    policy::Permission permission = protocol::testing::ValueOf(
        policy::Permission::ByPolicy(Policy(), "policy.toml", live.members.manifest(), Use()));
    LiveFederation::Site& site = live.site(0);
    site.shared_ledger = &data_;
    site.permission = std::move(permission);
    live.Restart(site);
  }

  ledger::testing::MemoryLedger data_ = ledger::testing::NewMemoryLedger(Header());
};

// A weaker training is refused before there is a session that could charge or seal.
TEST_F(SharedBudgetTest, AWeakerTrainingChargesAndSealsNothing) {
  LiveFederation live(AgreementOf(4));
  policy::SitePolicy policy = Policy();
  policy.epsilon_per_year = 1e-3;
  const auto refused =
      policy::Permission::ByPolicy(policy, "policy.toml", live.members.manifest(), Use());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(refused.status()),
              HasSubstr("policy.toml refuses epoch 0 of hospitals: privacy.epsilon_per_year"));
}

// No session without the ledger that keeps the policy's budget, or with another training's
// permission.
TEST_F(SharedBudgetTest, APermissionIsForOneTrainingAndItsBudget) {
  LiveFederation live(AgreementOf(4)), other(AgreementOf(4.2));
  Join(live);
  const auto create = [&](const policy::Permission& permission, ledger::PrivacyLedger& ledger) {
    LiveFederation::Site& site = live.site(0);
    return member::MemberSession::Create(
               {.manifest = live.members.manifest(),
                .member = 0,
                .signing_key = live.members.site(0).signing,
                .exchange_keys = live.members.exchange_keys(0),
                .epoch_key = live.members.epoch_key(),
                .server = site.remote,
                .state = site.state,
                .updates = site.updates,
                .log = site.log,
                .ledger = ledger,
                .permission = permission,
                .entropy = site.entropy},
               protocol::testing::ZerosOf(protocol::testing::kSmallDimension))
        .status();
  };
  const absl::Status unlimited = create(*live.site(0).permission, *live.site(1).ledger);
  EXPECT_EQ(unlimited.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(unlimited), HasSubstr("does not keep the budget of the site's policy"));
  const policy::Permission others = protocol::testing::ValueOf(
      policy::Permission::WithoutPolicy(std::nullopt, other.members.manifest()));
  EXPECT_THAT(base::Message(create(others, *live.site(0).ledger)),
              HasSubstr("was asked about another manifest"));
}

// One of them alone stays below the budget of the year.
TEST_F(SharedBudgetTest, OneFederationEnds) {
  LiveFederation live(AgreementOf(4));
  Join(live);
  live.Run();
  EXPECT_EQ(live.site(0).ledger->entries().size(), 12u);
  EXPECT_EQ(live.site(0).log.Count(member::NodeEventKind::kRefused, "upload"), 0u);
}

// The others continue without its data: it abstains and sends zeros, which cost nothing. Its
// processes end at any step.
TEST_F(SharedBudgetTest, ARefusalStopsNobodyElse) {
  agreement::ManifestSpec agreement = AgreementOf(4);
  agreement.sampling.min_participants = 4;
  LiveFederation live(agreement);
  LiveFederation::Site& site = live.site(0);
  Join(live);
  // Five of its rounds were spent elsewhere.
  const ledger::AttemptCost other = [&] {
    LiveFederation spends(AgreementOf(4.2));
    return ledger::AttemptCostOf(spends.members.manifest().manifest(), site.ledger->header(),
                                 ledger::ChargingRule::kAnnouncedAttempts);
  }();
  for (uint32_t round = 0; round < 5; ++round) {
    ASSERT_TRUE(site.ledger->ChargeForSealing(other, {.epoch = 0, .round = round}).ok());
  }
  for (int turn = 0; turn < 200 && !site.done; ++turn) {
    live.Turn(5);
    if (turn % 3 == 0) live.Restart(site);
  }
  live.Run();
  EXPECT_EQ(live.server->Status().attempts, 12u);
  const size_t charged = site.ledger->entries().size() - 5;
  EXPECT_GT(charged, 0u);
  EXPECT_LT(charged, 12u);
  EXPECT_EQ(site.ledger->refusals().size(), 12u - charged);
  EXPECT_GT(site.log.Count(member::NodeEventKind::kRefused, "upload"), 0u);
  for (uint32_t round = 0; round < 12; ++round) EXPECT_EQ(live.published[round].size(), 5u);
  for (const auto& other_site : live.sites) {
    EXPECT_EQ(other_site->session->model(), site.session->model());
  }
  live.ExpectNobodySpokeTwice();
  live.ExpectNoViolations();
}

// Rounds that were charged without the site's update: what it sends for them are zeros.
TEST_F(SharedBudgetTest, WhatIsSentAfterARefusalHoldsNoData) {
  agreement::ManifestSpec agreement = ExactAgreement();
  agreement.sampling.cohort = 5;
  agreement.sampling.min_participants = 5;
  LiveFederation live(agreement);
  LiveFederation::Site& site = live.site(0);
  ledger::AttemptCost cost =
      ledger::AttemptCostOf(live.members.manifest().manifest(), site.ledger->header(), site.rule);
  cost.member = 0;
  const std::vector<secagg::AttemptNumber> before = {{.round = 0}, {.round = 1}};
  ASSERT_TRUE(site.ledger->ChargeAnnounced(cost, before).ok());
  live.Run();
  for (const uint32_t round : {0, 1}) live.given[round].erase(0);
  live.ExpectModels(3, {0, 1, 2, 3, 4});
  EXPECT_EQ(site.ledger->entries().size(), 3u);
  EXPECT_EQ(live.server->Status().attempts, 3u);
}

// Both continue at once, and the site's processes end at any step and begin again. Ledgers that do
// not know of each other would let the data spend both.
TEST_F(SharedBudgetTest, TwoFederationsAreRefusedTogether) {
  LiveFederation first(AgreementOf(4)), second(AgreementOf(4.2));
  std::mt19937 generator(1);
  for (LiveFederation* live : {&first, &second}) {
    live->options.collecting_seconds = 20;
    live->RestartServer();
    Join(*live);
  }
  for (int turn = 0; turn < 120; ++turn) {
    for (LiveFederation* live : {&first, &second}) {
      live->Turn(5);
      if (generator() % 3 == 0) live->Restart(live->site(0));
    }
  }
  auto spent = accounting::PrivacyFilter::Create(
      {.budget_epsilon = kYearly, .composition = accounting::Composition::kAnyEvents});
  ASSERT_OK_AND_ASSIGN(const auto found, ledger::RecoverLedger(data_.ledger, data_.anchor));
  for (const ledger::LedgerEntry& entry : found.entries) {
    EXPECT_EQ(entry.kind, ledger::ChargeKind::kSealing);
    ASSERT_TRUE(spent->Add(entry.event, entry.count).ok());
  }
  EXPECT_LE(spent->Epsilon()->epsilon(), kYearly);
  for (LiveFederation* live : {&first, &second}) {
    const LiveFederation::Site& site = live->site(0);
    const uint64_t charged =
        site.ledger->ChargesOf(live->members.manifest().manifest().federation());
    uint64_t uploads = 0;
    for (const auto& [what, digests] : site.said) uploads += what.starts_with("upload") ? 1 : 0;
    EXPECT_EQ(uploads, 12u);
    EXPECT_EQ(std::ranges::count(site.ledger->refusals(),
                                 live->members.manifest().manifest().federation(),
                                 &ledger::LedgerRefusal::federation),
              12 - static_cast<ptrdiff_t>(charged));
    EXPECT_GT(charged, 0u);
    EXPECT_LT(charged, 12u);
    EXPECT_GT(site.log.Count(member::NodeEventKind::kRefused, "upload"), 0u);
    EXPECT_EQ(spent->ChargesThatFit(site.ledger->entries().back().event, 1).value(), 0u);
    EXPECT_EQ(site.session->next_round(), 12u);  // it still has the model of all the others
    live->ExpectNobodySpokeTwice();
    live->ExpectNoViolations();
  }
}

}  // namespace
}  // namespace tacet::live::testing
