#include "tacet/agreement/charged_terms.h"

#include "tacet/base/status.h"

namespace tacet::agreement {

std::vector<accounting::FederationPrivacySpec> PrivacyOf(std::span<const ChargedTerms> training) {
  std::vector<accounting::FederationPrivacySpec> terms;
  for (const ChargedTerms& charged : training) {
    terms.push_back(PrivacyOf(charged.plan.spec(), charged.attempts));
  }
  return terms;
}

absl::StatusOr<accounting::Guarantees> GuaranteesOf(std::span<const ChargedTerms> training,
                                                    accounting::Extent extent) {
  std::vector<const dp::MechanismPlan*> plans;
  for (const ChargedTerms& charged : training) {
    plans.push_back(&charged.plan.terms().mechanism());
  }
  return accounting::GuaranteesOfTraining(PrivacyOf(training), extent, plans);
}

absl::StatusOr<accounting::PrivacyStatement> StatePrivacy(
    std::span<const ChargedTerms> training, const accounting::Guarantees& guarantees) {
  return accounting::StateTraining(PrivacyOf(training), guarantees);
}

absl::StatusOr<double> ChargedEpsilon(std::span<const ChargedTerms> training) {
  if (training.empty()) return 0.0;
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                         GuaranteesOf(training, accounting::Extent::kHeadline));
  return guarantees.epsilon();
}

}  // namespace tacet::agreement
