// The record of an audit: JSON that a compliance officer reads and a program recomputes
// (docs/formats/audit.md).
#ifndef TACET_AUDIT_AUDIT_RECORD_H_
#define TACET_AUDIT_AUDIT_RECORD_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_rows.h"
#include "tacet/audit/audit_facts.h"
#include "tacet/base/json.h"

namespace tacet::audit {

inline constexpr std::string_view kAuditFormat = "tacet-audit";
inline constexpr uint64_t kAuditVersion = 5;

// agreement::GuaranteesOf the permitted attempts, also of a run that was stopped. A labelled run
// has no guarantee: one row an observer, without a number, says why.
absl::StatusOr<accounting::Guarantees> AuditedGuarantees(const AuditedRun& run);

// Forecast for the attempts charged so far (agreement::ChargedEpsilon); infinite for a labelled
// run.
absl::StatusOr<double> ChargedEpsilonOf(const AuditedRun& run);

// The whole record, facts and figures. Runs every accountant: seconds.
absl::StatusOr<base::JsonValue> AuditRecord(const AuditedRun& run);

// The facts that a record states, not yet held against each other. DataLoss and InvalidArgument
// name the member that is missing or out of range.
absl::StatusOr<AuditFacts> FactsOfRecord(const base::JsonValue& record);

// OK when `stated` says what `computed` does. Numbers of members `epsilon`, `epsilon_lower`,
// `order` and `delta` may differ by 1e-6 of their size, but a stated epsilon is not below the
// computed one by more than 1e-9 of it: accountants end where their last bits settle. Prose
// (members `statement`, `note`, `reason`) is not compared. DataLoss names the first difference.
absl::Status CompareRecords(const base::JsonValue& stated, const base::JsonValue& computed);

// The same for the answers of a query: their numbers may differ by 1e-6 of their size.
absl::Status CompareAnswers(const base::JsonValue& stated, const base::JsonValue& computed);

}  // namespace tacet::audit

#endif  // TACET_AUDIT_AUDIT_RECORD_H_
