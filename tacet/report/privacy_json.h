// Rows of privacy accounting as JSON (docs/formats/privacy-json.md).
#ifndef TACET_REPORT_PRIVACY_JSON_H_
#define TACET_REPORT_PRIVACY_JSON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tacet/accounting/privacy_rows.h"
#include "tacet/base/json.h"

namespace tacet::report {

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

// True for the smallest valid bound of its view; `row` is an element of `rows`.
bool IsHeadline(const std::vector<accounting::PrivacyRow>& rows, const accounting::PrivacyRow& row);

base::JsonValue PrivacyRowJson(const accounting::PrivacyRow& row,
                               const std::optional<ImplementationTerms>& terms);

// {"accountants": [a row each, in order], "headlines": [the smallest valid bound of each view]}
base::JsonValue PrivacyRowsJson(const std::vector<accounting::PrivacyRow>& rows,
                                const std::vector<std::optional<ImplementationTerms>>& terms);

}  // namespace tacet::report

#endif  // TACET_REPORT_PRIVACY_JSON_H_
