// Reader of the facts of an audit from a run directory.
#ifndef TACET_RUN_RUN_AUDIT_H_
#define TACET_RUN_RUN_AUDIT_H_

#include <cstdint>
#include <filesystem>

#include "absl/status/statusor.h"

#include "tacet/audit/audit_facts.h"
#include "tacet/crypto/hash.h"
#include "tacet/run/run_reader.h"

namespace tacet::run {

// A run, and what its files state together. Nothing is signed yet: `facts.signer` is left for the
// caller.
struct RunToAudit {
  run::RunRecord run;
  tacet::audit::AuditFacts facts;
};

// Reads the run in `path`. `now` in Unix seconds. FailedPrecondition when nothing was charged yet
// or the manifests were not kept; DataLoss when the ledger lacks a charge that attempts, refused,
// metrics, checkpoint or summary know of. Errors of LoadRun.
absl::StatusOr<RunToAudit> ReadRunToAudit(const std::filesystem::path& path, uint64_t now);

}  // namespace tacet::run

#endif  // TACET_RUN_RUN_AUDIT_H_
