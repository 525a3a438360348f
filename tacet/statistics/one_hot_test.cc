// Queries of one-hot questions under discrete Laplace noise: L1 sensitivity attacked, shares of
// several questions, the charge, and intervals by the law's own quantiles.
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/accounting/federation_privacy.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/agreement/manifest.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/dp/discrete_laplace.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/statistics/answers.h"
#include "tacet/statistics/noise_choice.h"
#include "tacet/statistics/query_learner.h"
#include "tacet/statistics/site_sum_for_test.h"
#include "tacet/statistics/site_table_for_test.h"

namespace tacet::statistics {
namespace {

using accounting::Neighbouring;
using accounting::Unit;
using ::testing::HasSubstr;

constexpr dp::NoiseLaw kLaplace = dp::NoiseLaw::kDiscreteLaplace;

QuestionSpec CountOf(std::string name, double share = 1) {
  return {.name = std::move(name), .kind = QuestionKind::kCount, .share = share};
}
QuestionSpec CountWhereOf(std::string name) {
  return {.name = std::move(name),
          .kind = QuestionKind::kCount,
          .where = {{"age", Comparison::kAtLeast, "50"}}};
}
QuestionSpec HistogramOf(std::string name, double share = 1) {
  return {.name = std::move(name),
          .kind = QuestionKind::kHistogram,
          .share = share,
          .cells = {.column = "age", .edges = {0, 20, 40, 60, 80, 100}}};
}
QuestionSpec CurveOf(std::string name, double share = 1) {
  return {.name = std::move(name),
          .kind = QuestionKind::kSurvival,
          .share = share,
          .cells = {.column = "age", .edges = {0, 20, 40, 60, 80}},
          .yes = {.column = "dead", .value = "1"}};
}

std::shared_ptr<const Query> LaplaceQuery(QuerySpec spec) {
  spec.noise_law = kLaplace;
  auto query = Query::Create(std::move(spec));
  EXPECT_TRUE(query.ok()) << query.status();
  return std::make_shared<const Query>(*std::move(query));
}

agreement::Manifest Agreed(const Query& query, double epsilon, uint64_t sites,
                           uint64_t colluders = 0) {
  agreement::ManifestSpec terms;
  terms.rounds = 1;
  terms.spare_attempts = 0;
  terms.sampling.clients = sites;
  terms.privacy.target_epsilon = epsilon;
  terms.privacy.colluders = colluders;
  auto spec = QueryTerms(query, terms);
  EXPECT_TRUE(spec.ok()) << spec.status();
  auto manifest = agreement::Manifest::CreateWithoutMembers(*spec);
  EXPECT_TRUE(manifest.ok()) << manifest.status();
  return *std::move(manifest);
}

std::vector<float> SumOf(const std::shared_ptr<const Query>& query,
                         const std::vector<std::vector<std::string>>& rows) {
  return SumOfSite(query, TableOfRows("site", {"age", "dead", "score", "who"}, rows), "who");
}

double L1Distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(static_cast<double>(a[i]) - b[i]);
  return sum;
}

TEST(OneHotTest, AmplitudesFollowFromSharesAndReach) {
  const auto single = LaplaceQuery({.questions = {CountOf("n")}});
  EXPECT_EQ(single->grid(), 1);
  EXPECT_EQ(single->clip_norm(), 0.5);  // replaced, a row moves a count by 1 = 2 S
  EXPECT_EQ(LaplaceQuery({.questions = {HistogramOf("h")}})->clip_norm(), 1);
  const auto zero_out =
      LaplaceQuery({.questions = {HistogramOf("h")}, .neighbouring = Neighbouring::kZeroOut});
  EXPECT_EQ(zero_out->clip_norm(), 1);  // gone, it moves one cell by 1 = S

  // A count may be as large again as a cell, for the same share.
  const auto both = LaplaceQuery({.questions = {CountOf("n"), HistogramOf("h"), CurveOf("s", 3)}});
  EXPECT_EQ(both->grid(), 1);
  EXPECT_EQ(both->questions()[0].strategy->largest_entry(), 2);
  EXPECT_EQ(both->questions()[1].strategy->largest_entry(), 1);
  EXPECT_EQ(both->questions()[2].strategy->largest_entry(), 3);
  EXPECT_EQ(both->clip_norm(), (2 + 2 + 6) / 2.0);

  // A count that can leave rows out pays for their number, others nothing.
  const auto some = LaplaceQuery({.questions = {CountWhereOf("some")}});
  EXPECT_EQ(some->grid(), 1.0 / 64);
  EXPECT_EQ(some->questions()[0].strategy->largest_entry(), 1);
  EXPECT_EQ(some->questions()[0].left_out, 17.0 / 64);
  EXPECT_DOUBLE_EQ(some->questions()[0].left_out_cost, 17.0 / 81);
  EXPECT_EQ(some->clip_norm(), 81.0 / 64 / 2);
  EXPECT_EQ(both->questions()[1].left_out, 1);
  EXPECT_EQ(both->questions()[1].left_out_cost, 0);
  const auto some_zero_out =
      LaplaceQuery({.questions = {CountWhereOf("some")}, .neighbouring = Neighbouring::kZeroOut});
  EXPECT_EQ(some_zero_out->questions()[0].left_out, 1);
  EXPECT_EQ(some_zero_out->clip_norm(), 1);
  // With sites so large the value of a row that is left out would be less than a step.
  EXPECT_THAT(base::Message(Query::Create({.questions = {CountWhereOf("some")},
                                           .noise_law = kLaplace,
                                           .max_units = 5'000'000})
                                .status()),
              HasSubstr("too small for sites of 5000000 units: lower max_units"));

  // Odd shares need a finer grid, and lose less than a hundredth.
  const auto odd = LaplaceQuery({.questions = {HistogramOf("a"), HistogramOf("b", 1.37)}});
  EXPECT_LT(odd->grid(), 1);
  EXPECT_GE(odd->questions()[1].strategy->largest_entry(), 0.99 * 1.37);
  EXPECT_LE(odd->questions()[1].strategy->largest_entry(), 1.37);

  const auto persons = LaplaceQuery({.questions = {HistogramOf("h")},
                                     .unit = Unit::kPerson,
                                     .max_units = 1000,
                                     .rows_per_unit = 5});
  EXPECT_EQ(persons->grid(), 0x1p-8);
  EXPECT_EQ(persons->clip_norm(), 5);
}

TEST(OneHotTest, RefusesWhatIsNotOneHotAndClients) {
  QuerySpec spec{.questions = {CountOf("n")}, .noise_law = kLaplace};
  spec.questions.push_back({.name = "q",
                            .kind = QuestionKind::kQuantiles,
                            .cells = {.column = "age", .edges = {0, 50, 100}}});
  EXPECT_THAT(base::Message(Query::Create(spec).status()),
              HasSubstr("question \"q\" is of kind quantiles"));
  spec.questions.pop_back();
  spec.unit = Unit::kClient;
  EXPECT_THAT(base::Message(Query::Create(spec).status()), HasSubstr("unit client"));
  spec.unit = Unit::kPerson;
  spec.rows_per_unit = 1'000'000;
  EXPECT_THAT(base::Message(Query::Create(spec).status()), HasSubstr("above 2^24"));
}

const std::vector<std::vector<QuestionSpec>> kOneHotQueries = {
    {CountOf("n")},
    {CountWhereOf("some")},
    {HistogramOf("h")},
    {{.name = "one cell",
      .kind = QuestionKind::kHistogram,
      .cells = {.column = "age", .edges = {0, 100}}}},
    {{.name = "crosstab",
      .kind = QuestionKind::kCrosstab,
      .where = {{"score", Comparison::kAtLeast, "0.5"}},
      .cells = {.column = "dead", .categories = {"0", "1"}},
      .across = {.column = "age", .edges = {0, 50, 100}}}},
    {CurveOf("s")},
    {{.name = "evaluation",
      .kind = QuestionKind::kEvaluation,
      .cells = {.column = "score", .edges = {0, 0.5, 1}},
      .groups = {.column = "age", .edges = {0, 50, 100}},
      .yes = {.column = "dead", .value = "1"}}},
    {{.name = "proportion",
      .kind = QuestionKind::kProportion,
      .groups = {.column = "age", .edges = {0, 50, 100}},
      .yes = {.column = "dead", .value = "1"}}},
    {{.name = "histogram by group",
      .kind = QuestionKind::kHistogram,
      .cells = {.column = "score", .edges = {0, 0.5, 1}},
      .groups = {.column = "age", .edges = {0, 50, 100}}}},
    {CountOf("n"), CountWhereOf("some"), HistogramOf("h", 0.7), CurveOf("s", 2)},
};

// Rows that count, are excluded, or are left out for each reason.
std::vector<std::vector<std::string>> OneHotRows() {
  std::vector<std::vector<std::string>> rows;
  for (const char* age : {"", "10", "30", "50", "90", "200", "-7", "36y"}) {
    for (const char* dead : {"0", "1", ""}) {
      for (const char* score : {"0", "0.5", "1", ""}) rows.push_back({age, dead, score, "victim"});
    }
  }
  return rows;
}

// The farthest that one unit moves a site, over all pairs of what it may send, and how far it can
// move each question by itself.
void CheckMoves(const Query& query, const std::set<std::vector<float>>& sums, bool is_tight) {
  const bool replaced = query.spec().neighbouring == Neighbouring::kReplaceOne;
  const std::vector<float> nothing(query.dimension());
  double farthest = 0;
  std::vector<double> of_question(query.questions().size());
  const auto see = [&](const std::vector<float>& a, const std::vector<float>& b) {
    farthest = std::max(farthest, L1Distance(a, b));
    for (size_t i = 0; i < of_question.size(); ++i) {
      const QuestionPlan& plan = query.questions()[i];
      of_question[i] =
          std::max(of_question[i], L1Distance(std::span(a).subspan(plan.first, plan.size),
                                              std::span(b).subspan(plan.first, plan.size)));
    }
  };
  for (const std::vector<float>& a : sums) {
    see(a, nothing);
    for (const std::vector<float>& b : sums) {
      if (replaced) see(a, b);
    }
    for (const float value : a) {
      ASSERT_EQ(value / query.grid(), std::round(value / query.grid()));
      ASSERT_LE(value * static_cast<double>(query.spec().max_units), query.coordinate_bound());
    }
  }
  const double charged = (replaced ? 2 : 1) * query.clip_norm();
  EXPECT_LE(farthest, charged);
  for (size_t i = 0; i < of_question.size(); ++i) {
    const QuestionPlan& plan = query.questions()[i];
    EXPECT_LE(of_question[i], replaced ? plan.replace_one : plan.zero_out) << plan.spec.name;
    if (is_tight) {
      EXPECT_EQ(of_question[i], replaced ? plan.replace_one : plan.zero_out) << plan.spec.name;
    }
  }
}

// The attack on the charge, over all pairs of rows: no record moves a site's sum in L1 farther than
// the agreement says, and one does move it as far.
TEST(OneHotTest, NoRecordMovesASiteFartherThanIsCharged) {
  for (const auto& questions : kOneHotQueries) {
    for (const Neighbouring neighbouring : {Neighbouring::kReplaceOne, Neighbouring::kZeroOut}) {
      SCOPED_TRACE(questions.back().name);
      const auto query =
          LaplaceQuery({.questions = questions, .neighbouring = neighbouring, .max_units = 100});
      std::set<std::vector<float>> sums;
      for (const auto& row : OneHotRows()) sums.insert(SumOf(query, {row}));
      // A histogram of one cell is charged for two: a record is in it, or left out.
      CheckMoves(*query, sums, true);
    }
  }
}

// The same for persons, over all pairs of up to five rows, each of any of the kinds that differ.
// Weights are thirds and fifths, which the grid rounds.
TEST(OneHotTest, NoPersonMovesASiteFartherThanIsCharged) {
  for (const auto& questions : kOneHotQueries) {
    for (const Neighbouring neighbouring : {Neighbouring::kReplaceOne, Neighbouring::kZeroOut}) {
      for (const uint64_t rows_per_unit : {1, 2}) {
        SCOPED_TRACE(questions.back().name);
        const auto query = LaplaceQuery({.questions = questions,
                                         .unit = Unit::kPerson,
                                         .neighbouring = neighbouring,
                                         .max_units = 100,
                                         .rows_per_unit = rows_per_unit});
        std::set<std::vector<float>> seen;
        std::vector<std::vector<std::string>> kinds;
        for (const auto& row : OneHotRows()) {
          if (kinds.size() < 6 && seen.insert(SumOf(query, {row})).second) kinds.push_back(row);
        }
        std::set<std::vector<float>> sums;
        std::vector<std::vector<std::string>> rows;
        const auto add = [&](const auto& self, size_t first) -> void {
          if (!rows.empty()) sums.insert(SumOf(query, rows));
          if (rows.size() == 5) return;
          for (size_t kind = first; kind < kinds.size(); ++kind) {
            rows.push_back(kinds[kind]);
            self(self, kind);
            rows.pop_back();
          }
        };
        add(add, 0);
        CheckMoves(*query, sums, questions.size() == 1);
      }
    }
  }
}

TEST(OneHotTest, TheChargeIsThePureEpsilonOfEveryObserver) {
  for (const uint64_t colluders : {0, 1, 2}) {
    const auto query = LaplaceQuery({.questions = {CountOf("n"), HistogramOf("h")}});
    const agreement::Manifest manifest = Agreed(*query, 1, 5, colluders);
    const agreement::ManifestSpec& spec = manifest.spec();
    EXPECT_EQ(spec.mechanism.noise_law, kLaplace);
    EXPECT_EQ(spec.mechanism.scale, query->grid());
    EXPECT_EQ(manifest.terms().mechanism().spec().noise_shares,
              5 - std::max<uint64_t>(1, colluders));
    const accounting::SamplingEvent event = agreement::ChargedEvent(spec);
    EXPECT_GE(event.pure_epsilon, 1);
    EXPECT_LE(event.pure_epsilon, 1 + 2e-5);
    EXPECT_TRUE(CheckQueryTerms(*query, spec).ok());
  }
}

TEST(OneHotTest, MembersRefuseAnotherLawOrStep) {
  const auto query = LaplaceQuery({.questions = {HistogramOf("h")}});
  agreement::ManifestSpec lie = Agreed(*query, 1, 4).spec();
  lie.mechanism.noise_law = dp::NoiseLaw::kGaussian;
  EXPECT_THAT(base::Message(CheckQueryTerms(*query, lie)),
              HasSubstr("noise_law is gaussian, the query needs discrete-laplace"));
  lie = Agreed(*query, 1, 4).spec();
  lie.mechanism.scale = 2;
  EXPECT_THAT(base::Message(CheckQueryTerms(*query, lie)), HasSubstr("scale is 2"));
  lie = Agreed(*query, 1, 4).spec();
  lie.mechanism.clip_norm = 0.5;
  EXPECT_THAT(base::Message(CheckQueryTerms(*query, lie)), HasSubstr("clip_norm is 0.5"));
}

// The public figures of four sites at epsilon 1, replace-one: exact from the law. A count, a count
// with its rows left out, and a cell with its rows left out.
TEST(OneHotTest, ErrorsOfACountAndOfACell) {
  struct Errors {
    double value, left_out;
  };
  const auto errors = [](QuestionSpec question) -> Errors {
    const auto query = LaplaceQuery({.questions = {std::move(question)}});
    const QuestionPlan& plan = query->questions()[0];
    const double noise = NoiseOf(Agreed(*query, 1, 4)).stddev;
    return {noise * plan.strategy->CellDeviation(0),
            plan.left_out_values > 0 ? noise / plan.left_out : 0};
  };
  const double central_count = dp::DiscreteLaplaceStddev(1);
  const double central_cell = dp::DiscreteLaplaceStddev(0.5);
  const Errors count = errors(CountOf("n"));
  EXPECT_LE(count.value, 1.58);
  EXPECT_LE(count.value / central_count, 1.16);
  const Errors some = errors(CountWhereOf("some"));
  EXPECT_NEAR(some.value, 2.067, 0.001);
  EXPECT_NEAR(some.left_out, 7.781, 0.001);
  EXPECT_LE(some.value, 2.1);
  EXPECT_LE(some.left_out, 8.0);
  const Errors cell = errors(HistogramOf("h"));
  EXPECT_LE(cell.value, 3.24);
  EXPECT_LE(cell.value / central_cell, 1.16);
  EXPECT_EQ(cell.left_out, cell.value);
}

TEST(OneHotTest, QuantilesAreThoseOfTheLaw) {
  const ReleasedNoise gaussian{.stddev = 2};
  EXPECT_NEAR(gaussian.Quantile(0.95, 4), 1.959963984540 * 4, 1e-9);
  // Whole laws: P(|X| <= k) = 1 - 2 p^(k+1) / (1 + p).
  for (const double rate : {0.01, 0.5, 3.0}) {
    const ReleasedNoise noise{
        .law = kLaplace, .stddev = dp::DiscreteLaplaceStddev(rate), .step = 0.5, .rate = rate};
    for (const double confidence : {0.3, 0.9, 0.95, 0.999}) {
      const double p = std::exp(-rate);
      const double exact =
          std::max(0.0, std::ceil(std::log((1 - confidence) * (1 + p) / 2) / -rate - 1 - 1e-9));
      EXPECT_EQ(noise.Quantile(confidence), 0.5 * exact) << rate << " " << confidence;
    }
  }
  // Four of three shares, and sums of cells: against draws of the mechanism's own shares.
  const auto shares = *dp::DiscreteLaplaceShares::Create(0.5, 3);
  crypto::Random random = crypto::SeededRandom(4, "shares");
  constexpr size_t kDraws = 200'000;
  for (const size_t values : {1, 5}) {
    const ReleasedNoise noise{
        .law = kLaplace, .stddev = 1, .step = 1, .rate = 0.5, .laws = 4.0 / 3};
    const double half = noise.Quantile(0.95, values);
    std::vector<int32_t> drawn(4 * values * kDraws);
    shares.Fill(random, drawn);
    size_t inside = 0, strictly = 0;
    for (size_t i = 0; i < drawn.size(); i += 4 * values) {
      const int64_t sum =
          std::accumulate(drawn.begin() + static_cast<std::ptrdiff_t>(i),
                          drawn.begin() + static_cast<std::ptrdiff_t>(i + 4 * values), int64_t{0});
      inside += static_cast<double>(std::abs(sum)) <= half ? 1 : 0;
      strictly += static_cast<double>(std::abs(sum)) < half ? 1 : 0;
    }
    // 7 deviations, false alarm 1e-11; one step of the law at 0.95 is 20 deviations or more.
    const double slack = 7 * std::sqrt(0.95 * 0.05 / kDraws);
    EXPECT_GE(static_cast<double>(inside) / kDraws, 0.95 - slack);
    EXPECT_LT(static_cast<double>(strictly) / kDraws, 0.95 + slack);
  }
}

// Ratios of counts have errors that are weighted sums of several noises: with the normal deviate
// 93.8 % of single noises would be inside.
TEST(OneHotTest, WeightedSumsStayInsideTheDeviate) {
  constexpr size_t kDraws = 200'000;
  const double slack = 7 * std::sqrt(0.95 * 0.05 / kDraws);  // false alarm 1e-11
  for (const double rate : {0.02, 0.2}) {
    const ReleasedNoise noise{.law = kLaplace,
                              .stddev = dp::DiscreteLaplaceStddev(rate) * std::sqrt(4.0 / 3),
                              .step = 1,
                              .rate = rate,
                              .laws = 4.0 / 3};
    EXPECT_GT(noise.Deviate(0.95), 2.04);
    EXPECT_NEAR(noise.Deviate(0.5), 0.674490, 1e-5);
    const auto shares = *dp::DiscreteLaplaceShares::Create(rate, 3);
    crypto::Random random = crypto::SeededRandom(6, "weighted");
    std::vector<int32_t> drawn(12 * kDraws);
    shares.Fill(random, drawn);
    for (const std::vector<double>& weights :
         std::vector<std::vector<double>>{{1, 0, 0}, {0.9, -0.1, 0}, {0.6, 0.4, 0.2}, {1, 1, -1}}) {
      double square = 0;
      for (const double weight : weights) square += weight * weight;
      const double half = noise.Deviate(0.95) * noise.stddev * std::sqrt(square);
      size_t inside = 0;
      for (size_t draw = 0; draw < kDraws; ++draw) {
        double sum = 0;
        for (size_t i = 0; i < 12; ++i) sum += weights[i / 4] * drawn[12 * draw + i];
        inside += std::abs(sum) <= half + 1e-9 ? 1 : 0;
      }
      EXPECT_GE(static_cast<double>(inside) / kDraws, 0.95 - slack) << rate << " " << weights[1];
    }
  }
  EXPECT_NEAR(ReleasedNoise{.stddev = 2}.Deviate(0.95), 1.959963984540, 1e-9);
}

// A file that does not name its noise gets the smaller one, from the file alone.
TEST(OneHotTest, TheSmallerNoiseIsChosen) {
  QueryFile file{.query = {.questions = {HistogramOf("h")}}};
  file.privacy.target_epsilon = 1;
  EXPECT_EQ(ChooseNoiseLaw(file), kLaplace);
  // Budgets of questions add in L1, their squares in L2: many questions are better off with the
  // Gaussian.
  for (int i = 0; i < 30; ++i) file.query.questions.push_back(HistogramOf("h" + std::to_string(i)));
  EXPECT_EQ(ChooseNoiseLaw(file), dp::NoiseLaw::kGaussian);
  // At epsilon 2 the law changes near five (docs/guide/statistics.md).
  file.privacy.target_epsilon = 2;
  file.query.questions.resize(8);
  EXPECT_EQ(ChooseNoiseLaw(file), dp::NoiseLaw::kGaussian);
  file.query.questions.resize(4);
  EXPECT_EQ(ChooseNoiseLaw(file), kLaplace);
  file.query.questions = {HistogramOf("h"),
                          {.name = "mean",
                           .kind = QuestionKind::kMean,
                           .columns = {{.column = "age", .low = 0, .high = 100}}}};
  EXPECT_EQ(ChooseNoiseLaw(file), dp::NoiseLaw::kGaussian);
  file.query.questions = {CountOf("n")};
  file.query.unit = Unit::kClient;
  EXPECT_EQ(ChooseNoiseLaw(file), dp::NoiseLaw::kGaussian);
  file.query.unit = Unit::kRecord;
  file.privacy.colluders = 2;
  EXPECT_EQ(ChooseNoiseLaw(file), kLaplace);
  file.privacy.target_epsilon = 0;
  file.noise_multiplier = 1;
  EXPECT_EQ(ChooseNoiseLaw(file), dp::NoiseLaw::kGaussian);
}

// Goes from tables over the mechanism to answers: intervals of a count and of cells hold the truth
// as often as they say. 400 releases of 5 cells at 0.95: below 0.91 with probability 1e-13.
TEST(OneHotTest, IntervalsHoldTheTruth) {
  const auto query = LaplaceQuery({.questions = {HistogramOf("h")}});
  const agreement::Manifest manifest = Agreed(*query, 1, 4);
  const dp::MechanismPlan& plan = manifest.terms().mechanism();
  const dp::Mechanism mechanism(plan);
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < 60; ++i) rows.push_back({std::to_string(10 + 20 * (i % 4)), "1", "1", "x"});
  const std::vector<float> site = SumOf(query, rows);
  crypto::Random noise = crypto::SeededRandom(5, "noise");
  crypto::Random poisson = crypto::SeededRandom(5, "poisson");
  int inside = 0, intervals = 0;
  double width = 0;
  for (int release = 0; release < 400; ++release) {
    std::vector<uint64_t> sums(site.size());
    std::vector<uint32_t> counts(site.size());
    for (int member = 0; member < 4; ++member) {
      mechanism.NoiseAndQuantize(site, noise, poisson, counts);
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += counts[i];
    }
    std::vector<double> released(sums.size());
    mechanism.DecodeMean(sums, 4, released);
    for (double& value : released) value *= 4;
    ASSERT_OK_AND_ASSIGN(const auto answers, AnswersOf(*query, released, NoiseOf(manifest)));
    for (size_t cell = 0; cell < 5; ++cell) {
      const Estimate& estimate = answers[0].estimates[1 + cell];
      const double truth = cell < 4 ? 60 : 0;
      inside += estimate.interval->low <= truth && truth <= estimate.interval->high ? 1 : 0;
      width += (estimate.interval->high - estimate.interval->low) / 2000;
      ++intervals;
    }
  }
  const std::string told = AnswersJson(*query, {}).Dump();
  EXPECT_THAT(told, HasSubstr(R"("noise_law":"discrete-laplace")"));
  EXPECT_THAT(told, HasSubstr("it is off by a random number of steps, most often by few"));
  EXPECT_GE(inside, static_cast<int>(0.91 * intervals));
  EXPECT_LE(inside, static_cast<int>(0.985 * intervals));
  EXPECT_LT(width, 4.2 * NoiseOf(manifest).stddev);
}

}  // namespace
}  // namespace tacet::statistics
