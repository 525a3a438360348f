// Proportions: against the truth of rows, with hidden parts, and under either law of noise.
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/seeded_random.h"
#include "tacet/dp/discrete_laplace.h"
#include "tacet/statistics/answers_for_test.h"

namespace tacet::statistics {
namespace {

QuestionSpec Smokers(bool by_sex = false) {
  QuestionSpec question{.name = "smokers", .kind = QuestionKind::kProportion};
  if (by_sex) question.groups = {.column = "sex", .categories = {"f", "m"}};
  question.yes = {"smokes", "yes"};
  return question;
}
const std::vector<std::string> kSmokerColumns = {"smokes", "sex"};

std::shared_ptr<const Query> SmokerQuery(const QuestionSpec& question, double floor = 0) {
  return MakeQuery({question}, floor, {ValuesOf("smokes one-of=yes|TRUE,no,once")});
}

// `women` and `men` rows of which the first smoke, and one of each that cannot be read.
TextRows SmokerRows(int women, int smoking_women, int men, int smoking_men) {
  TextRows rows = {{"?", "f"}, {"yes", ""}};
  for (int i = 0; i < women; ++i) rows.push_back({i < smoking_women ? "TRUE" : "once", "f"});
  for (int i = 0; i < men; ++i) rows.push_back({i < smoking_men ? "yes" : "no", "m"});
  return rows;
}

TEST(ProportionTest, IsThatOfTheRowsThatCanBeRead) {
  const auto all = SmokerQuery(Smokers());
  const TextRows rows = SmokerRows(40, 10, 60, 30);
  Answer answer = Answers(*all, SumOf(all, kSmokerColumns, rows), 0)[0];
  EXPECT_NEAR(*Find(answer, "count").value, 101, 1e-6);  // the row without a sex counts here
  EXPECT_NEAR(*Find(answer, "positives").value, 41, 1e-6);
  EXPECT_NEAR(*Find(answer, "proportion").value, 41 / 101.0, 1e-9);
  EXPECT_NEAR(*Find(answer, "left out").value, 1, 1e-6);
  // Without noise the interval is Wilson's of 41 in 101.
  EXPECT_NEAR(Find(answer, "proportion").interval->low, 0.3153, 1e-4);
  EXPECT_NEAR(Find(answer, "proportion").interval->high, 0.50345, 1e-4);

  const auto by_sex = SmokerQuery(Smokers(true));
  answer = Answers(*by_sex, SumOf(by_sex, kSmokerColumns, rows), 0)[0];
  EXPECT_NEAR(*Find(answer, "proportion", "f").value, 0.25, 1e-9);
  EXPECT_NEAR(*Find(answer, "proportion", "m").value, 0.5, 1e-9);
  EXPECT_NEAR(*Find(answer, "left out").value, 2, 1e-6);
}

// For 50 rows with 3 that say yes: their number, that of the others, and the ratio are hidden.
TEST(ProportionTest, PartsBelowTheFloorAreHidden) {
  const auto query = SmokerQuery(Smokers(true), 10);
  const TextRows rows = SmokerRows(50, 3, 50, 48);
  const Answer answer = Answers(*query, SumOf(query, kSmokerColumns, rows), 0)[0];
  for (const char* group : {"f", "m"}) {
    EXPECT_TRUE(Find(answer, "count", group).value.has_value());
    EXPECT_FALSE(Find(answer, "positives", group).value.has_value());
    EXPECT_FALSE(Find(answer, "proportion", group).value.has_value());
  }
}

// The share of intervals that hold the proportion of a population of which rows are drawn. Wilson's
// own holds it in 92.9 % where 0.3 of 30 rows are drawn. 2,000 releases: one that holds in 95 %
// does so in fewer than 92 % with probability 1e-8, one that holds in 90 % in more with 2e-3.
TEST(ProportionTest, IntervalsHoldTheProportionOfThePopulation) {
  constexpr int kReleases = 2000;
  const auto query = SmokerQuery(Smokers());
  const double amplitude = query->questions()[0].strategy->largest_entry();
  for (const double truth : {0.0, 0.02, 0.3, 0.97}) {
    for (const int rows : {30, 300}) {
      for (const double error : {0.0, 6.0}) {  // of a count
        crypto::Random random = crypto::SeededRandom(11, "proportion");
        int held = 0, shown = 0;
        for (int release = 0; release < kReleases; ++release) {
          double yes = 0;
          for (int row = 0; row < rows; ++row) yes += crypto::Uniform(random) < truth ? 1 : 0;
          std::vector<double> sum = {yes, rows - yes, 0};
          for (double& value : sum) {
            const double u = 1 - crypto::Uniform(random);
            value +=
                error * std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * crypto::Uniform(random));
            value *= amplitude;
          }
          const Estimate share = Find(Answers(*query, sum, error * amplitude)[0], "proportion");
          if (!share.value.has_value()) continue;
          ++shown;
          EXPECT_LE(0, share.interval->low);
          EXPECT_GE(1, share.interval->high);
          held += share.interval->low <= truth + 1e-9 && truth - 1e-9 <= share.interval->high;
        }
        EXPECT_GE(shown, kReleases - 2);
        EXPECT_GE(held, 0.92 * shown) << truth << " of " << rows << ", error " << error;
      }
    }
  }
}

// Under discrete Laplace noise the question moves by two cells at most, and the interval is wider
// than the normal one.
TEST(ProportionTest, DiscreteLaplaceNoiseFits) {
  QuerySpec spec{.questions = {Smokers()},
                 .noise_law = dp::NoiseLaw::kDiscreteLaplace,
                 .values = {ValuesOf("smokes one-of=yes|TRUE,no,once")}};
  const auto query = std::make_shared<const Query>(*Query::Create(spec));
  EXPECT_EQ(query->questions()[0].replace_one, 2);
  std::set<std::vector<double>> vectors = {std::vector<double>(3)};
  for (const char* smokes : {"yes", "no", "?"}) {
    vectors.insert(SumOf(query, kSmokerColumns, {{smokes, "f"}}));
  }
  double farthest = 0;
  for (const auto& a : vectors) {
    for (const auto& b : vectors) {
      double distance = 0;
      for (size_t i = 0; i < 3; ++i) distance += std::abs(a[i] - b[i]);
      farthest = std::max(farthest, distance);
    }
  }
  EXPECT_EQ(farthest, 2);
  const ReleasedNoise laplace{.law = dp::NoiseLaw::kDiscreteLaplace,
                              .stddev = dp::DiscreteLaplaceStddev(0.2),
                              .step = 1,
                              .rate = 0.2};
  const auto width = [&](const ReleasedNoise& noise) {
    const auto answers = *AnswersOf(*query, std::vector<double>{300, 700, 0}, noise);
    const Range interval = *Find(answers[0], "proportion").interval;
    return interval.high - interval.low;
  };
  EXPECT_GT(width(laplace), 1.01 * width({.stddev = laplace.stddev}));
}

}  // namespace
}  // namespace tacet::statistics
