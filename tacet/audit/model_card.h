// Model card next to an audit: the content of the audit in words.
#ifndef TACET_AUDIT_MODEL_CARD_H_
#define TACET_AUDIT_MODEL_CARD_H_

#include <string>
#include <string_view>

#include "tacet/accounting/privacy_rows.h"
#include "tacet/audit/audit_facts.h"

namespace tacet::audit {

// Markdown: model, data, guarantee by observer, limits, verification. `guarantees` are the
// run's (AuditedGuarantees), `charged_epsilon` is the forecast (ChargedEpsilonOf). `explanation`
// says the guarantees in words, empty when there are none; `audit_name` is the audit's file name.
std::string ModelCard(const AuditedRun& run, const accounting::Guarantees& guarantees,
                      double charged_epsilon, std::string_view explanation,
                      std::string_view audit_name);

}  // namespace tacet::audit

#endif  // TACET_AUDIT_MODEL_CARD_H_
