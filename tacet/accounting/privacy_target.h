// The guarantee that is wanted: whose data it hides, from whom, and how much it may cost. Declared
// once: configuration, agreement and accountants hold this struct.
#ifndef TACET_ACCOUNTING_PRIVACY_TARGET_H_
#define TACET_ACCOUNTING_PRIVACY_TARGET_H_

#include <cstdint>

#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

struct PrivacyTarget {
  Unit unit = Unit::kClient;                              // whose data the guarantee hides
  Neighbouring neighbouring = Neighbouring::kReplaceOne;  // data sets that must look alike
  // c, 0 .. M - 1: clients that may pool what they know. Unit client: the coalition that the
  // guarantee is computed against. Unit record or person: noise shares add up to sigma over
  // K_min - c sites.
  uint64_t colluders = 0;
  double delta = 1e-5;  // in (0, 1)
  // Epsilon >= 0 that all permitted attempts together may cost the worst guaranteed observer, from
  // which the least noise is found that keeps it; 0: the noise is given. It has done its work when
  // the noise is chosen: no byte of an agreement holds it.
  double target_epsilon = 0;
  // Epsilon >= 0 that all charged attempts together may cost the worst guaranteed observer; a
  // charge beyond it is refused. 0: no budget. It changes no guarantee.
  double budget_epsilon = 0;

  friend bool operator==(const PrivacyTarget&, const PrivacyTarget&) = default;
};

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_PRIVACY_TARGET_H_
