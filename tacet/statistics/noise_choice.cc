#include "tacet/statistics/noise_choice.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tacet/agreement/manifest.h"
#include "tacet/statistics/query_learner.h"

namespace tacet::statistics {
namespace {

// Sites besides the colluders. The noise of both laws grows alike with their number.
constexpr uint64_t kOtherSites = 3;

double DeviationOf(const QuestionPlan& plan) {
  const PrefixStrategy& strategy = *plan.strategy;
  if (plan.kind().measured == Measured::kCells) return strategy.CellDeviation(0);
  double sum = 0;
  for (size_t i = 0; i < strategy.cells(); ++i) sum += strategy.SuffixDeviation(i);
  return sum / static_cast<double>(strategy.cells());
}

// The mean of the logarithm of the deviations under a law; none where the law is refused.
std::optional<double> LogErrorUnder(dp::NoiseLaw law, const QueryFile& file) {
  QuerySpec spec = file.query;
  spec.noise_law = law;
  const auto query = Query::Create(std::move(spec));
  if (!query.ok()) return std::nullopt;
  agreement::ManifestSpec terms;
  terms.rounds = 1;
  terms.spare_attempts = static_cast<uint32_t>(file.spare_attempts);
  terms.sampling.clients = file.privacy.colluders + kOtherSites;
  terms.sampling.appearances = std::min(file.appearances, terms.sampling.clients);
  terms.privacy = file.privacy;
  const auto agreed = QueryTerms(*query, terms);
  if (!agreed.ok()) return std::nullopt;
  double sum = 0, shares = 0;
  for (const QuestionPlan& plan : query->questions()) {
    sum += plan.spec.share * std::log(DeviationOf(plan));
    shares += plan.spec.share;
  }
  return sum / shares + std::log(agreed->mechanism.noise_stddev);
}

}  // namespace

dp::NoiseLaw ChooseNoiseLaw(const QueryFile& file) {
  const bool one_hot = std::ranges::all_of(file.query.questions, [](const QuestionSpec& question) {
    return RowOf(question.kind).is_one_hot;
  });
  if (!one_hot || !(file.privacy.target_epsilon > 0)) return dp::NoiseLaw::kGaussian;
  const auto laplace = LogErrorUnder(dp::NoiseLaw::kDiscreteLaplace, file);
  const auto gaussian = LogErrorUnder(dp::NoiseLaw::kGaussian, file);
  return laplace.has_value() && gaussian.has_value() && *laplace < *gaussian
             ? dp::NoiseLaw::kDiscreteLaplace
             : dp::NoiseLaw::kGaussian;
}

}  // namespace tacet::statistics
