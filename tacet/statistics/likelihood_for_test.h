// All releases of a query, in one process and with drawn noise.
#ifndef TACET_STATISTICS_LIKELIHOOD_FOR_TEST_H_
#define TACET_STATISTICS_LIKELIHOOD_FOR_TEST_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/seeded_random.h"
#include "tacet/statistics/cholesky.h"
#include "tacet/statistics/query_learner.h"
#include "tacet/statistics/site_table_for_test.h"

namespace tacet::statistics {

inline double NormalForTest(crypto::Random& random) {
  const double u = 1 - crypto::Uniform(random);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * crypto::Uniform(random));
}

// The releases of all rounds, each summed as a site does after the ones before.
inline std::vector<double> ReleasesOf(const std::shared_ptr<const Query>& query,
                                      const SiteTable& table, double noise, crypto::Random& random,
                                      const std::string& person_column = "") {
  std::vector<SiteUnits> sites;
  auto site = SiteUnits::Create(query, table, person_column);
  EXPECT_TRUE(site.ok()) << site.status();
  std::vector<uint32_t> units(site->units());
  std::iota(units.begin(), units.end(), 0u);
  sites.push_back(*std::move(site));
  const QueryLearner learner(query, std::move(sites));
  const auto trainer = learner.NewTrainer();
  EXPECT_TRUE(trainer.ok());
  std::vector<float> model = learner.InitialModel();
  const size_t values = query->round_dimension();
  for (uint32_t round = 0; round < query->rounds(); ++round) {
    std::vector<float> sum(model.size());
    EXPECT_TRUE((*trainer)->SumClippedGradients(model, 0, units, query->clip_norm(), sum).ok());
    for (size_t i = 0; i < sum.size(); ++i) {
      if (i / values == round) {
        model[i] = static_cast<float>(sum[i] + noise * NormalForTest(random));
      } else {
        EXPECT_EQ(sum[i], 0);  // of another round
      }
    }
  }
  std::vector<float> sum(model.size());
  EXPECT_EQ((*trainer)->SumClippedGradients(model, 0, units, query->clip_norm(), sum).code(),
            absl::StatusCode::kFailedPrecondition);
  return {model.begin(), model.end()};
}

// One of the bounds, or a number between them.
inline std::string DrawNumber(double low, double high, crypto::Random& random) {
  const uint64_t kind = random.Below(3);
  return std::to_string(kind == 0   ? low
                        : kind == 1 ? high
                                    : low + (high - low) * crypto::Uniform(random));
}

// A round is summed at coefficients that others chose by the releases before. Climbs over two rows
// and the coefficients, which `draw` gives the fields of: no release moves farther than is charged,
// and at least this part of the bound is reached.
inline void ClimbReleases(QuerySpec spec, const std::vector<std::string>& columns,
                          const std::function<std::string(size_t, crypto::Random&)>& draw,
                          double reached_part = 0.9) {
  for (const auto neighbouring :
       {accounting::Neighbouring::kReplaceOne, accounting::Neighbouring::kZeroOut}) {
    const bool replaced = neighbouring == accounting::Neighbouring::kReplaceOne;
    spec.neighbouring = neighbouring;
    auto made = Query::Create(spec);
    ASSERT_TRUE(made.ok()) << made.status();
    const auto query = std::make_shared<const Query>(*std::move(made));
    const QuestionPlan& plan = query->questions()[0];
    crypto::Random random = crypto::SeededRandom(5, "climb");
    const auto distance = [&](const TextRows& pair, const std::vector<double>& at) {
      const auto site = SiteUnits::Create(query, TableOfRows("site", columns, pair));
      EXPECT_TRUE(site.ok()) << site.status();
      std::vector<float> one(query->round_dimension()), other(query->round_dimension());
      site->SumUnits(std::vector<uint32_t>{0}, one, {at});
      if (replaced) site->SumUnits(std::vector<uint32_t>{1}, other, {at});
      double square = 0;
      for (size_t i = 0; i < one.size(); ++i) square += std::pow(double{one[i]} - other[i], 2);
      return std::sqrt(square);
    };
    double farthest = 0;
    for (int climb = 0; climb < 20; ++climb) {
      TextRows pair(2);
      std::vector<double> at(plan.baselines + plan.design->columns());
      for (double& coefficient : at) coefficient = 4 * NormalForTest(random);
      for (size_t i = 0; i < columns.size(); ++i) {
        pair[0].push_back(draw(i, random));
        pair[1].push_back(draw(i, random));
      }
      double reached = distance(pair, at);
      for (int step = 0; step < 250; ++step) {
        TextRows moved = pair;
        std::vector<double> moved_at = at;
        if (random.Below(2) == 0) {
          const size_t column = random.Below(columns.size());
          moved[random.Below(2)][column] = draw(column, random);
        } else {
          moved_at[random.Below(at.size())] +=
              (random.Below(2) == 0 ? 8 : 1) * NormalForTest(random);
        }
        const double now = distance(moved, moved_at);
        if (now <= reached) continue;
        reached = now;
        pair = std::move(moved);
        at = std::move(moved_at);
      }
      farthest = std::max(farthest, reached);
    }
    const double bound = (replaced ? 2 : 1) * query->clip_norm();
    EXPECT_LE(farthest, bound) << replaced;
    EXPECT_GE(farthest, reached_part * bound) << replaced;
  }
}

struct LikelihoodFit {
  std::vector<double> coefficients, errors;
};

// One step of a fit by single rows: adds the gradient and the information at `coefficients`, row by
// row; the errors are those of the information.
template <typename Add>
LikelihoodFit FitByNewton(size_t size, std::vector<double> first, Add add) {
  LikelihoodFit fit{.coefficients = std::move(first), .errors = {}};
  for (int step = 0; step < 40; ++step) {
    std::vector<double> gradient(size), information(size * size);
    add(fit.coefficients, gradient, information);
    const auto factor = Cholesky::Of(information, size);
    EXPECT_TRUE(factor.has_value());
    if (!factor.has_value()) return fit;
    const std::vector<double> moved = factor->Solve(gradient);
    for (size_t i = 0; i < size; ++i) fit.coefficients[i] += moved[i];
    fit.errors.clear();
    for (size_t i = 0; i < size; ++i) {
      std::vector<double> unit(size);
      unit[i] = 1;
      fit.errors.push_back(std::sqrt(factor->Solve(unit)[i]));
    }
  }
  return fit;
}

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_LIKELIHOOD_FOR_TEST_H_
