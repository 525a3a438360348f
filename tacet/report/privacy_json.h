// Privacy guarantees as JSON: rows of figures, and their statement in words.
#ifndef TACET_REPORT_PRIVACY_JSON_H_
#define TACET_REPORT_PRIVACY_JSON_H_

#include <string>
#include <vector>

#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/base/json.h"

namespace tacet::report {

// docs/formats/privacy-json.md: {"accountants": [a row each, in order], "headlines": [the smallest
// valid bound of each observer], "worst": the headline, or null}
base::JsonValue GuaranteesJson(const accounting::Guarantees& guarantees);

// The same with warnings about the agreement; a reason instead where nothing is guaranteed.
base::JsonValue PrivacyJson(const accounting::Guarantees& guarantees,
                            const std::vector<std::string>& warnings);

// The charge of one attempt: `sampling`, `rate`, `noise_stddev`, `clip_norm`, and
// `pure_epsilon` where the noise is discrete Laplace.
base::JsonValue EventJson(const accounting::SamplingEvent& event);

// The statement for pages (docs/formats/report.md).
base::JsonValue StatementJson(const accounting::PrivacyStatement& statement);

}  // namespace tacet::report

#endif  // TACET_REPORT_PRIVACY_JSON_H_
