#include "tacet/statistics/query_learner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tacet/accounting/calibration.h"
#include "tacet/base/status.h"
#include "tacet/dp/discrete_laplace.h"
#include "tacet/dp/gaussian.h"

namespace tacet::statistics {
namespace {

// Largest share of the released variance that quantisation may have.
constexpr double kQuantisationShare = 0.025;
// Poisson rates stay below 2^31, with room.
constexpr double kMaxRate = 0x1.fp30;

class QueryTrainer final : public trainer::Trainer {
 public:
  QueryTrainer(const Query& query, const std::vector<SiteUnits>& sites)
      : query_(query), sites_(sites) {}

  absl::Status Train(std::span<const float> model, uint32_t /*round*/, uint64_t client,
                     std::span<float> update) override {
    return Sum(model, client, std::vector<uint32_t>{0}, update);
  }
  absl::Status SumClippedGradients(std::span<const float> model, uint64_t client,
                                   std::span<const uint32_t> units, double clip_norm,
                                   std::span<float> sum) override {
    if (clip_norm < query_.clip_norm()) {
      return base::InvalidArgument("clip norm {}: contributions to the query have the norm {}",
                                   clip_norm, query_.clip_norm());
    }
    return Sum(model, client, units, sum);
  }

 private:
  // The release of a round is in its own part of the model.
  absl::Status Sum(std::span<const float> model, uint64_t client, std::span<const uint32_t> units,
                   std::span<float> sum) const {
    const QueryState state = StateAfter(query_, model);
    if (state.released == query_.rounds()) {
      return base::FailedPrecondition("the query's {} releases are there", state.released);
    }
    std::ranges::fill(sum, 0.0F);
    const size_t values = query_.round_dimension();
    sites_[client].SumUnits(units, sum.subspan(state.released * values, values),
                            state.coefficients);
    return absl::OkStatus();
  }

  const Query& query_;
  const std::vector<SiteUnits>& sites_;
};

}  // namespace

QueryLearner::QueryLearner(std::shared_ptr<const Query> query, std::vector<SiteUnits> sites)
    : query_(std::move(query)), sites_(std::move(sites)) {}

uint64_t QueryLearner::units(uint64_t client) const {
  return unit() == accounting::Unit::kClient ? 1 : sites_[client].units();
}

std::vector<float> QueryLearner::InitialModel() const {
  return std::vector<float>(query_->dimension(), 0.0F);
}

absl::StatusOr<std::unique_ptr<trainer::Trainer>> QueryLearner::NewTrainer() const {
  return std::make_unique<QueryTrainer>(*query_, sites_);
}

absl::StatusOr<trainer::Evaluation> QueryLearner::Evaluate(std::span<const float> /*model*/,
                                                           int /*threads*/) const {
  return trainer::Evaluation{};
}

absl::StatusOr<agreement::ManifestSpec> QueryTerms(const Query& query,
                                                   agreement::ManifestSpec terms) {
  const bool is_client = query.spec().unit == accounting::Unit::kClient;
  if (terms.rounds > query.rounds()) {
    return base::InvalidArgument("the query has {} rounds, the terms have {}", query.rounds(),
                                 terms.rounds);
  }
  terms.model = agreement::kQueryModel;
  terms.dimension = query.dimension();
  terms.rounds = query.rounds();
  terms.privacy.unit = query.spec().unit;
  terms.privacy.neighbouring = query.spec().neighbouring;
  terms.optimizer = {.learning_rate = 1, .learning_rate_final = 1, .momentum = 0};
  const bool is_laplace = query.noise_law() == dp::NoiseLaw::kDiscreteLaplace;
  terms.mechanism.noise_law = query.noise_law();
  if (is_laplace) terms.mechanism.scale = query.grid();
  terms.mechanism.clip_norm = query.clip_norm();
  terms.mechanism.coordinate_bound = query.coordinate_bound();
  accounting::SamplingParams& sampling = terms.sampling;
  if (sampling.cohort == 0) sampling.cohort = sampling.clients;
  if (sampling.min_participants == 0) sampling.min_participants = sampling.cohort;
  if (sampling.min_participants != sampling.cohort) {
    return base::InvalidArgument(
        "min_participants is {} and the cohort {}: a query's answer is about all of them; leave "
        "min_participants out",
        sampling.min_participants, sampling.cohort);
  }
  if (!is_client) {
    sampling.record_rate = 1;
    sampling.expected_batch = static_cast<double>(query.spec().max_units);
    sampling.appearances = std::max<uint64_t>(sampling.appearances, 1);
  }
  double& noise = terms.mechanism.noise_stddev;
  if (terms.privacy.target_epsilon > 0 && noise == 0) {
    const uint64_t attempts = uint64_t{terms.rounds} + terms.spare_attempts;
    if (terms.committee.seats == 0) {
      terms.committee = agreement::DefaultCommittee(sampling.clients, terms.privacy.colluders);
    }
    TACET_ASSIGN_OR_RETURN(noise,
                           accounting::CalibrateNoise(agreement::PrivacyOf(terms, attempts),
                                                      {.epsilon = terms.privacy.target_epsilon}));
    terms.privacy.target_epsilon = 0;
  }
  if (is_laplace) return terms;
  // The variance of the quantisation is s K (b + z sigma_k), of the noise at least sigma^2.
  const auto participants = static_cast<double>(sampling.cohort);
  const auto shares =
      participants - (is_client ? 0.0 : static_cast<double>(terms.privacy.colluders));
  const double reach =
      std::min(terms.mechanism.coordinate_bound,
               is_client ? query.clip_norm() : terms.mechanism.coordinate_bound) +
      noise / std::sqrt(std::max(shares, 1.0)) * dp::GaussianBound(terms.mechanism.sampler);
  const double wanted = kQuantisationShare * noise * noise / (participants * reach);
  terms.mechanism.scale = std::max({wanted, 2 * reach / kMaxRate, 1e-12});
  return terms;
}

absl::Status CheckQueryTerms(const Query& query, const agreement::ManifestSpec& agreed) {
  const auto differs = [](std::string_view term, const auto& found, const auto& expected) {
    return base::InvalidArgument(
        "the agreement's {} is {}, the query needs {}: the agreement has to be made again from the "
        "query",
        term, found, expected);
  };
  const bool is_client = query.spec().unit == accounting::Unit::kClient;
  if (agreed.model != agreement::kQueryModel) {
    return differs("model", agreed.model, agreement::kQueryModel);
  }
  if (agreed.dimension != query.dimension()) {
    return differs("dimension", agreed.dimension, query.dimension());
  }
  if (agreed.privacy.unit != query.spec().unit) {
    return differs("unit", accounting::UnitName(agreed.privacy.unit),
                   accounting::UnitName(query.spec().unit));
  }
  if (agreed.privacy.neighbouring != query.spec().neighbouring) {
    return differs("neighbouring", accounting::NeighbouringName(agreed.privacy.neighbouring),
                   accounting::NeighbouringName(query.spec().neighbouring));
  }
  if (agreed.mechanism.noise_law != query.noise_law()) {
    return differs("noise_law", dp::NoiseLawName(agreed.mechanism.noise_law),
                   dp::NoiseLawName(query.noise_law()));
  }
  // A finer step is a larger epsilon of the same deviation, a coarser one would round.
  if (query.noise_law() == dp::NoiseLaw::kDiscreteLaplace &&
      agreed.mechanism.scale != query.grid()) {
    return differs("scale", agreed.mechanism.scale, query.grid());
  }
  if (agreed.mechanism.clip_norm != query.clip_norm()) {
    return differs("clip_norm", agreed.mechanism.clip_norm, query.clip_norm());
  }
  if (agreed.mechanism.coordinate_bound < query.coordinate_bound()) {
    return differs("coordinate_bound", agreed.mechanism.coordinate_bound, query.coordinate_bound());
  }
  if (agreed.rounds != query.rounds()) {
    return differs("number of rounds", agreed.rounds, query.rounds());
  }
  if (agreed.sampling.min_participants != agreed.sampling.cohort) {
    return differs("min_participants", agreed.sampling.min_participants, agreed.sampling.cohort);
  }
  if (!is_client && agreed.sampling.record_rate != 1) {
    return differs("record_rate", agreed.sampling.record_rate, 1);
  }
  const auto units = static_cast<double>(query.spec().max_units);
  if (!is_client && agreed.sampling.expected_batch != units) {
    return differs("expected_batch", agreed.sampling.expected_batch, units);
  }
  // A release is the sum itself in every round.
  const agreement::ServerOptimizerSpec& optimizer = agreed.optimizer;
  if (optimizer.learning_rate != 1) {
    return differs("server.learning_rate", optimizer.learning_rate, 1);
  }
  if (optimizer.learning_rate_final != 1) {
    return differs("server.learning_rate_final", optimizer.learning_rate_final, 1);
  }
  if (optimizer.momentum != 0) return differs("server.momentum", optimizer.momentum, 0);
  return absl::OkStatus();
}

ReleasedNoise NoiseOf(const agreement::Manifest& manifest) {
  const dp::MechanismPlan& plan = manifest.terms().mechanism();
  const dp::MechanismParams& agreed = manifest.spec().mechanism;
  const auto uploads = static_cast<uint32_t>(manifest.spec().sampling.cohort);
  ReleasedNoise noise{.law = agreed.noise_law, .stddev = plan.sum_stddev(uploads)};
  if (noise.law == dp::NoiseLaw::kDiscreteLaplace && noise.stddev > 0) {
    noise.step = agreed.scale;
    noise.rate = dp::DiscreteLaplaceRate(agreed.noise_stddev / agreed.scale);
    noise.laws = static_cast<double>(uploads) / plan.spec().noise_shares;
  }
  return noise;
}

std::vector<double> ReleasedSum(const agreement::Manifest& manifest, std::span<const float> model) {
  // Unit client: the model is the mean over the cohort. Record, person: the sum itself.
  const agreement::ManifestSpec& spec = manifest.spec();
  const double factor = spec.privacy.unit == accounting::Unit::kClient
                            ? static_cast<double>(spec.sampling.cohort)
                            : 1;
  std::vector<double> sum(model.begin(), model.end());
  for (double& value : sum) value *= factor;
  return sum;
}

}  // namespace tacet::statistics
