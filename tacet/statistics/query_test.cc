#include "tacet/statistics/query.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/agreement/manifest.h"
#include "tacet/base/status.h"
#include "tacet/statistics/query_learner.h"

namespace tacet::statistics {
namespace {

using accounting::Neighbouring;
using accounting::Unit;
using ::testing::HasSubstr;

QuerySpec OneHistogram(size_t cells) {
  return {.questions = {{.name = "ages",
                         .kind = QuestionKind::kHistogram,
                         .cells = {.column = "age", .edges = EqualEdges(0, 100, cells)}}}};
}

std::string Refusal(const QuerySpec& spec) {
  const auto query = Query::Create(spec);
  EXPECT_EQ(query.status().code(), absl::StatusCode::kInvalidArgument);
  return base::Message(query.status());
}

TEST(QueryTest, RefusalsNameTheQuestionAndTheValue) {
  EXPECT_THAT(Refusal({}), HasSubstr("0 questions, expected from 1 to 64"));
  QuerySpec spec = OneHistogram(4);
  spec.questions.push_back(spec.questions[0]);
  EXPECT_THAT(Refusal(spec), HasSubstr("\"ages\": each question needs a name of its own"));
  spec = OneHistogram(4);
  spec.questions[0].cells.edges = {0, 5, 5};
  EXPECT_EQ(Refusal(spec),
            "question \"ages\": column \"age\": edge 5 follows 5, expected finite numbers that "
            "increase");
  spec = OneHistogram(4);
  spec.questions[0].share = -1;
  EXPECT_THAT(Refusal(spec), HasSubstr("share is -1, expected a positive number"));
  EXPECT_THAT(Refusal(OneHistogram(65537)), HasSubstr("at most 65536"));
  spec = OneHistogram(4);
  spec.rows_per_unit = 2;
  EXPECT_THAT(Refusal(spec), HasSubstr("rows_per_unit is 2, expected 1 for unit record"));
  spec = {.questions = {{.name = "m", .kind = QuestionKind::kMean, .columns = {{"age", 5, 5}}}}};
  EXPECT_THAT(Refusal(spec), HasSubstr("bounds 5 and 5"));
  spec.questions[0].columns = {{"age", 0, std::nan("")}};
  EXPECT_THAT(Refusal(spec), HasSubstr("finite"));
  spec = {.questions = {{.name = "auc",
                         .kind = QuestionKind::kEvaluation,
                         .cells = {.column = "p", .edges = EqualEdges(0, 1, 3)},
                         .yes = {"y", "1"}}}};
  EXPECT_THAT(Refusal(spec), HasSubstr("threshold 0.5 is not an edge"));
  spec = {.questions = {{.name = "illness",
                         .kind = QuestionKind::kRegression,
                         .columns = {{"age", 0, 90}, {"age", 0, 99}}}}};
  EXPECT_THAT(Refusal(spec),
              HasSubstr("`label` and `positive` are needed: a column, and its value"));
  spec.questions[0].yes = {"ill", "1"};
  EXPECT_THAT(Refusal(spec), HasSubstr("question \"illness\": column \"age\" is given twice"));
  spec.questions[0].yes.column = "age";
  EXPECT_THAT(Refusal(spec), HasSubstr("column \"age\" is the label, too"));
  spec.questions[0].yes.column = "ill";
  spec.questions[0].columns.assign(33, {"age", 0, 90});
  EXPECT_THAT(Refusal(spec), HasSubstr("33 columns, expected from 1 to 32"));
}

// Without agreed values, a text that is not the compared one would silently count as "no".
TEST(QueryTest, TextsAreComparedByAgreedValuesAlone) {
  QuerySpec spec = {.questions = {{.name = "women", .where = {{"sex", Comparison::kEqual, "F"}}}}};
  EXPECT_EQ(Refusal(spec),
            "question \"women\": condition \"sex = F\": the query does not say which other values "
            "column \"sex\" has; list all with their spellings under [data], as in values = [\"sex "
            "one-of=F,...\"]");
  const auto list = [&spec](const char* text) {
    spec.values.push_back(*table::ParseAgreedValues(text));
  };
  list("sex one-of=F|Female,M");
  EXPECT_TRUE(Query::Create(spec).ok());
  spec.questions[0].where[0].value = "f";
  EXPECT_EQ(Refusal(spec),
            "question \"women\": condition \"sex = f\": \"f\" is none of the agreed F|Female, M of "
            "`data.values`");
  spec.questions[0].where = {{"sex", Comparison::kAbove, "1"}};
  EXPECT_THAT(Refusal(spec), HasSubstr("is compared by = or !="));
  spec.questions[0].where = {};
  EXPECT_THAT(Refusal(spec), HasSubstr("column \"sex\", which no question reads"));
  spec.questions[0] = {.name = "m", .kind = QuestionKind::kMean, .columns = {{"sex", 0, 1}}};
  EXPECT_THAT(Refusal(spec), HasSubstr("column \"sex\" has bounds, and agreed values"));
  spec.questions[0] = {.name = "h",
                       .kind = QuestionKind::kHistogram,
                       .cells = {.column = "sex", .edges = {0, 1, 2}}};
  EXPECT_THAT(Refusal(spec), HasSubstr("has edges, and its agreed values in `data.values` are F"));
  spec.questions[0].cells = {.column = "sex", .categories = {"M", "D"}};
  EXPECT_THAT(Refusal(spec), HasSubstr("column \"sex\": category \"D\" is none of the agreed"));
  spec.questions[0].cells.categories = {"F", "Female"};
  EXPECT_THAT(Refusal(spec), HasSubstr("category \"Female\" is there twice"));
  spec.questions[0].cells.categories = {"M"};
  list("sex one-of=F,M");
  EXPECT_THAT(Refusal(spec), HasSubstr("`data.values` has column \"sex\" twice"));
  spec.values.clear();
  list("sex one-of=F,M,NA");
  EXPECT_THAT(Refusal(spec),
              HasSubstr("has \"NA\" for column \"sex\", and `data.missing` as well"));
  spec.values.clear();
  spec.questions[0] = {.name = "auc",
                       .kind = QuestionKind::kEvaluation,
                       .cells = {.column = "p", .edges = EqualEdges(0, 1, 4)},
                       .yes = {"ill", "yes"}};
  EXPECT_THAT(Refusal(spec), HasSubstr("as in values = [\"ill one-of=yes,...\"]"));
}

// The chargeable sensitivity of k one-hot questions of equal shares does not depend on k: each gets
// 1 / sqrt(k) of the amplitude.
TEST(QueryTest, QuestionsShareOneCharge) {
  QuerySpec spec = OneHistogram(10);
  const auto alone = Query::Create(spec);
  ASSERT_TRUE(alone.ok()) << alone.status();
  for (int i = 1; i < 4; ++i) {
    spec.questions.push_back(spec.questions[0]);
    spec.questions.back().name = fmt::format("ages {}", i);
  }
  const auto four = Query::Create(spec);
  ASSERT_TRUE(four.ok()) << four.status();
  EXPECT_NEAR(alone->questions()[0].replace_one, 2, 1e-3);
  EXPECT_NEAR(four->questions()[3].replace_one, 1, 1e-3);
  // One-hot with replace-one: sqrt(2) times larger than a ball of radius S would be.
  EXPECT_NEAR(alone->questions()[0].strategy->largest_entry(), std::sqrt(2.0), 2e-3);
  spec.neighbouring = Neighbouring::kZeroOut;
  EXPECT_NEAR(Query::Create(spec)->questions()[0].strategy->largest_entry(), 0.5, 2e-3);
}

// The values of rows that are left out are as large as they can be at the charge of the others. A
// count with conditions takes 3 % more noise, one without has no such value.
TEST(QueryTest, RowsThatAreLeftOutCostWhatIsStated) {
  const auto plan = [](QuestionSpec question, Neighbouring neighbouring) {
    const auto query =
        Query::Create({.questions = {std::move(question)}, .neighbouring = neighbouring});
    EXPECT_TRUE(query.ok()) << query.status();
    return query->questions()[0];
  };
  const QuestionSpec all{.name = "all"};
  const QuestionSpec some{.name = "some", .where = {{"age", Comparison::kAtLeast, "18"}}};
  const QuestionSpec mean{.name = "mean", .kind = QuestionKind::kMean, .columns = {{"age", 0, 90}}};
  const QuestionSpec sum{.name = "sum", .kind = QuestionKind::kSum, .columns = {{"age", -90, 90}}};
  const QuestionSpec quantiles{.name = "quantiles",
                               .kind = QuestionKind::kQuantiles,
                               .cells = {.column = "age", .edges = EqualEdges(0, 90, 9)}};
  const QuestionSpec illness{.name = "illness",
                             .kind = QuestionKind::kRegression,
                             .columns = {{"age", 0, 90}},
                             .yes = {"ill", "1"}};
  constexpr auto kReplaceOne = Neighbouring::kReplaceOne, kZeroOut = Neighbouring::kZeroOut;
  EXPECT_EQ(plan(all, kReplaceOne).size, 1u);
  EXPECT_EQ(plan(all, kReplaceOne).left_out_cost, 0);
  const QuestionPlan count = plan(some, kReplaceOne);
  EXPECT_EQ(count.size, 2u);
  EXPECT_NEAR(count.left_out_cost, 1.0 / 17, 1e-9);
  EXPECT_NEAR(count.left_out / count.strategy->largest_entry(), 0.25, 1e-2);
  EXPECT_NEAR(plan(all, kReplaceOne).strategy->largest_entry() / count.strategy->largest_entry(),
              1.031, 2e-3);
  EXPECT_LT(plan(mean, kReplaceOne).left_out_cost, 0.0004);
  for (const QuestionSpec& question : {sum, quantiles, illness}) {
    EXPECT_LT(plan(question, kReplaceOne).left_out_cost, 1e-9);
  }
  for (const QuestionSpec& question : {some, mean, sum, quantiles, illness}) {
    EXPECT_EQ(plan(question, kZeroOut).left_out_cost, 0);
  }
  const QuestionPlan zero = plan(some, kZeroOut);
  EXPECT_EQ(zero.left_out, zero.strategy->largest_entry());
}

agreement::ManifestSpec TermsOf(const Query& query, uint64_t sites, double epsilon) {
  agreement::ManifestSpec terms;
  terms.spare_attempts = 0;
  terms.sampling.clients = sites;
  terms.privacy.target_epsilon = epsilon;
  auto spec = QueryTerms(query, terms);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return *std::move(spec);
}

agreement::Manifest ManifestOf(agreement::ManifestSpec spec) {
  spec.members.resize(spec.sampling.clients);
  auto manifest = agreement::Manifest::Create(std::move(spec));
  EXPECT_TRUE(manifest.ok()) << manifest.status();
  return *std::move(manifest);
}

// delta of a Gaussian mechanism of noise `sigma` and sensitivity `distance` (Balle and Wang, 2018).
double GaussianDelta(double epsilon, double distance, double sigma) {
  const auto phi = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  const double a = distance / (2 * sigma), b = epsilon * sigma / distance;
  return phi(a - b) - std::exp(epsilon) * phi(-a - b);
}

// Every unit is in the one round: the figure is that of the Gaussian mechanism, never below it, for
// the observer that knows the most. With another site's knowledge of its own share the noise is
// smaller, which is charged.
TEST(QueryTest, TheChargeIsTheGaussianMechanismOfTheWorstObserver) {
  for (const Neighbouring neighbouring : {Neighbouring::kReplaceOne, Neighbouring::kZeroOut}) {
    QuerySpec spec = OneHistogram(40);
    spec.neighbouring = neighbouring;
    const auto query = Query::Create(spec);
    const agreement::Manifest manifest = ManifestOf(TermsOf(*query, 4, 1));
    const auto guarantees = agreement::GuaranteesOf(manifest, 1);
    ASSERT_TRUE(guarantees.ok()) << guarantees.status();
    ASSERT_NE(guarantees->headline(), nullptr);
    const double epsilon = guarantees->epsilon();
    EXPECT_LE(epsilon, 1.0001);
    EXPECT_GE(epsilon, 0.99);
    const double distance = neighbouring == Neighbouring::kReplaceOne ? 2 : 1;
    // Three of four shares are left to a site that knows its own.
    const double known = manifest.spec().mechanism.noise_stddev * std::sqrt(0.75);
    const double true_delta = GaussianDelta(epsilon, distance, known);
    EXPECT_LE(true_delta, 1e-5);
    EXPECT_GE(true_delta, 0.9e-5);
    EXPECT_EQ(agreement::ChargedEvent(manifest.spec()).sampling_rate, 1);
  }
}

TEST(QueryTest, SitesOfAHundredThousandUnitsFitTheSampler) {
  for (const uint64_t units : {100, 10000, 100000}) {
    QuerySpec spec = OneHistogram(100);
    spec.max_units = units;
    const auto query = Query::Create(spec);
    ASSERT_TRUE(query.ok()) << query.status();
    const agreement::Manifest manifest = ManifestOf(TermsOf(*query, 4, 1));
    const double noise = manifest.spec().mechanism.noise_stddev;
    EXPECT_LE(NoiseOf(manifest).stddev, noise * (units <= 10000 ? 1.02 : 2)) << units;
    EXPECT_GE(NoiseOf(manifest).stddev, noise);
  }
}

// A coordinator that understates the clip norm would have members charge a tenth of what their
// vectors cost. Members check before they seal.
TEST(QueryTest, MembersRefuseAnAgreementThatUnderstatesTheQuery) {
  const auto query = Query::Create(OneHistogram(40));
  const agreement::Manifest honest = ManifestOf(TermsOf(*query, 4, 1));
  EXPECT_TRUE(CheckQueryTerms(*query, honest.spec()).ok());
  const auto refusal = [&](auto change) {
    agreement::ManifestSpec lie = honest.spec();
    change(lie);
    return base::Message(CheckQueryTerms(*query, lie));
  };
  const double noise = honest.spec().mechanism.noise_stddev;
  EXPECT_THAT(refusal([&](auto& lie) {
                lie.mechanism.clip_norm = 0.1;
                lie.mechanism.noise_stddev = noise / 10;
              }),
              HasSubstr("clip_norm is 0.1, the query needs 1"));
  EXPECT_THAT(refusal([](auto& lie) { lie.privacy.neighbouring = Neighbouring::kZeroOut; }),
              HasSubstr("neighbouring is zero-out, the query needs replace-one"));
  EXPECT_THAT(refusal([](auto& lie) { lie.privacy.unit = Unit::kPerson; }),
              HasSubstr("unit is person"));
  EXPECT_THAT(refusal([](auto& lie) { lie.sampling.record_rate = 0.01; }),
              HasSubstr("record_rate is 0.01"));
  // It bounds the norm of the sum.
  EXPECT_THAT(refusal([](auto& lie) { lie.sampling.expected_batch *= 2; }),
              HasSubstr("expected_batch is 20000, the query needs 10000"));
  EXPECT_THAT(refusal([](auto& lie) { lie.rounds = 5; }), HasSubstr("number of rounds is 5"));
  EXPECT_THAT(refusal([](auto& lie) { lie.model = "mlp"; }), HasSubstr("model is mlp"));
  // Later releases would be scaled, but not their stated errors.
  EXPECT_THAT(refusal([](auto& lie) { lie.optimizer.learning_rate_final = 0.01; }),
              HasSubstr("server.learning_rate_final is 0.01, the query needs 1"));
  EXPECT_THAT(refusal([](auto& lie) { lie.optimizer.learning_rate = 2; }),
              HasSubstr("server.learning_rate is 2"));
  EXPECT_THAT(refusal([](auto& lie) { lie.optimizer.momentum = 0.5; }),
              HasSubstr("server.momentum is 0.5"));
  EXPECT_THAT(refusal([](auto& lie) { lie.dimension = 7; }), HasSubstr("dimension is 7"));
  EXPECT_THAT(refusal([](auto& lie) { lie.sampling.min_participants = 2; }),
              HasSubstr("min_participants is 2"));
}

// Answers state quantisation as part of their error, so it must stay small compared with the noise.
// The bits that it saves put three values of a histogram of 10,000 bins into a coefficient.
TEST(QueryTest, QuantisationWidensTheErrorsByLittleAndKeepsUploadsSmall) {
  QuerySpec spec = OneHistogram(10000);
  spec.max_units = 5000;
  const auto query = Query::Create(spec);
  const agreement::Manifest manifest = ManifestOf(TermsOf(*query, 4, 1));
  const double noise = manifest.spec().mechanism.noise_stddev;
  EXPECT_GT(NoiseOf(manifest).stddev, noise);
  EXPECT_LT(NoiseOf(manifest).stddev, 1.0125 * noise);
  EXPECT_LT(manifest.terms().aggregation().ciphertext_bytes(), 60000);
}

TEST(QueryTest, TermsThatAnswerLessThanTheQueryAreRefused) {
  const auto query = Query::Create(OneHistogram(4));
  agreement::ManifestSpec terms;
  terms.sampling = {.clients = 4, .min_participants = 3};
  terms.privacy.target_epsilon = 1;
  EXPECT_THAT(base::Message(QueryTerms(*query, terms).status()),
              HasSubstr("min_participants is 3 and the cohort 4"));
  terms.sampling.min_participants = 0;
  terms.rounds = 2;
  EXPECT_THAT(base::Message(QueryTerms(*query, terms).status()),
              HasSubstr("the query has 1 rounds, the terms have"));
}

}  // namespace
}  // namespace tacet::statistics
