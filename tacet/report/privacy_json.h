// Rows of privacy accounting as JSON (docs/formats/privacy-json.md).
#ifndef TACET_REPORT_PRIVACY_JSON_H_
#define TACET_REPORT_PRIVACY_JSON_H_

#include <optional>
#include <vector>

#include "tacet/accounting/privacy_rows.h"
#include "tacet/base/json.h"
#include "tacet/dp/mechanism_plan.h"

namespace tacet::report {

// The implementation terms of each row under the plan that its mechanism ran by, none for rows
// without a guarantee. The plan knows everything on which they depend: dimension, sampler, noise
// shares, bounds, and all attempts that may be charged.
std::vector<std::optional<dp::ImplementationTerms>> TermsOfRows(
    const std::vector<accounting::PrivacyRow>& rows, const dp::MechanismPlan& plan);

// True for the smallest valid bound of its view; `row` is an element of `rows`.
bool IsHeadline(const std::vector<accounting::PrivacyRow>& rows, const accounting::PrivacyRow& row);

base::JsonValue PrivacyRowJson(const accounting::PrivacyRow& row,
                               const std::optional<dp::ImplementationTerms>& terms);

// {"accountants": [a row each, in order], "headlines": [the smallest valid bound of each observer]}
base::JsonValue PrivacyRowsJson(const std::vector<accounting::PrivacyRow>& rows,
                                const std::vector<std::optional<dp::ImplementationTerms>>& terms);

}  // namespace tacet::report

#endif  // TACET_REPORT_PRIVACY_JSON_H_
