// Adversary model of a training whose members or terms change while it continues.
#ifndef TACET_ACCOUNTING_TERMS_CHANGES_H_
#define TACET_ACCOUNTING_TERMS_CHANGES_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/accounting/federation_privacy.h"
#include "tacet/accounting/observers.h"

namespace tacet::accounting {

// Terms of a training and the attempts under each (`rounds`, at least one); the present terms last.
using TermsInTurn = std::span<const FederationPrivacySpec>;

// OK when one guarantee can cover attempts under both terms: they hide the same unit from the same
// observers at the same delta. Cohort, K_min, noise, clip norm and rates may differ.
// InvalidArgument names the setting.
absl::Status CheckSameGuarantee(const FederationPrivacySpec& before,
                                const FederationPrivacySpec& now);

// Every observer of all attempts, in the order of Observer. Of one of the terms those of
// ObserveFederation. Of several, an observer whose rounds are alike under all of them has them as
// one; another one has the worst of them in all rounds, which no order of the changes and no reason
// for them can exceed, and each in `by_terms` (not where sampling amplifies and some of the terms
// count `own_rounds` only). Participations that are only to be expected are left out. Errors of
// CheckSameGuarantee and ObserveFederation.
absl::StatusOr<std::vector<ObservedRounds>> ObserveTraining(TermsInTurn terms);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_TERMS_CHANGES_H_
