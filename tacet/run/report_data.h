// Data of a report as the JSON that its page carries (docs/formats/report.md).
#ifndef TACET_RUN_REPORT_DATA_H_
#define TACET_RUN_REPORT_DATA_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/base/json.h"
#include "tacet/run/run_reader.h"

namespace tacet::run {

// `made_at` in Unix seconds. Runs with the same directory name are told apart by the folders above.
absl::StatusOr<base::JsonValue> ReportData(std::span<const run::RunRecord> runs,
                                           std::string_view version, uint64_t made_at);

}  // namespace tacet::run

#endif  // TACET_RUN_REPORT_DATA_H_
