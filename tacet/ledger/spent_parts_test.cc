#include "tacet/ledger/spent_parts.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"

namespace tacet::ledger {
namespace {

using accounting::Composition;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kNow = 1'800'000'000;
constexpr uint64_t kDay = base::kSecondsADay;

// A charge of federation 7 under this epoch, so many days ago.
LedgerEntry Charged(uint32_t epoch, uint64_t days, double noise = 20, uint8_t federation = 7) {
  LedgerEntry entry;
  entry.federation = {federation};
  entry.label.number.epoch = epoch;
  entry.event.sampling = accounting::Sampling::kPoisson;
  entry.event.sampling_rate = 1;
  entry.event.clip_norm = 1;
  entry.event.noise_stddev = noise;
  entry.time = kNow - days * kDay;
  return entry;
}

const Names& NamesOfHospitals() {
  static const auto& names = *new Names{
      {{7}, {.name = "hospitals", .trainings = {{0, "training of logistic"}, {2, "query"}}}}};
  return names;
}

TEST(SpentPartsTest, TrainingsAndQueriesAreApartAndHaveNames) {
  const std::vector<LedgerEntry> entries = {Charged(0, 30), Charged(1, 20), Charged(2, 10),
                                            Charged(0, 5, 20, 9), Charged(3, 1)};
  ASSERT_OK_AND_ASSIGN(const auto parts, PartsOf(entries, NamesOfHospitals(),
                                                 {.composition = Composition::kAnyEvents}));
  ASSERT_THAT(parts, ElementsAre(Field(&SpentPart::what, "hospitals, training of logistic"),
                                 Field(&SpentPart::what, "hospitals, query"),
                                 Field(&SpentPart::what, "federation 0900000000000000")));
  EXPECT_THAT(parts, ElementsAre(Field(&SpentPart::charges, 2), Field(&SpentPart::charges, 2),
                                 Field(&SpentPart::charges, 1)));
  // By the bound that refuses, whose order follows from the budget.
  ASSERT_OK_AND_ASSIGN(const auto judged,
                       PartsOf(std::vector{Charged(0, 30), Charged(1, 20)}, NamesOfHospitals(),
                               {.budget_epsilon = 3, .composition = Composition::kAnyEvents}));
  const YearlyBudget year{.epsilon = 3, .delta = 1e-5, .source = "policy"};
  ASSERT_OK_AND_ASSIGN(const YearSpent same,
                       SpentInYear(std::vector{Charged(0, 30), Charged(1, 20)}, year,
                                   Composition::kAnyEvents, kNow));
  EXPECT_EQ(judged[0].epsilon, same.spent);
  // Two charges cost the same wherever they are, and more than one.
  EXPECT_EQ(parts[0].epsilon, parts[1].epsilon);
  EXPECT_GT(parts[0].epsilon, parts[2].epsilon);
  EXPECT_EQ(parts[1].first, kNow - 10 * kDay);
  EXPECT_EQ(parts[1].last, kNow - kDay);
}

TEST(SpentPartsTest, AChargeLeavesTheYearAfter366Days) {
  const YearlyBudget year{.epsilon = 1, .delta = 1e-5, .source = "policy"};
  const std::vector<LedgerEntry> entries = {Charged(0, 400), Charged(0, 365), Charged(0, 3)};
  ASSERT_OK_AND_ASSIGN(const YearSpent today,
                       SpentInYear(entries, year, Composition::kAnyEvents, kNow));
  EXPECT_EQ(today.until, kNow + kDay);
  ASSERT_OK_AND_ASSIGN(const YearSpent before,
                       SpentInYear(entries, year, Composition::kAnyEvents, today.until - 1));
  EXPECT_EQ(before.spent, today.spent);
  ASSERT_OK_AND_ASSIGN(const YearSpent after,
                       SpentInYear(entries, year, Composition::kAnyEvents, today.until));
  EXPECT_LT(after.spent, today.spent);
  EXPECT_GT(after.left(), today.left());
  ASSERT_OK_AND_ASSIGN(const YearSpent later,
                       SpentInYear(entries, year, Composition::kAnyEvents, kNow + 400 * kDay));
  EXPECT_EQ(later.spent, 0);
  EXPECT_EQ(later.until, 0u);
  EXPECT_EQ(later.left(), 1);
}

// The remainder is the charge that the ledger would still allow.
TEST(SpentPartsTest, TheYearIsSpentWhereTheLedgerRefuses) {
  const YearlyBudget year{.epsilon = 0.8, .delta = 1e-5, .source = "policy"};
  const LedgerHeader header{
      .population = "main", .identity = {1}, .spending = {.composition = Composition::kAnyEvents}};
  ASSERT_OK_AND_ASSIGN(LedgerBudgets budgets, LedgerBudgets::Create(header, year));
  std::vector<LedgerEntry> entries;
  const AttemptCost cost{.event = Charged(0, 0).event};
  while (budgets.CheckRoom(cost, entries, [] { return kNow; }).ok()) {
    ASSERT_LT(entries.size(), 1000u);
    entries.push_back(Charged(0, 0));
    ASSERT_TRUE(budgets.Add(entries.back()).ok());
  }
  ASSERT_FALSE(entries.empty());
  ASSERT_OK_AND_ASSIGN(const YearSpent spent,
                       SpentInYear(entries, year, Composition::kAnyEvents, kNow));
  EXPECT_LE(spent.spent, year.epsilon);
  entries.push_back(Charged(0, 0));
  ASSERT_OK_AND_ASSIGN(const YearSpent beyond,
                       SpentInYear(entries, year, Composition::kAnyEvents, kNow));
  EXPECT_GT(beyond.spent, year.epsilon);
  EXPECT_EQ(beyond.left(), 0);
}

TEST(SpentPartsTest, NothingWasSpent) {
  ASSERT_OK_AND_ASSIGN(const auto parts, PartsOf({}, {}, {}));
  EXPECT_THAT(parts, IsEmpty());
}

}  // namespace
}  // namespace tacet::ledger
