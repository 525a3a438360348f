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
};

// All terms of one training, each once; the present ones last. Every function below takes such a
// list, and one entry in it is the usual case.

std::vector<accounting::FederationPrivacySpec> PrivacyOf(std::span<const ChargedTerms> training);

// Guarantees after all attempts, at least one of each of the terms; the implementation terms are
// those of the agreements' own plans. No rows and no headline without noise or without clipping.
// Console, summary, report, audit and operators' pages all take their figures from here.
absl::StatusOr<accounting::Guarantees> GuaranteesOf(
    std::span<const ChargedTerms> training,
    accounting::Extent extent = accounting::Extent::kAllRows);

// `guarantees` in words.
absl::StatusOr<accounting::PrivacyStatement> StatePrivacy(std::span<const ChargedTerms> training,
                                                          const accounting::Guarantees& guarantees);

// Epsilon of the headline, the figure that is told while a run goes on: 0 for an empty list,
// infinite without a guarantee.
absl::StatusOr<double> ChargedEpsilon(std::span<const ChargedTerms> training);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_CHARGED_TERMS_H_
