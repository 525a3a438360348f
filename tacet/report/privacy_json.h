// Rows of privacy accounting as JSON (docs/formats/privacy-json.md).
#ifndef TACET_REPORT_PRIVACY_JSON_H_
#define TACET_REPORT_PRIVACY_JSON_H_

#include "tacet/accounting/privacy_rows.h"
#include "tacet/base/json.h"

namespace tacet::report {

// {"accountants": [a row each, in order], "headlines": [the smallest valid bound of each observer],
// "worst": the headline, or null}
base::JsonValue GuaranteesJson(const accounting::Guarantees& guarantees);

}  // namespace tacet::report

#endif  // TACET_REPORT_PRIVACY_JSON_H_
