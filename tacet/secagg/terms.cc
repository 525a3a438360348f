#include "tacet/secagg/terms.h"

#include <utility>

#include "tacet/base/status.h"

namespace tacet::secagg {

absl::StatusOr<Terms> Terms::Create(const TermsSpec& spec) {
  TACET_ASSIGN_OR_RETURN(dp::MechanismPlan mechanism, dp::MechanismPlan::Create(spec.mechanism));
  he::AggregationSpec aggregation_spec;
  aggregation_spec.scheme = spec.scheme;
  aggregation_spec.dimension = spec.mechanism.dimension;
  aggregation_spec.max_participants = spec.mechanism.cohort;
  aggregation_spec.offset = mechanism.offset();
  aggregation_spec.sum_bound = mechanism.sum_bound();
  aggregation_spec.plaintext_bits = spec.plaintext_bits;
  aggregation_spec.committee = spec.committee;
  TACET_ASSIGN_OR_RETURN(he::AggregationParams aggregation,
                         he::AggregationParams::Create(aggregation_spec));
  return Terms(std::move(mechanism), std::move(aggregation));
}

}  // namespace tacet::secagg
