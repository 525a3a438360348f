// The facts of an audit from a run directory.
#ifndef TACET_APPS_TACET_AUDIT_RUN_AUDIT_H_
#define TACET_APPS_TACET_AUDIT_RUN_AUDIT_H_

#include <cstdint>

#include "absl/status/statusor.h"

#include "apps/tacet/run/run_reader.h"
#include "tacet/report/audit_facts.h"

namespace tacet::app {

// What the run in `run` states, with nothing signed yet: `signer` is left for the caller. `now` in
// Unix seconds. FailedPrecondition when nothing was charged yet. A run of an older program that
// kept no manifest has its agreement made again from settings and data, which takes as long as
// reading them.
absl::StatusOr<report::AuditFacts> FactsOfRun(const RunRecord& run, uint64_t now);

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_AUDIT_RUN_AUDIT_H_
