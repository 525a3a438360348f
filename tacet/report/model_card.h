// The model card beside an audit: the same in words.
#ifndef TACET_REPORT_MODEL_CARD_H_
#define TACET_REPORT_MODEL_CARD_H_

#include <string>
#include <string_view>
#include <vector>

#include "tacet/accounting/privacy_rows.h"
#include "tacet/report/audit_facts.h"

namespace tacet::report {

// Markdown: what was trained, on what, what is promised to whom, limits, how to verify. `rows` are
// the run's (AuditedRows); `explanation` says in words what they promise, empty when nothing is;
// `audit_name` is the audit's file name.
std::string ModelCard(const AuditedRun& run, const std::vector<accounting::PrivacyRow>& rows,
                      std::string_view explanation, std::string_view audit_name);

}  // namespace tacet::report

#endif  // TACET_REPORT_MODEL_CARD_H_
