#include "tacet/agreement/charged_terms.h"

#include <algorithm>

#include "tacet/base/status.h"

namespace tacet::agreement {
namespace {

absl::StatusOr<accounting::Guarantees> AfterAttempts(std::span<const ChargedTerms> training,
                                                     accounting::Extent extent) {
  std::vector<const dp::MechanismPlan*> plans;
  for (const ChargedTerms& terms : training) plans.push_back(&terms.plan.terms().mechanism());
  return accounting::GuaranteesOfTraining(PrivacyOf(training), extent, plans);
}

}  // namespace

std::vector<accounting::FederationPrivacySpec> PrivacyOf(std::span<const ChargedTerms> training) {
  std::vector<accounting::FederationPrivacySpec> all;
  for (const ChargedTerms& terms : training) {
    all.push_back(PrivacyOf(terms.plan.spec(), terms.attempts));
    all.back().own_rounds = terms.own_seals;
  }
  return all;
}

std::vector<ChargedTerms> PermittedTerms(std::span<const ChargedTerms> charged) {
  std::vector<ChargedTerms> permitted(charged.begin(), charged.end());
  if (permitted.empty()) return permitted;
  const uint64_t earlier = AttemptsIn(charged.first(charged.size() - 1));
  ChargedTerms& present = permitted.back();
  const uint64_t in_all = present.plan.attempt_budget();
  present.attempts = std::max(present.attempts, in_all - std::min(in_all, earlier));
  return permitted;
}

std::vector<ChargedTerms> PermittedTerms(const Manifest& manifest) {
  return {{.plan = manifest, .attempts = manifest.attempt_budget()}};
}

uint64_t AttemptsIn(std::span<const ChargedTerms> training) {
  uint64_t attempts = 0;
  for (const ChargedTerms& terms : training) attempts += terms.attempts;
  return attempts;
}

absl::StatusOr<accounting::Guarantees> GuaranteesOf(std::span<const ChargedTerms> permitted,
                                                    accounting::Extent extent) {
  TACET_ASSIGN_OR_RETURN(accounting::Guarantees guarantees, AfterAttempts(permitted, extent));
  const double budget = permitted.back().plan.spec().privacy.budget_epsilon;
  if (budget > 0) accounting::StopAtBudget(budget, guarantees);
  return guarantees;
}

absl::StatusOr<accounting::PrivacyStatement> StatePrivacy(
    std::span<const ChargedTerms> permitted, const accounting::Guarantees& guarantees) {
  return accounting::StateTraining(PrivacyOf(permitted), guarantees);
}

absl::StatusOr<double> ChargedEpsilon(std::span<const ChargedTerms> charged) {
  if (AttemptsIn(charged) == 0) return 0.0;
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                         AfterAttempts(charged, accounting::Extent::kHeadline));
  return guarantees.epsilon();
}

}  // namespace tacet::agreement
