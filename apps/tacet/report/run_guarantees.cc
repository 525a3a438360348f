#include "apps/tacet/report/run_guarantees.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <utility>

#include "apps/tacet/run/run_output.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/agreement/manifest_bytes.h"
#include "tacet/base/parallel.h"
#include "tacet/base/status.h"

namespace tacet::app::report {

using accounting::FederationPrivacySpec;

namespace {

// Privacy cost of a run for each observer; with the federation when there is a guarantee to state.
struct Priced {
  base::JsonValue rows;
  std::optional<FederationPrivacySpec> spec;
};

absl::StatusOr<Priced> PriceOf(const run::RunRecord& run) {
  const auto nothing = [](std::string_view reason) {
    return Priced{
        .rows =
            base::JsonValue::MakeObject().Set("epsilon", base::JsonValue()).Set("reason", reason),
        .spec = std::nullopt};
  };
  const absl::StatusOr<agreement::Manifest> manifest = ManifestOf(run);
  if (manifest.status().code() == absl::StatusCode::kFailedPrecondition) {
    return nothing(base::Message(manifest.status()));
  }
  TACET_RETURN_IF_ERROR(manifest.status());
  const uint64_t attempts = ChargedAttempts(run);
  Priced priced;
  TACET_ASSIGN_OR_RETURN(priced.rows, run::PrivacyJson(*manifest, attempts));
  if (priced.rows.Find("reason") == nullptr) priced.spec = PrivacyOf(manifest->spec(), attempts);
  return priced;
}

struct Statement {
  FederationPrivacySpec spec;
  absl::StatusOr<privacy::PrivacyStatement> text;
};

absl::StatusOr<privacy::PrivacyStatement> StateGuarantees(const FederationPrivacySpec& spec) {
  TACET_ASSIGN_OR_RETURN(const std::vector<accounting::PrivacyRow> rows,
                         accounting::PrivacyRows(spec));
  return privacy::StatePrivacy(spec, rows);
}

}  // namespace

absl::StatusOr<agreement::Manifest> ManifestOf(const run::RunRecord& run) {
  if (!run.ledger || run.ledger->entries.empty()) {
    return base::FailedPrecondition("nothing was charged yet");
  }
  const crypto::Digest& hash = run.ledger->entries.back().label.manifest_hash;
  const auto kept = run.manifests.find(hash);
  if (kept == run.manifests.end()) {
    return base::FailedPrecondition("the run did not keep the manifest {}",
                                    run::ManifestFile(hash));
  }
  TACET_ASSIGN_OR_RETURN(agreement::ManifestSpec spec, agreement::ReadManifestBytes(kept->second));
  return agreement::Manifest::Create(std::move(spec));
}

uint64_t ChargedAttempts(const run::RunRecord& run) {
  uint64_t attempts = 0;
  if (run.ledger) {
    for (const ledger::LedgerEntry& entry : run.ledger->entries) attempts += entry.count;
  } else {
    for (const simulation::RoundRecord& round : run.rounds) attempts += round.attempts;
  }
  return attempts;
}

absl::StatusOr<std::vector<RunGuarantees>> GuaranteesOf(std::span<const run::RunRecord> runs) {
  std::vector<RunGuarantees> promises(runs.size());
  // Statements to make, by the rows that they are about: those hold all that a statement needs.
  std::map<std::string, Statement> statements;
  std::vector<Statement*> of_run(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    absl::StatusOr<Priced> priced = PriceOf(runs[i]);
    if (!priced.ok()) return base::Annotate(priced.status(), runs[i].path.string());
    promises[i].rows = std::move(priced->rows);
    if (!priced->spec) continue;
    of_run[i] = &statements[promises[i].rows.Dump()];
    of_run[i]->spec = *priced->spec;
  }
  std::vector<Statement*> waiting;
  for (auto& [rows, statement] : statements) waiting.push_back(&statement);
  std::atomic<size_t> next = 0;
  base::RunOnThreads(std::min(base::Processors(), waiting.size()), [&](size_t) {
    for (size_t i = next++; i < waiting.size(); i = next++) {
      waiting[i]->text = StateGuarantees(waiting[i]->spec);
    }
  });
  for (size_t i = 0; i < runs.size(); ++i) {
    if (of_run[i] == nullptr) continue;
    if (!of_run[i]->text.ok()) {
      return base::Annotate(of_run[i]->text.status(), runs[i].path.string());
    }
    promises[i].statement = *of_run[i]->text;
  }
  return promises;
}

}  // namespace tacet::app::report
