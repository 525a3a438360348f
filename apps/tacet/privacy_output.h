// Rows of privacy accounting as a table and as JSON (docs/formats/privacy-json.md).
#ifndef TACET_APPS_TACET_PRIVACY_OUTPUT_H_
#define TACET_APPS_TACET_PRIVACY_OUTPUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_rows.h"
#include "tacet/base/json.h"

namespace tacet::app {

// What the mechanism's finite arithmetic adds to a row: every draw is rounded, noise ends
// somewhere.
struct ImplementationTerms {
  double epsilon = 0;
  double delta = 0;
};

// The sizes on which those terms depend.
struct MechanismSize {
  uint64_t dimension = 486'654;     // values of one update
  double coordinate_bound = 0;      // b; 0: the clip norm
  double quantisation_step = 1e-4;  // s
};

// The terms of each row of `rows`, delta's at most 1; none for rows without a guarantee, and for
// all when the mechanism cannot be planned at these sizes (`why` then says which quantity is too
// large).
std::vector<std::optional<ImplementationTerms>> TermsOfRows(
    const std::vector<accounting::PrivacyRow>& rows, const accounting::FederationPrivacySpec& spec,
    const MechanismSize& size, std::string& why);

// {"accountants": [a row each, in order], "headlines": [the smallest valid bound of each view]}
base::JsonValue PrivacyRowsJson(const std::vector<accounting::PrivacyRow>& rows,
                                const std::vector<std::optional<ImplementationTerms>>& terms);

// Columns aligned for a terminal, headlines marked; ends with a line feed.
std::string PrivacyRowsTable(const std::vector<accounting::PrivacyRow>& rows,
                             const std::vector<std::optional<ImplementationTerms>>& terms);

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_PRIVACY_OUTPUT_H_
