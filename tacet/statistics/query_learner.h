// A query in place of a model: sites answer one round with the vectors of their units.
#ifndef TACET_STATISTICS_QUERY_LEARNER_H_
#define TACET_STATISTICS_QUERY_LEARNER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/statistics/query.h"
#include "tacet/statistics/released_noise.h"
#include "tacet/statistics/site_units.h"
#include "tacet/trainer/learner.h"

namespace tacet::statistics {

// The initial model is zeros, and the model after the last round is the released sums, one after
// the other. Nothing is evaluated: all that leaves a site is in the noised vector.
class QueryLearner final : public trainer::Learner {
 public:
  // Each site was made for this query.
  QueryLearner(std::shared_ptr<const Query> query, std::vector<SiteUnits> sites);

  uint64_t dimension() const override { return query_->dimension(); }
  uint64_t clients() const override { return sites_.size(); }
  uint64_t training_samples(uint64_t client) const override { return sites_[client].units(); }
  accounting::Unit unit() const override { return query_->spec().unit; }
  uint64_t units(uint64_t client) const override;
  std::vector<float> InitialModel() const override;
  absl::StatusOr<std::unique_ptr<trainer::Trainer>> NewTrainer() const override;
  absl::StatusOr<trainer::Evaluation> Evaluate(std::span<const float> model,
                                               int threads) const override;

 private:
  std::shared_ptr<const Query> query_;
  std::vector<SiteUnits> sites_;
};

// Terms of a federation that answers `query`, in addition to what `terms` say: privacy (the unit is
// the query's), colluders, committee, cohort and noise or target epsilon. As many rounds as the
// query has releases, every unit in each of them, and a divisor that depends on nobody's data.
//
// At rate 1 the units' part is a Gaussian mechanism without amplification: `sampling.record_rate`
// is 1, and every observer's event is that of docs/security/statistics.md. The quantisation's step
// is the largest whose noise is at most 2.5 % of the whole, or else the smallest that the sampler
// allows. Discrete Laplace noise has the steps of the query's grid.
//
// InvalidArgument when the terms ask for more rounds, or for fewer than all participants;
// NotFound when no noise reaches the target epsilon.
absl::StatusOr<agreement::ManifestSpec> QueryTerms(const Query& query,
                                                   agreement::ManifestSpec terms);

// Whether an agreement answers `query` at the price that it states: what a member asks before it
// takes part. InvalidArgument names the first term that differs from QueryTerms. A smaller clip
// norm, for example, would be charged less than the query's vectors cost.
absl::Status CheckQueryTerms(const Query& query, const agreement::ManifestSpec& agreed);

// Noise of each value of the released sum; a Gaussian one has the quantisation's part in it.
ReleasedNoise NoiseOf(const agreement::Manifest& manifest);

// The released sums from the model after the last round.
std::vector<double> ReleasedSum(const agreement::Manifest& manifest, std::span<const float> model);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_QUERY_LEARNER_H_
