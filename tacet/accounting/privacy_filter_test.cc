#include "tacet/accounting/privacy_filter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/accounting/fixed_size_accountant.h"
#include "tacet/accounting/gaussian_mechanism.h"
#include "tacet/accounting/log_moments.h"
#include "tacet/accounting/moments_accountant.h"
#include "tacet/accounting/paper_for_test.h"
#include "tacet/accounting/pld_accountant.h"
#include "tacet/accounting/rdp_accountant.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

using accounting::SamplingEvent;
using ::testing::HasSubstr;

PrivacyFilter Spending(double budget, Composition composition = Composition::kOneEvent) {
  auto spending = PrivacyFilter::Create({.budget_epsilon = budget, .composition = composition});
  EXPECT_TRUE(spending.ok()) << spending.status();
  return *std::move(spending);
}

TEST(PrivacyFilterTest, ThePapersHundredRounds) {
  PrivacyFilter spending = Spending(0);
  ASSERT_TRUE(spending.Add(PaperRound(), 100).ok());
  const auto spent = spending.Epsilon();
  ASSERT_TRUE(spent.ok()) << spent.status();
  EXPECT_NEAR(spent->Of(Accountant::kMoments)->epsilon, 5.3056767961846457, 1e-9);
  EXPECT_FALSE(spent->Of(Accountant::kMoments)->is_proved);         // for cohorts of known size
  EXPECT_NEAR(spent->Of(Accountant::kRdp)->epsilon, 4.9100, 1e-3);  // of the envelope
  EXPECT_NEAR(spent->Of(Accountant::kPld)->epsilon, 4.5288, 1e-3);
  EXPECT_EQ(spent->headline(), spent->Of(Accountant::kFixedSizeTight));
  EXPECT_LE(spent->epsilon(), 4.312);
  for (const Accountant proved : {Accountant::kRdp, Accountant::kPld, Accountant::kFixedSizeTight,
                                  Accountant::kFixedOrderRdp}) {
    EXPECT_TRUE(spent->Of(proved)->is_proved) << AccountantName(proved);
  }
  EXPECT_GE(spent->Of(Accountant::kFixedOrderRdp)->epsilon,
            spent->Of(Accountant::kRdp)->epsilon - 1e-9);
  // One by one is the same.
  PrivacyFilter one_by_one = Spending(0);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(one_by_one.Add(PaperRound()).ok());
  EXPECT_EQ(one_by_one.Epsilon()->epsilon(), spent->epsilon());
  EXPECT_EQ(one_by_one.charges(), 100u);
}

TEST(PrivacyFilterTest, NothingChargedCostsNothing) {
  const PrivacyFilter spending = Spending(1);
  EXPECT_EQ(spending.Epsilon()->epsilon(), 0);
  EXPECT_EQ(spending.charges(), 0u);
}

// Own seals are not amplified; at the amplified rate 28 participations would be far too little.
TEST(PrivacyFilterTest, TheTwoRulesOfCharging) {
  SamplingEvent own = PaperRound();
  own.sampling = accounting::Sampling::kNone;
  own.sampling_rate = 1;
  PrivacyFilter seals = Spending(0);
  ASSERT_TRUE(seals.Add(own, 28).ok());
  EXPECT_NEAR(seals.Epsilon()->epsilon(), 8.57, 0.01);
  PrivacyFilter mixed = Spending(0);
  ASSERT_TRUE(mixed.Add(PaperRound(), 28).ok());
  EXPECT_NEAR(mixed.Epsilon()->epsilon(), 2.18, 0.01);
}

TEST(PrivacyFilterTest, OneEventIsJudgedByTheSmallestValidBound) {
  const double budget = 4.6;  // above PLD (4.5288) and the tight accountant (4.31) of 100 rounds
  PrivacyFilter spending = Spending(budget);
  uint64_t charged = 0;
  absl::Status room;
  while ((room = spending.CheckRoomFor(PaperRound())).ok()) {
    ASSERT_TRUE(spending.Add(PaperRound()).ok());
    ASSERT_LT(++charged, 200u);
  }
  EXPECT_GT(charged, 103u);  // the last that PLD allows
  const auto best = [](uint64_t count) {
    const auto stream = accounting::Repeated(PaperRound(), count);
    return std::min(accounting::PldEpsilon(stream, 1e-5)->epsilon,
                    (*accounting::FixedSizeEpsilon(stream, 1e-5))->epsilon);
  };
  EXPECT_LE(best(charged), budget);
  EXPECT_GT(best(charged + 1), budget);
  EXPECT_EQ(room.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(base::Message(room), HasSubstr("after 1 more, the budget is 4.6 at delta 1e-05"));
  EXPECT_THAT(base::Message(room), HasSubstr("0 more of this kind fit"));
  EXPECT_EQ(*Spending(budget).ChargesThatFit(PaperRound(), 1000), charged);
  EXPECT_EQ(*Spending(budget).ChargesThatFit(PaperRound(), 7), 7u);
  EXPECT_EQ(*Spending(0).ChargesThatFit(PaperRound(), 1000), 1000u);
}

TEST(PrivacyFilterTest, AnyEventsAreJudgedByOneFixedOrder) {
  SamplingEvent louder = PaperRound();
  louder.noise_stddev = 4;
  PrivacyFilter spending = Spending(4.6, Composition::kAnyEvents);
  ASSERT_TRUE(spending.Add(PaperRound(), 50).ok());
  const uint64_t fits = *spending.ChargesThatFit(louder, 1000);
  EXPECT_GT(fits, 5u);
  ASSERT_TRUE(spending.Add(louder, fits).ok());
  EXPECT_FALSE(spending.CheckRoomFor(louder).ok());
  const auto spent = spending.Epsilon();
  const EpsilonBound* const rdp = spent->Of(Accountant::kRdp);
  EXPECT_FALSE(rdp->is_proved);
  EXPECT_EQ(spent->headline(), spent->Of(Accountant::kFixedOrderRdp));
  EXPECT_LE(spent->epsilon(), 4.6);
  // The order is the whole stream's best but for little, and never gives less than the minimum.
  EXPECT_GE(spent->epsilon(), rdp->epsilon);
  EXPECT_LT(spent->epsilon(), 1.07 * rdp->epsilon);
}

SamplingEvent Gaussian(double noise) {
  SamplingEvent event = PaperRound();
  event.sampling = Sampling::kNone;
  event.sampling_rate = 1;
  event.noise_stddev = noise;
  return event;
}

// The charges that the sum of moments of one order alone would admit at the whole delta.
uint64_t FitsByOneOrder(const SamplingEvent& event, double budget, double delta) {
  const double log_term = -std::log(delta);
  const double l = std::sqrt(log_term) / (std::sqrt(log_term + budget) - std::sqrt(log_term));
  const double moment = LogMomentReal(event, l);
  uint64_t good = 0;
  for (uint64_t step = uint64_t{1} << 40; step > 0; step /= 2) {
    const double moments = static_cast<double>(good + step) * moment;
    if (EpsilonOfLogMoment(moments, l, std::log(delta)) <= budget) good += step;
  }
  return good;
}

// Where nothing is sampled, at half of delta still more charges fit than by one order at all of it.
TEST(PrivacyFilterTest, GaussianChargesAreJudgedAsOneGaussian) {
  for (const double delta : {1e-3, 1e-5, 1e-8, 1e-12}) {
    for (const double budget : {0.05, 0.3, 1.0, 3.0, 10.0}) {
      const SamplingEvent event = Gaussian(300 / budget);
      auto spending = *PrivacyFilter::Create(
          {.budget_epsilon = budget, .delta = delta, .composition = Composition::kAnyEvents});
      const uint64_t fits = *spending.ChargesThatFit(event, uint64_t{1} << 40);
      const uint64_t before = FitsByOneOrder(event, budget, delta);
      EXPECT_GT(fits, before) << budget << " at " << delta;
      RecordProperty(fmt::format("gain_{}_{}", budget, delta),
                     fmt::format("{}", static_cast<double>(fits) / static_cast<double>(before)));
      ASSERT_TRUE(spending.Add(event, fits).ok());
      EXPECT_EQ(spending.JudgedBound().accountant, Accountant::kGaussianFilter);
      EXPECT_LE(spending.JudgedBound().epsilon, budget);
      // Any split into events of other sizes costs the same.
      auto split = *PrivacyFilter::Create(
          {.budget_epsilon = budget, .delta = delta, .composition = Composition::kAnyEvents});
      ASSERT_TRUE(split.Add(event, fits / 2).ok());
      ASSERT_TRUE(split.Add(Gaussian(600 / budget), 4 * (fits - fits / 2)).ok());
      EXPECT_NEAR(split.JudgedBound().epsilon, spending.JudgedBound().epsilon, 1e-6 * budget);
      EXPECT_EQ(split.Epsilon()->headline()->accountant, Accountant::kGaussianFilter);
    }
  }
}

// A sampled charge makes a ledger one of moments; all that was charged before counts in them.
TEST(PrivacyFilterTest, OneSampledChargeMakesMomentsTheJudge) {
  PrivacyFilter spending = Spending(3, Composition::kAnyEvents);
  const SamplingEvent event = Gaussian(100);
  const uint64_t fits = *spending.ChargesThatFit(event, 1'000'000);
  ASSERT_TRUE(spending.Add(event, fits).ok());
  // More than moments allow: nothing sampled fits any more, and no bound became smaller.
  EXPECT_EQ(*spending.ChargesThatFit(PaperRound(), 10), 0u);
  ASSERT_TRUE(spending.Add(PaperRound()).ok());
  EXPECT_EQ(spending.JudgedBound().accountant, Accountant::kFixedOrderRdp);
  EXPECT_GT(spending.JudgedBound().epsilon, 3);
  EXPECT_FALSE(spending.CheckRoomFor(event).ok());
  EXPECT_EQ(spending.Epsilon()->Of(Accountant::kGaussianFilter), nullptr);
  // With room for moments the ledger continues.
  PrivacyFilter mixed = Spending(3, Composition::kAnyEvents);
  ASSERT_TRUE(mixed.Add(event, fits / 4).ok());
  const uint64_t sampled = *mixed.ChargesThatFit(PaperRound(), 1000);
  EXPECT_GT(sampled, 0u);
  ASSERT_TRUE(mixed.Add(PaperRound(), sampled).ok());
  EXPECT_LE(mixed.JudgedBound().epsilon, 3);
  EXPECT_FALSE(mixed.CheckRoomFor(event, fits).ok());
}

// An adversary that chooses, after half of its moments, by which of the two filters it continues:
// with Gaussian releases until their sum of squares is spent, or with one rare large loss until the
// moments are. With the whole delta for either filter it breaks the budget; with half it
// cannot.
TEST(PrivacyFilterTest, WhoChoosesBetweenTheFiltersStaysWithinDelta) {
  constexpr double kBudget = 1, kDelta = 1e-5;
  const auto delta_reached = [&](double judged_delta) {
    const double log_term = -std::log(judged_delta);
    const double l = std::sqrt(log_term) / (std::sqrt(log_term + kBudget) - std::sqrt(log_term));
    const auto root = [](auto&& above, double low, double high) {
      for (int turn = 0; turn < 100; ++turn) {
        const double middle = 0.5 * (low + high);
        (above(middle) ? high : low) = middle;
      }
      return low;
    };
    const double moments = root(
        [&](double sum) { return EpsilonOfLogMoment(sum, l, std::log(judged_delta)) > kBudget; }, 0,
        1e3);
    const double squares = root(
        [&](double sum) { return GaussianEpsilon(std::sqrt(sum), judged_delta) > kBudget; }, 0, 10);
    double most = 0;
    for (const double share : {0.2, 0.5, 0.8}) {
      const double first = share * moments / (0.5 * l * (l + 1));  // its sum of squares
      const double rest = squares - first;
      // The rest of the moments in one loss x of probability p e^{l x} = e^rest - 1, which loses
      // nothing otherwise. Of all x this one reaches most.
      const double beyond = std::log1p(1 / l);
      const double mass = std::expm1((1 - share) * moments);
      const auto rare = [&](double lost) {
        const double x = kBudget - lost + beyond;
        const double p = mass * std::exp(-l * x);
        return x > 0 && p < 0.1 ? p * -std::expm1(-beyond) : 0.0;
      };
      const auto gaussian = [&](double lost) {
        const auto tail = [](double x) { return 0.5 * std::erfc(x / std::sqrt(2.0)); };
        const double epsilon = kBudget - lost, mu = std::sqrt(rest);
        return tail(epsilon / mu - mu / 2) - std::exp(epsilon) * tail(epsilon / mu + mu / 2);
      };
      double reached = 0;
      const double deviation = std::sqrt(first), step = 1e-3;
      for (double z = -12; z < 12; z += step) {
        const double lost = first / 2 + deviation * z;
        reached += step * std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi) *
                   std::max(gaussian(lost), rare(lost));
      }
      most = std::max(most, reached);
    }
    return most;
  };
  EXPECT_GT(delta_reached(kDelta), 1.1 * kDelta);
  EXPECT_LE(delta_reached(kDelta / 2), kDelta);
}

// For one Gaussian the fixed order is the best one at the budget, whatever the budget.
TEST(PrivacyFilterTest, TheFixedOrderIsGoodAtTheBudget) {
  for (const double budget : {0.1, 1.0, 5.0, 30.0}) {
    SamplingEvent event = PaperRound();
    event.sampling = accounting::Sampling::kNone;
    event.sampling_rate = 1;
    event.noise_stddev = 300 / budget;
    PrivacyFilter spending = Spending(budget, Composition::kAnyEvents);
    const uint64_t fits = *spending.ChargesThatFit(event, uint64_t{1} << 40);
    const auto best = accounting::RdpEpsilon(accounting::Repeated(event, fits + 1), 1e-5);
    EXPECT_GT(best->epsilon, 0.85 * budget) << budget;
    EXPECT_GT(fits, 10u);
  }
}

TEST(PrivacyFilterTest, OneEventRefusesAnother) {
  PrivacyFilter spending = Spending(5);
  SamplingEvent other = PaperRound();
  other.noise_stddev = 7;
  EXPECT_TRUE(spending.CheckRoomFor(other).ok());  // asking fixes nothing
  ASSERT_TRUE(spending.Add(PaperRound()).ok());
  const absl::Status refused = spending.Add(other);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(refused), HasSubstr("noise 7"));
  EXPECT_EQ(spending.charges(), 1u);
}

TEST(PrivacyFilterTest, WithoutNoiseEpsilonIsInfinite) {
  SamplingEvent none = PaperRound();
  none.noise_stddev = 0;
  for (const Composition composition : {Composition::kOneEvent, Composition::kAnyEvents}) {
    PrivacyFilter unlimited = Spending(0, composition);
    EXPECT_TRUE(unlimited.CheckRoomFor(none).ok());
    ASSERT_TRUE(unlimited.Add(none).ok());
    EXPECT_TRUE(std::isinf(unlimited.Epsilon()->epsilon()));
    PrivacyFilter limited = Spending(1e9, composition);
    const absl::Status refused = limited.CheckRoomFor(none);
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(base::Message(refused), HasSubstr("epsilon is infinite"));
  }
}

TEST(PrivacyFilterTest, NobodySampledCostsNothing) {
  SamplingEvent nobody = PaperRound();
  nobody.sampling_rate = 0;
  nobody.noise_stddev = 0;
  PrivacyFilter spending = Spending(1);
  EXPECT_TRUE(spending.CheckRoomFor(nobody, 1000).ok());
  ASSERT_TRUE(spending.Add(nobody, 1000).ok());
  EXPECT_EQ(spending.Epsilon()->epsilon(), 0);
}

TEST(PrivacyFilterTest, CountsDoNotWrapAround) {
  PrivacyFilter spending = Spending(1, Composition::kAnyEvents);
  ASSERT_TRUE(spending.Add(PaperRound(), std::numeric_limits<uint64_t>::max()).ok());
  ASSERT_TRUE(spending.Add(PaperRound(), 2).ok());
  EXPECT_EQ(spending.charges(), std::numeric_limits<uint64_t>::max());
  EXPECT_FALSE(spending.CheckRoomFor(PaperRound()).ok());
}

TEST(PrivacyFilterTest, TermsOutOfRangeAreNamed) {
  const auto refusal = [](const SpendingTerms& terms) {
    const auto spending = PrivacyFilter::Create(terms);
    EXPECT_EQ(spending.status().code(), absl::StatusCode::kInvalidArgument);
    return base::Message(spending.status());
  };
  EXPECT_THAT(refusal({.budget_epsilon = -1}), HasSubstr("budget is epsilon -1"));
  EXPECT_THAT(refusal({.budget_epsilon = std::nan("")}), HasSubstr("budget is epsilon nan"));
  EXPECT_THAT(refusal({.delta = 0}), HasSubstr("delta is 0"));
  EXPECT_THAT(refusal({.composition = static_cast<Composition>(9)}), HasSubstr("number 9"));
  EXPECT_THAT(base::Message(ParseComposition("some").status()), HasSubstr("one-event or any"));
  EXPECT_EQ(*ParseComposition("any-events"), Composition::kAnyEvents);
}

}  // namespace
}  // namespace tacet::accounting
