// Limits of all guarantees: sentences that `--explain`, `federation show`, `client show`, `client
// join`, reports, model cards and SECURITY.md share.
#ifndef TACET_ACCOUNTING_GUARANTEE_LIMITS_H_
#define TACET_ACCOUNTING_GUARANTEE_LIMITS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tacet/accounting/federation_privacy.h"

namespace tacet::accounting {

struct GuaranteeLimit {
  // Whole sentences, as SECURITY.md has them (there with emphasis). No line breaks.
  std::string_view text;
  // Whether it is one of a federation's own limits. Limits of machines, programs and operation are
  // those of no federation: SECURITY.md alone has them.
  bool (*is_of)(const FederationPrivacySpec& federation);
};

// All of them, in the order of SECURITY.md.
std::span<const GuaranteeLimit> GuaranteeLimits();

// Those of one federation.
std::vector<std::string> LimitsOf(const FederationPrivacySpec& federation);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_GUARANTEE_LIMITS_H_
