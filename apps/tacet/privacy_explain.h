// What a federation promises, in words.
#ifndef TACET_APPS_TACET_PRIVACY_EXPLAIN_H_
#define TACET_APPS_TACET_PRIVACY_EXPLAIN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_rows.h"

namespace tacet::app {

// Paragraphs: to whom what is promised, with the power that it leaves an attacker who accuses
// wrongly with probability `false_accusations`, and what is not promised at all. `rows` are the
// federation's own.
absl::StatusOr<std::string> ExplainPrivacy(const accounting::FederationPrivacySpec& spec,
                                           const std::vector<accounting::PrivacyRow>& rows,
                                           double false_accusations);

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_PRIVACY_EXPLAIN_H_
