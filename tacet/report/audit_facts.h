// What happened in a run, as an audit needs it: the facts from which every figure of a record is
// computed, when it is made and again when it is verified.
#ifndef TACET_REPORT_AUDIT_FACTS_H_
#define TACET_REPORT_AUDIT_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/hash.h"
#include "tacet/base/signing.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/federation/ledger.h"
#include "tacet/federation/manifest.h"

namespace tacet::report {

// How a charged attempt ended:
//   opened       its sum is in the model,
//   refused      it gave no sum; the reason is a word of federation::RefusalName,
//   interrupted  its process ended before the attempt did, or before what came of it was kept.
enum class AttemptOutcome { kOpened, kRefused, kInterrupted };
std::string_view AttemptOutcomeName(AttemptOutcome outcome);
absl::StatusOr<AttemptOutcome> ParseAttemptOutcome(std::string_view name);

struct AuditedAttempt {
  uint32_t epoch = 0;
  uint32_t attempt = 0;
  AttemptOutcome outcome = AttemptOutcome::kInterrupted;
  std::string reason = {};  // of a refused one
};

struct AuditedRound {
  uint32_t round = 0;
  uint32_t participants = 0;                  // K' of the opened sum; 0: the round is not complete
  std::vector<AuditedAttempt> attempts = {};  // increasing by epoch and attempt
};

// The agreement with the members' keys of one process.
struct AuditedManifest {
  base::Digest hash{};
  // By number; absent when the run did not keep them: then nobody can recompute the hash.
  std::optional<std::vector<base::PublicKey>> members = {};
};

struct AuditedResult {
  double accuracy = 0;
  double loss = 0;
  uint64_t samples = 0;  // held-out
};

struct Dependency {
  std::string name;
  std::string version;
};

struct AuditFacts {
  uint64_t created = 0;  // Unix seconds, of the audit
  // Who signs. The run's own key unless another one was given.
  base::PublicKey signer{};
  std::optional<base::PublicKey> audit_key = {};  // the run's own, if it has one
  std::vector<std::string> labels = {};           // why the run is less than private
  bool finished = false;
  std::string stopped = {};  // why it ended before its last round; empty: it did not
  std::optional<AuditedResult> result = {};     // the last evaluation
  base::Bytes agreement = {};                   // canonical bytes, without members
  std::vector<AuditedManifest> manifests = {};  // of all processes, in the order of their charges
  std::vector<AuditedRound> rounds = {};        // 0, 1, ...; the last one may be incomplete
  base::Bytes ledger = {};                      // header and records
  federation::LedgerAnchor ledger_end = {};
  std::string version = {};           // of the program that audits
  std::string program_commit = {};    // likewise
  std::string training_commits = {};  // of those that worked on the run
  std::vector<Dependency> dependencies = {};
};

// Facts that agree with each other.
struct AuditedRun {
  AuditFacts facts;
  federation::ManifestSpec agreed;  // without members
  base::Digest agreement_digest{};
  federation::RecoveredLedger ledger;
  std::optional<dp::MechanismPlan> plan = {};  // of the agreement; CheckFacts always sets it

  uint64_t charges() const { return ledger.entries.size(); }
  uint32_t complete_rounds() const;
  // False when the labels leave nothing promised to anybody.
  bool promises_something() const { return facts.labels.empty(); }
};

// DataLoss names the first thing that does not fit: an agreement that cannot be planned, a manifest
// whose hash is another, a ledger that does not end where it should or was charged for another
// agreement, noise or rate, or for nothing, a round that is missing, an attempt that was not
// charged, a charge without an attempt, more or fewer participants than the agreement allows, an
// unknown label.
absl::StatusOr<AuditedRun> CheckFacts(AuditFacts facts);

}  // namespace tacet::report

#endif  // TACET_REPORT_AUDIT_FACTS_H_
