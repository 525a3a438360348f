// Terms of an aggregation, shared by every party: the mechanism and the encryption that fits it.
#ifndef TACET_SECAGG_TERMS_H_
#define TACET_SECAGG_TERMS_H_

#include <cstdint>

#include "absl/status/statusor.h"

#include "tacet/dp/mechanism_plan.h"
#include "tacet/he/aggregation.h"

namespace tacet::secagg {

struct TermsSpec {
  dp::MechanismSpec mechanism;  // its cohort is the largest K' that may arrive
  he::Scheme scheme = he::Scheme::kCompact;
  uint32_t plaintext_bits = 0;  // w; 0: the fewest that hold the mechanism's sums
  he::CommitteeShape committee{.seats = 5, .corrupt = 2};  // scheme compact
};

// The mechanism's plan together with aggregation parameters that hold its sums exactly.
class Terms {
 public:
  // InvalidArgument when the mechanism's plan or the encryption refuses, with its reason.
  static absl::StatusOr<Terms> Create(const TermsSpec& spec);

  const dp::MechanismPlan& mechanism() const { return mechanism_; }
  const he::AggregationParams& aggregation() const { return aggregation_; }
  uint64_t dimension() const { return aggregation_.dimension(); }
  uint32_t min_participants() const { return mechanism_.spec().min_participants; }
  uint32_t max_participants() const { return aggregation_.max_participants(); }

 private:
  Terms(dp::MechanismPlan mechanism, he::AggregationParams aggregation)
      : mechanism_(std::move(mechanism)), aggregation_(std::move(aggregation)) {}

  dp::MechanismPlan mechanism_;
  he::AggregationParams aggregation_;
};

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_TERMS_H_
