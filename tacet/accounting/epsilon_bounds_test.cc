#include "tacet/accounting/epsilon_bounds.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/accounting/paper_for_test.h"
#include "tacet/accounting/pld_accountant.h"
#include "tacet/accounting/rdp_accountant.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Accountant> NamesOf(const EpsilonBounds& bounds) {
  std::vector<Accountant> names;
  for (const EpsilonBound& row : bounds.rows) names.push_back(row.accountant);
  return names;
}

TEST(EpsilonBoundsTest, HasARowForEachAccountantAndTheSmallestProvedLeads) {
  const std::vector<RepeatedEvent> stream = Repeated(PaperRound(), 100);
  const auto bounds = BoundEpsilon(stream, 1e-5);
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  EXPECT_THAT(NamesOf(*bounds), ElementsAre(Accountant::kMoments, Accountant::kRdp,
                                            Accountant::kPld, Accountant::kFixedSizeTight));
  EXPECT_EQ(bounds->Of(Accountant::kRdp)->epsilon, RdpEpsilon(stream, 1e-5)->epsilon);
  EXPECT_EQ(bounds->Of(Accountant::kPld)->epsilon, PldEpsilon(stream, 1e-5)->epsilon);
  EXPECT_EQ(bounds->headline(), bounds->Of(Accountant::kFixedSizeTight));
  EXPECT_EQ(bounds->epsilon(), bounds->headline()->epsilon);
}

// Answers are remembered, each for its own question alone: no part of it may be left out.
TEST(EpsilonBoundsTest, ARememberedAnswerIsThatOfItsOwnQuestion) {
  constexpr Accountant kRdp[] = {Accountant::kRdp};
  constexpr double kDelta = 1e-5;
  SamplingEvent hidden = PaperRound();
  hidden.sampling = Sampling::kPoisson;
  const std::vector<RepeatedEvent> first = {
      {.round = {{0.5, hidden}, {0.5, PaperRound()}}, .count = 10}};
  std::vector<std::vector<RepeatedEvent>> others(8, first);
  others[0][0].count = 11;
  others[1][0].round[0].probability = 0.4;
  others[1][0].round[1].probability = 0.6;
  others[2][0].round[1].event.sampling_rate = 0.6;
  others[3][0].round[0].event.noise_stddev = 5;
  for (WeightedEvent& part : others[4][0].round) part.event.clip_norm = 2;
  for (WeightedEvent& part : others[5][0].round) {
    part.event.neighbouring = Neighbouring::kZeroOut;
  }
  others[6] = Repeated({.sampling = Sampling::kPoissonKnownSize,
                        .sampling_rate = 0.1,
                        .noise_stddev = 6,
                        .pool = 100,
                        .least = 8},
                       10);
  others[7] = others[6];
  others[7][0].round[0].event.least = 9;
  for (int turn = 0; turn < 2; ++turn) {  // unknown, then remembered
    EXPECT_EQ(BoundEpsilon(first, kDelta, kRdp)->epsilon(), RdpEpsilon(first, kDelta)->epsilon);
    EXPECT_EQ(BoundEpsilon(first, 1e-6, kRdp)->epsilon(), RdpEpsilon(first, 1e-6)->epsilon);
    for (const std::vector<RepeatedEvent>& other : others) {
      const double epsilon = RdpEpsilon(other, kDelta)->epsilon;
      EXPECT_NE(epsilon, RdpEpsilon(first, kDelta)->epsilon);
      EXPECT_EQ(BoundEpsilon(other, kDelta, kRdp)->epsilon(), epsilon);
    }
  }
}

// A convention can be the smallest number; it never leads.
TEST(EpsilonBoundsTest, AConventionNeverLeads) {
  constexpr Accountant kMoments[] = {Accountant::kMoments};
  const auto known_size = BoundEpsilon(Repeated(PaperRound(), 100), 1e-5, kMoments);
  ASSERT_TRUE(known_size.ok());
  EXPECT_FALSE(known_size->rows.front().is_proved);
  EXPECT_THAT(known_size->rows.front().note, HasSubstr("not proved"));
  EXPECT_EQ(known_size->headline(), nullptr);
  EXPECT_TRUE(std::isinf(known_size->epsilon()));
  SamplingEvent hidden = PaperRound();
  hidden.sampling = Sampling::kPoisson;
  EXPECT_TRUE(BoundEpsilon(Repeated(hidden, 100), 1e-5, kMoments)->rows.front().is_proved);
}

TEST(EpsilonBoundsTest, StopsWhereABoundIsEnough) {
  constexpr Accountant kOrder[] = {Accountant::kMoments, Accountant::kRdp, Accountant::kPld};
  const std::vector<RepeatedEvent> stream = Repeated(PaperRound(), 100);
  // Moments alone would be below 5.4 as well, but they prove nothing here.
  EXPECT_THAT(NamesOf(*BoundEpsilon(stream, 1e-5, kOrder, 5.4)),
              ElementsAre(Accountant::kMoments, Accountant::kRdp));
  EXPECT_THAT(NamesOf(*BoundEpsilon(stream, 1e-5, kOrder, 4.7)),
              ElementsAre(Accountant::kMoments, Accountant::kRdp, Accountant::kPld));
}

TEST(EpsilonBoundsTest, AccountantsThatWouldTakeTooLongAreLeftOut) {
  const auto kinds = [](size_t count) {
    std::vector<RepeatedEvent> stream;
    for (size_t i = 0; i < count; ++i) {
      const SamplingEvent event{.sampling = Sampling::kNone,
                                .noise_stddev = 100 + static_cast<double>(i)};
      stream.push_back(Repeated(event, 1).front());
    }
    return stream;
  };
  EXPECT_NE(BoundEpsilon(kinds(kMaxPldRounds), 1e-5)->Of(Accountant::kPld), nullptr);
  const auto many = BoundEpsilon(kinds(kMaxPldRounds + 1), 1e-5);
  EXPECT_EQ(many->Of(Accountant::kPld), nullptr);
  EXPECT_NE(many->Of(Accountant::kRdp), nullptr);
  EXPECT_EQ(BoundEpsilon(kinds(kMaxRdpRounds + 1), 1e-5)->Of(Accountant::kRdp), nullptr);
}

TEST(EpsilonBoundsTest, NothingCostsNothingAndNoNoiseHasNoBound) {
  const auto nothing = BoundEpsilon({}, 1e-5);
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(nothing->epsilon(), 0);
  SamplingEvent silent = PaperRound();
  silent.noise_stddev = 0;
  const auto unbounded = BoundEpsilon(Repeated(silent, 1), 1e-5);
  ASSERT_TRUE(unbounded.ok());
  for (const EpsilonBound& row : unbounded->rows) EXPECT_TRUE(std::isinf(row.epsilon));
}

TEST(EpsilonBoundsTest, RefusesWhatIsOutOfRange) {
  const auto refused = [](const std::vector<RepeatedEvent>& stream, double delta,
                          std::span<const Accountant> accountants = kAccountants) {
    const auto bounds = BoundEpsilon(stream, delta, accountants);
    EXPECT_EQ(bounds.status().code(), absl::StatusCode::kInvalidArgument);
    return base::Message(bounds.status());
  };
  EXPECT_THAT(refused(Repeated(PaperRound(), 1), 0), HasSubstr("delta is 0"));
  SamplingEvent event = PaperRound();
  event.sampling_rate = 2;
  EXPECT_THAT(refused(Repeated(event, 1), 1e-5), HasSubstr("sampling_rate is 2"));
  constexpr Accountant kFilters[] = {Accountant::kFixedOrderRdp};
  EXPECT_THAT(refused(Repeated(PaperRound(), 1), 1e-5, kFilters),
              HasSubstr("cannot be asked of accountant fixed-order-rdp"));
}

}  // namespace
}  // namespace tacet::accounting
