// Terms under which the attempts of one training were charged, and what the attempts guarantee
// together.
#ifndef TACET_AGREEMENT_CHARGED_TERMS_H_
#define TACET_AGREEMENT_CHARGED_TERMS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/federation_privacy.h"
#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/agreement/manifest.h"

namespace tacet::agreement {

struct ChargedTerms {
  Manifest plan;  // of the agreement, with or without members
  uint64_t attempts = 0;
  // `attempts` are those that one member sealed its data for. Others may have been announced.
  bool own_seals = false;
};

// All terms of one training, each once; the present ones last. Every function below takes such a
// list, and one entry in it is the usual case.

std::vector<accounting::FederationPrivacySpec> PrivacyOf(std::span<const ChargedTerms> training);

// `charged` with the attempts that the present terms still permit in place of those that were
// charged under them: all terms together have the present agreement's attempt budget, or more where
// more were charged. Who stops a training after looking at its models has no smaller guarantee than
// who continues to the end (docs/security/privacy.md, "Stopping early").
std::vector<ChargedTerms> PermittedTerms(std::span<const ChargedTerms> charged);
// Before anything is charged.
std::vector<ChargedTerms> PermittedTerms(const Manifest& manifest);
// Under all terms together.
uint64_t AttemptsIn(std::span<const ChargedTerms> training);

// Guarantees of a training, whether it continues, has ended or was stopped: after all permitted
// attempts, and at most the agreement's budget. `permitted` are PermittedTerms. The implementation
// terms are those of the agreements' own plans. No rows and no headline without noise or without
// clipping. Console, summary, report, audit and operators' pages all take their figures from here.
absl::StatusOr<accounting::Guarantees> GuaranteesOf(
    std::span<const ChargedTerms> permitted,
    accounting::Extent extent = accounting::Extent::kAllRows);

// `guarantees` in words.
absl::StatusOr<accounting::PrivacyStatement> StatePrivacy(std::span<const ChargedTerms> permitted,
                                                          const accounting::Guarantees& guarantees);

// Epsilon of the headline of exactly the charged attempts. It is a forecast for a training that was
// fixed beforehand to end there, told next to the guarantee while a run continues: 0 for an empty
// list, infinite without a guarantee.
absl::StatusOr<double> ChargedEpsilon(std::span<const ChargedTerms> charged);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_CHARGED_TERMS_H_
