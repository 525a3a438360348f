// Bill of materials of a run's model, in CycloneDX 1.6: the model with its guarantee, the program
// and the libraries that it was built from.
#ifndef TACET_AUDIT_BILL_OF_MATERIALS_H_
#define TACET_AUDIT_BILL_OF_MATERIALS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/audit/audit_facts.h"
#include "tacet/base/json.h"

namespace tacet::audit {

// The same run gives the same value.
absl::StatusOr<base::JsonValue> BillOfMaterials(const AuditedRun& run);

// Holds a bill against the run of a verified record: every member and element that the program
// writes is there with its value. Returns where others were added, for which nothing vouches:
// "metadata.supplier". InvalidArgument for text that is not JSON, DataLoss names the first place
// that differs.
absl::StatusOr<std::vector<std::string>> CheckBillOfMaterials(std::string_view text,
                                                              const AuditedRun& run);

}  // namespace tacet::audit

#endif  // TACET_AUDIT_BILL_OF_MATERIALS_H_
