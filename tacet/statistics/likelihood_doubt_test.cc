// Thresholds below which a model in rounds is suppressed, each found by bisection. Releases are
// exact or made by hand, so that one rule alone decides.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/statistics/answers_for_test.h"

namespace tacet::statistics {
namespace {

constexpr double kSampleRows = 4000;
constexpr double kNoNoise = 1e-6;
const std::string kGroup = "sex = m";

// An outcome of two groups, or numbers of events.
std::shared_ptr<const Query> GroupModel(GlmFamily family) {
  QuestionSpec question{.name = "model", .kind = QuestionKind::kGlm};
  const bool is_odds = family == GlmFamily::kBinomial;
  question.formula = "y ~ sex";
  question.family = family;
  question.variables = {{.column = "sex"},
                        {.column = "y", .bounds = BoundedColumn{"y", 0, is_odds ? 1.0 : 10.0}}};
  auto query = Query::Create({.questions = {question},
                              .max_units = static_cast<uint64_t>(kSampleRows),
                              .values = {ValuesOf("sex one-of=f,m")}});
  EXPECT_TRUE(query.ok()) << query.status();
  return std::make_shared<const Query>(*std::move(query));
}

// All releases of a model of an intercept and one column, of 1 and -1 for the groups.
class HandMade {
 public:
  // Half of the rows are in each group, and the first step leads to `coefficient` in the column. In
  // later releases the gradient is 0, and all informations are alike.
  HandMade(GlmFamily family, double coefficient)
      : query_(GroupModel(family)), plan_(query_->questions()[0]) {
    released_.resize(query_->dimension());
    const bool is_odds = family == GlmFamily::kBinomial;
    const double mean = is_odds ? 0.25 : 0.5;  // information of a row where the steps begin
    // Counts are a tenth of their bound on average.
    const double events = is_odds ? 0.5 : 0.1, rate = is_odds ? mean : events;
    for (uint32_t round = 0; round < query_->rounds(); ++round) {
      At(round, 0) = kSampleRows * plan_.count;
      SetInformation(round, kSampleRows * (round == 0 ? mean : rate));
    }
    SetGradient(0, 0, is_odds ? 0 : kSampleRows * (events - mean));
    SetGradient(0, 1, kSampleRows * rate * coefficient);
  }

  const QuestionPlan& plan() const { return plan_; }
  double rows_information() const { return kSampleRows * (plan_.is_rate() ? 0.1 : 0.25); }
  void SetGradient(uint32_t round, size_t place, double value) {
    At(round, 1 + place) = value * plan_.amplitude;
  }
  // The information of the intercept and of the column.
  void SetInformation(uint32_t round, double value) {
    At(round, 3) = At(round, 5) = value * plan_.square;
  }
  void SetCutMeans(double share) {
    for (uint32_t round = 1; round < query_->rounds(); ++round) {
      At(round, plan_.measured() - 2) = share * kSampleRows * plan_.cut;
    }
  }
  Answer AnswerWith(double noise) const { return Answers(*query_, released_, noise)[0]; }
  bool IsShown(double noise) const {
    return Find(AnswerWith(noise), "coefficient", kGroup).value.has_value();
  }

 private:
  double& At(uint32_t round, size_t place) {
    return released_[round * query_->round_dimension() + plan_.first + place];
  }

  std::shared_ptr<const Query> query_;
  const QuestionPlan& plan_;
  std::vector<double> released_;
};

// The largest number in (0, most] at which the coefficients are shown.
double LargestShown(double most, const std::function<bool(double)>& shows) {
  double low = kNoNoise, high = most;
  EXPECT_TRUE(shows(low));
  EXPECT_FALSE(shows(high));
  for (int halving = 0; halving < 40; ++halving) {
    const double middle = (low + high) / 2;
    (shows(middle) ? low : high) = middle;
  }
  return low;
}

// The pooled information is that of three releases, so its noise is 1 / root(3) of one's.
double NoiseOfPooled(const QuestionPlan& plan, double noise) {
  return noise / plan.square / std::sqrt(3.0);
}

TEST(LikelihoodDoubtTest, TheInformationIsOneAndAHalfDeviations) {
  // Ages are in the middle of wide bounds: many events at both ends, little information.
  QuestionSpec question{.name = "model", .kind = QuestionKind::kGlm};
  question.formula = "y ~ age";
  question.family = GlmFamily::kBinomial;
  question.variables = {{.column = "age", .bounds = BoundedColumn{"age", 0, 100}},
                        {.column = "y", .bounds = BoundedColumn{"y", 0, 1}}};
  const auto query = Query::Create({.questions = {question}, .max_units = 4000});
  ASSERT_TRUE(query.ok()) << query.status();
  TextRows rows;
  for (int i = 0; i < kSampleRows; ++i) {
    rows.push_back({i % 2 == 0 ? "45" : "55", i % 4 < 2 ? "0" : "1"});
  }
  const std::vector<double> block =
      SumOf(std::make_shared<const Query>(*query), {"age", "y"}, rows);
  // No effect: all releases are at even odds.
  std::vector<double> releases;
  for (uint32_t round = 0; round < query->rounds(); ++round) {
    releases.insert(releases.end(), block.begin(), block.begin() + query->round_dimension());
  }
  const double noise = LargestShown(1e5, [&](double of) {
    return Find(Answers(*query, releases, of)[0], "coefficient", "age").value.has_value();
  });
  const double least = kSampleRows * 0.25 * 0.01;
  EXPECT_NEAR(least / NoiseOfPooled(query->questions()[0], noise), 1.5, 0.02);
  EXPECT_NE(Answers(*query, releases, 1.1 * noise)[0].methods[2].find("and 1.5 are needed"),
            std::string::npos);
}

// A group's events are half of the sum of all and of those of the column.
double NoiseOfEvents(const QuestionPlan& plan, double noise) {
  const double gradient = 2 / std::pow(plan.amplitude, 2);
  if (!plan.is_rate()) {
    return noise / 2 *
           std::sqrt(gradient + std::pow(0.5 / plan.count, 2) + std::pow(2 / plan.cross, 2));
  }
  return noise / 2 *
         std::sqrt((gradient + std::pow(plan.square, -2) + std::pow(plan.cross, -2)) / 4);
}

TEST(LikelihoodDoubtTest, RareEventsOfAGroupAreTwoAndAHalfToFourDeviations) {
  for (const auto& [family, coefficient, needed] : {std::tuple{GlmFamily::kBinomial, 0.7, 2.5},
                                                    {GlmFamily::kBinomial, 0.9, 3.0},
                                                    {GlmFamily::kPoisson, 0.7, 2.5},
                                                    {GlmFamily::kPoisson, 0.9, 4.0}}) {
    HandMade made(family, coefficient);
    double events = 0;
    if (family == GlmFamily::kBinomial) {
      // At even odds: half of the rows have the event, and the column has a quarter of them times
      // the coefficient more.
      events = kSampleRows / 4 * (1 - coefficient / 2);
    } else {
      // The other releases have none in the column.
      events = kSampleRows * 0.1 / 2 * (1 - coefficient / 4);
    }
    // Few enough for this rule to be the first.
    const double noise = LargestShown(1e5, [&](double of) { return made.IsShown(of); });
    EXPECT_NEAR(events / NoiseOfEvents(made.plan(), noise), needed, 0.05 * needed) << coefficient;
    EXPECT_NE(made.AnswerWith(1.05 * noise).methods[2].find("too few"), std::string::npos)
        << made.AnswerWith(1.05 * noise).methods[2];
  }
}

// Without an end of the steps, a strong coefficient loses information with each.
TEST(LikelihoodDoubtTest, AStrongCoefficientKeepsItsInformation) {
  for (const auto& [family, most] :
       {std::pair{GlmFamily::kBinomial, 1.7}, {GlmFamily::kPoisson, 1.5}}) {
    HandMade strong(family, 0.95), weak(family, 0.7);
    const double information = strong.rows_information();
    const auto shows = [&](HandMade& of, double times) {
      of.SetInformation(1, (1 + times) * information);
      return of.IsShown(kNoNoise);
    };
    EXPECT_NEAR(1 + LargestShown(9, [&](double times) { return shows(strong, times); }), most,
                1e-3);
    EXPECT_TRUE(shows(weak, 9));
  }
}

TEST(LikelihoodDoubtTest, TheMeanStepIsATenth) {
  for (const GlmFamily family : {GlmFamily::kBinomial, GlmFamily::kPoisson}) {
    HandMade made(family, 0.3);
    const double most = LargestShown(1, [&](double step) {
      for (uint32_t round = 1; round < 4; ++round) {
        made.SetGradient(round, 1, step * made.rows_information());
      }
      return made.IsShown(kNoNoise);
    });
    EXPECT_NEAR(most, 0.1, 1e-4);
  }
}

// A model whose largest mean is little above half of the bound may cut 1.5 % of the rows. Where it
// is far above, it is 0.2 % over the excess.
TEST(LikelihoodDoubtTest, CutMeansAreFew) {
  for (const double coefficient : {1.7, 2.0}) {
    // The second step is the rest of it, since a first one that is longer than 1 is shortened.
    constexpr double kFirst = 0.9;
    HandMade made(GlmFamily::kPoisson, kFirst);
    made.SetGradient(1, 1, (coefficient - kFirst) * made.rows_information());
    const double excess = 0.1 * std::exp(coefficient) / 0.5 - 1;
    const double most = LargestShown(1, [&](double share) {
      made.SetCutMeans(share);
      return made.IsShown(kNoNoise);
    });
    EXPECT_NEAR(most, std::min({0.015, 0.01 / std::min(excess, 1.0), 0.002 / excess}), 1e-4)
        << coefficient;
    made.SetCutMeans(1.1 * most);
    EXPECT_NE(made.AnswerWith(kNoNoise).methods[2].find("above half of the response's bound"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace tacet::statistics
