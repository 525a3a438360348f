#include "tacet/agreement/charged_terms.h"

#include <algorithm>
#include <utility>

#include "gtest/gtest.h"

#include "tacet/accounting/observers.h"
#include "tacet/base/status_for_test.h"

namespace tacet::agreement {
namespace {

// 20 clients of which every other one is drawn by its own coin, in secret.
ManifestSpec Terms() {
  ManifestSpec spec;
  spec.model = "logistic";
  spec.dimension = 60;
  spec.rounds = 30;
  spec.spare_attempts = 0;
  spec.sampling.clients = 20;
  spec.sampling.cohort = 10;
  spec.sampling.method = accounting::Sampling::kPoisson;
  spec.sampling.dummy_uploads = true;
  spec.mechanism.noise_stddev = 4;
  spec.mechanism.coordinate_bound = 0.3;
  spec.mechanism.scale = 1e-3;
  return spec;
}

Manifest ManifestOf(const ManifestSpec& spec) {
  return base::ValueOf(Manifest::CreateWithoutMembers(spec));
}

double EpsilonOf(std::span<const ChargedTerms> permitted) {
  const auto guarantees = base::ValueOf(GuaranteesOf(permitted));
  const auto quickly = base::ValueOf(GuaranteesOf(permitted, accounting::Extent::kHeadline));
  EXPECT_EQ(guarantees.epsilon(), quickly.epsilon());
  return guarantees.epsilon();
}

std::vector<ChargedTerms> Charged(const ManifestSpec& spec, uint64_t attempts) {
  return {{.plan = ManifestOf(spec), .attempts = attempts}};
}

// Somebody looks at the models and stops after three rounds: 1.732 is what a run of three rounds
// would have cost.
TEST(ChargedTermsTest, AStoppedTrainingHasTheGuaranteeOfAWholeOne) {
  ManifestSpec terms = Terms();
  terms.sampling.min_participants = 20;
  const std::vector<ChargedTerms> stopped = Charged(terms, 3);
  EXPECT_NEAR(*ChargedEpsilon(stopped), 1.732, 5e-4);
  EXPECT_GE(EpsilonOf(PermittedTerms(stopped)), 6.459);
  EXPECT_EQ(EpsilonOf(PermittedTerms(stopped)), EpsilonOf(PermittedTerms(stopped.front().plan)));
  EXPECT_EQ(EpsilonOf(PermittedTerms(stopped)), EpsilonOf(PermittedTerms(Charged(terms, 30))));
}

// A server that sees sums with the help of colluding members may let an attempt fail because of
// what it saw. So spare attempts that were not needed count.
TEST(ChargedTermsTest, SpareAttemptsCountWhetherTheyWereNeededOrNot) {
  ManifestSpec spec = Terms();
  spec.spare_attempts = 10;
  const std::vector<ChargedTerms> whole = Charged(spec, 30);
  EXPECT_EQ(AttemptsIn(PermittedTerms(whole)), 40u);
  spec.rounds = 40;
  spec.spare_attempts = 0;
  EXPECT_EQ(EpsilonOf(PermittedTerms(whole)), EpsilonOf(PermittedTerms(Charged(spec, 1))));
}

// Nobody gives data to an attempt beyond the budget, so no observer learns more.
TEST(ChargedTermsTest, ABudgetIsTheGuaranteeWhereMoreIsPermitted) {
  ManifestSpec spec = Terms();
  spec.privacy.budget_epsilon = 3;
  const std::vector<ChargedTerms> permitted = PermittedTerms(Charged(spec, 3));
  EXPECT_EQ(EpsilonOf(permitted), 3);
  const accounting::Guarantees guarantees = *GuaranteesOf(permitted);
  EXPECT_EQ(guarantees.headline()->accountant, accounting::Accountant::kBudget);
  for (const accounting::PrivacyRow& row : guarantees.rows) {
    if (row.hypothetical || row.standing != accounting::Standing::kGuarantee) continue;
    EXPECT_LE(*guarantees.HeadlineOf(row.observer)->epsilon, 3)
        << accounting::ObserverName(row.observer);
  }
  // Somebody who learns what the protocol hides is not bounded by it.
  EXPECT_TRUE(std::ranges::any_of(guarantees.rows, [](const accounting::PrivacyRow& row) {
    return row.hypothetical && *row.epsilon > 3 && row.releases == 30;
  }));
  // A budget that is never reached changes nothing.
  spec.privacy.budget_epsilon = 7;
  EXPECT_EQ(EpsilonOf(PermittedTerms(Charged(spec, 3))),
            EpsilonOf(PermittedTerms(Charged(Terms(), 3))));
}

// Terms that changed after ten attempts: the present ones permit the rest.
TEST(ChargedTermsTest, ChangedTermsPermitWhatTheyLeave) {
  ManifestSpec louder = Terms();
  louder.mechanism.noise_stddev = 6;
  std::vector<ChargedTerms> charged = Charged(Terms(), 10);
  charged.push_back({.plan = ManifestOf(louder), .attempts = 2});
  const std::vector<ChargedTerms> permitted = PermittedTerms(charged);
  EXPECT_EQ(permitted[0].attempts, 10u);
  EXPECT_EQ(permitted[1].attempts, 20u);
  EXPECT_GT(EpsilonOf(permitted), EpsilonOf(PermittedTerms(Charged(louder, 2))));
  EXPECT_LE(EpsilonOf(permitted), EpsilonOf(PermittedTerms(Charged(Terms(), 2))));
  // Where more were charged than the present terms permit, those count.
  charged[1].attempts = 25;
  EXPECT_EQ(AttemptsIn(PermittedTerms(charged)), 35u);
}

// Own seals do not tell how many rounds there were under earlier terms. Amplified observers then
// count all rounds under the worst of the terms.
TEST(ChargedTermsTest, OwnSealsUnderEarlierTermsAreNotAllOfTheirRounds) {
  ManifestSpec spec = Terms();
  spec.sampling.method = accounting::Sampling::kFixedSize;
  spec.sampling.dummy_uploads = false;
  ManifestSpec louder = spec;
  louder.mechanism.noise_stddev = 12;
  std::vector<ChargedTerms> charged = Charged(spec, 5);
  charged.push_back({.plan = ManifestOf(louder), .attempts = 2});
  const auto judged_rows_of = [&](accounting::Observer observer) {
    const auto guarantees = base::ValueOf(GuaranteesOf(PermittedTerms(charged)));
    return std::ranges::count_if(guarantees.rows, [&](const accounting::PrivacyRow& row) {
      return row.observer == observer &&
             (row.accountant == accounting::Accountant::kFixedOrderRdp ||
              row.accountant == accounting::Accountant::kGaussianFilter);
    });
  };
  EXPECT_EQ(judged_rows_of(accounting::Observer::kExternal), 1);
  EXPECT_EQ(judged_rows_of(accounting::Observer::kCohortAware), 1);
  charged[0].own_seals = charged[1].own_seals = true;
  EXPECT_EQ(judged_rows_of(accounting::Observer::kExternal), 0);
  EXPECT_EQ(judged_rows_of(accounting::Observer::kCohortAware), 1);
}

}  // namespace
}  // namespace tacet::agreement
