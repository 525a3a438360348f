#include "tacet/ledger/shared_budget.h"

#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <sys/wait.h>
#include <unistd.h>

#include "tacet/accounting/epsilon_bounds.h"
#include "tacet/base/status.h"
#include "tacet/base/status_for_test.h"

namespace tacet::ledger {
namespace {

using accounting::Neighbouring;
using accounting::Unit;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Eight sites that give all their records in each of ten rounds.
agreement::ManifestSpec Fit(double noise = 60) {
  agreement::ManifestSpec spec;
  spec.model = "logistic";
  spec.dimension = 60;
  spec.sampling.clients = spec.sampling.cohort = 8;
  spec.sampling.record_rate = 1;
  spec.sampling.expected_batch = 400;
  spec.rounds = 10;
  spec.spare_attempts = 0;
  spec.privacy.unit = Unit::kRecord;
  spec.mechanism.coordinate_bound = 32;
  spec.mechanism.noise_stddev = noise;
  spec.members.resize(8);
  return base::ValueOf(agreement::Manifest::Create(spec)).spec();
}

std::shared_ptr<SharedBudget> Budget(double epsilon = 4) {
  return base::ValueOf(SharedBudget::Create({.unit = Unit::kRecord, .epsilon = epsilon}));
}

// The run, from its charge to its end.
void RunAll(SharedBudget& budget, const agreement::ManifestSpec& agreed) {
  const auto charge = base::ValueOf(budget.Charge("run", agreed));
  charge->Made(agreed.rounds);
}

double Spent(const SharedBudget& budget) { return base::ValueOf(budget.Spent()); }

TEST(SharedBudgetTest, EqualRunsCostLessThanTheirSum) {
  const auto budget = Budget();
  RunAll(*budget, Fit());
  const double one = Spent(*budget);
  EXPECT_GT(one, 0.3);
  for (int i = 1; i < 10; ++i) RunAll(*budget, Fit());
  EXPECT_LT(Spent(*budget), 0.75 * 10 * one);
  EXPECT_GT(Spent(*budget), one * std::sqrt(10));
}

TEST(SharedBudgetTest, ARunIsChargedBeforeItBeginsAndGivesBackWhatItDidNotMake) {
  const auto budget = Budget();
  auto charge = base::ValueOf(budget->Charge("run", Fit()));
  const double all = Spent(*budget);
  EXPECT_GT(all, 0);
  charge->Made(3);
  EXPECT_EQ(Spent(*budget), all);
  charge.reset();
  const double three = Spent(*budget);
  EXPECT_LT(three, all);
  EXPECT_GT(three, 0);
  ASSERT_OK_AND_ASSIGN(const auto runs, budget->Runs());
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].attempts, 3u);
  EXPECT_TRUE(runs[0].ended);
  // One that claims more than it was permitted gives nothing back.
  base::ValueOf(budget->Charge("run", Fit()))->Made(99);
  ASSERT_OK_AND_ASSIGN(const auto both, budget->Runs());
  EXPECT_EQ(both[1].attempts, 10u);
}

TEST(SharedBudgetTest, ARefusedRunCostsNothingAndTheAdviceFits) {
  const auto budget = Budget(1);
  RunAll(*budget, Fit());
  const double before = Spent(*budget);
  const absl::Status refused = budget->Charge("large", Fit(10)).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  const std::string text(base::Message(refused));
  EXPECT_THAT(text, AllOf(HasSubstr("before it spends"), HasSubstr("noise_multiplier of ")));
  EXPECT_EQ(Spent(*budget), before);
  EXPECT_EQ(base::ValueOf(budget->Runs()).size(), 1u);
  const double advised = std::stod(text.substr(text.find("noise_multiplier of ") + 20));
  EXPECT_TRUE(budget->Charge("as advised", Fit(advised)).ok());
}

TEST(SharedBudgetTest, OneMoreReleaseOfWhatRemainsFits) {
  const auto budget = Budget(2);
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const double left, budget->Remaining());
    EXPECT_LE(left, 2);
    // The noise of ten rounds that cost this epsilon.
    double low = 1;
    double high = 1e5;
    while (high > low * 1.0001) {
      const double noise = std::sqrt(low * high);
      const auto event = AttemptEvent(Fit(noise), ChargingRule::kAnnouncedAttempts);
      const auto bounds = accounting::BoundEpsilon(accounting::Repeated(event, 10), 1e-5);
      (bounds->epsilon() <= left * (i == 2 ? 1 : 0.5) ? high : low) = noise;
    }
    RunAll(*budget, Fit(high));
  }
  EXPECT_LT(base::ValueOf(budget->Remaining()), 0.05);
  EXPECT_LE(Spent(*budget), 2);
}

TEST(SharedBudgetTest, OtherUnitsAndNeighboursAreRefusedByName) {
  const auto budget = base::ValueOf(SharedBudget::Create({.unit = Unit::kPerson, .epsilon = 4}));
  EXPECT_THAT(std::string(base::Message(budget->Charge("run", Fit()).status())),
              HasSubstr("unit is record in this run and person in the session"));
  const auto other = base::ValueOf(SharedBudget::Create(
      {.unit = Unit::kRecord, .neighbouring = Neighbouring::kZeroOut, .epsilon = 4}));
  EXPECT_THAT(std::string(base::Message(other->Charge("run", Fit()).status())),
              HasSubstr("neighbouring is replace-one in this run and zero-out in the session"));
  EXPECT_EQ(SharedBudget::Create({.epsilon = 0}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SharedBudget::Create({.epsilon = 1, .delta = 1}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(SharedBudgetTest, ARunWithoutNoiseIsRefused) {
  agreement::ManifestSpec agreed = Fit();
  agreed.mechanism.noise_stddev = 0;
  agreed.mechanism.without_noise = true;
  EXPECT_EQ(Budget()->Charge("run", agreed).status().code(), absl::StatusCode::kResourceExhausted);
}

// The budget has room for four runs; threads try eight times as often.
TEST(SharedBudgetTest, ThreadsSpendTheBudgetOnce) {
  const auto alone = Budget(1.2);
  int fit = 0;
  for (auto charge = alone->Charge("run", Fit()); charge.ok();
       charge = alone->Charge("run", Fit())) {
    (*charge)->Made(10);
    ++fit;
  }
  ASSERT_GT(fit, 2);
  const auto budget = Budget(1.2);
  std::atomic<int> admitted = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < fit; ++j) {
        const auto charge = budget->Charge("run", Fit());
        if (!charge.ok()) continue;
        (*charge)->Made(10);
        ++admitted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted, fit);
  EXPECT_EQ(Spent(*budget), Spent(*alone));
}

TEST(SharedBudgetTest, AForkedProcessSpendsNothing) {
  const auto budget = Budget();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool refused =
        budget->Charge("run", Fit()).status().code() == absl::StatusCode::kFailedPrecondition &&
        !budget->Spent().ok() && !budget->Remaining().ok() && !budget->Runs().ok();
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(base::ValueOf(budget->Runs()).size(), 0u);
}

}  // namespace
}  // namespace tacet::ledger
