#include "apps/tacet/audit/run_audit.h"

#include <algorithm>
#include <compare>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/tacet/program/commit.h"
#include "apps/tacet/program/software.h"
#include "apps/tacet/run/training_run.h"
#include "tacet/base/json_members.h"
#include "tacet/base/status.h"
#include "tacet/federation/manifest_bytes.h"

namespace tacet::app {
namespace {

using federation::LedgerEntry;
using report::AttemptOutcome;
using report::AuditedAttempt;
using report::AuditedRound;
using report::AuditFacts;

// The manifests that charges were made under, in their order, and the agreement they share.
absl::Status AddManifests(const RunRecord& run, AuditFacts& facts) {
  for (const LedgerEntry& entry : run.ledger->entries) {
    const base::Digest& hash = entry.label.manifest_hash;
    if (std::ranges::find(facts.manifests, hash, &report::AuditedManifest::hash) !=
        facts.manifests.end()) {
      continue;
    }
    report::AuditedManifest& manifest = facts.manifests.emplace_back();
    manifest.hash = hash;
    const auto kept = run.manifests.find(hash);
    if (kept == run.manifests.end()) continue;
    TACET_ASSIGN_OR_RETURN(federation::ManifestSpec spec,
                           federation::ReadManifestBytes(kept->second));
    facts.agreement = federation::AgreementBytes(spec);
    manifest.members = std::move(spec.members);
  }
  if (!facts.agreement.empty()) return absl::OkStatus();
  const absl::StatusOr<std::unique_ptr<TrainingRun>> again =
      TrainingRun::Create(run.config, stderr);
  if (!again.ok()) {
    return base::Annotate(again.status(),
                          "the run kept no manifest, and its agreement cannot be made again");
  }
  facts.agreement = federation::AgreementBytes((*again)->agreement());
  return absl::OkStatus();
}

// One after the other all rounds that are complete or that the ledger was charged for.
std::vector<AuditedRound> RoundsOf(const RunRecord& run) {
  std::map<federation::BegunAttempt, federation::Refusal,
           decltype([](const auto& a, const auto& b) {
             return std::tie(a.round, a.epoch, a.attempt) < std::tie(b.round, b.epoch, b.attempt);
           })>
      refused;
  for (const auto& [attempt, why] : run.refused) refused.emplace(attempt, why);
  std::map<uint32_t, AuditedRound> rounds;
  for (const federation::RoundRecord& record : run.rounds) {
    rounds[record.round] = {.round = record.round, .participants = record.cohort_size};
  }
  for (const LedgerEntry& entry : run.ledger->entries) {
    AuditedRound& round = rounds[entry.label.round];
    round.round = entry.label.round;
    AuditedAttempt& attempt = round.attempts.emplace_back();
    attempt.epoch = entry.label.epoch;
    attempt.attempt = entry.label.attempt;
    const auto found =
        refused.find({.epoch = attempt.epoch, .round = round.round, .attempt = attempt.attempt});
    if (found == refused.end()) continue;
    attempt.outcome = AttemptOutcome::kRefused;
    attempt.reason = federation::RefusalName(found->second);
  }
  std::vector<AuditedRound> list;
  for (auto& [number, round] : rounds) {
    std::ranges::sort(round.attempts, {}, [](const AuditedAttempt& attempt) {
      return std::pair(attempt.epoch, attempt.attempt);
    });
    if (round.participants > 0 && !round.attempts.empty()) {
      round.attempts.back().outcome = AttemptOutcome::kOpened;
      round.attempts.back().reason.clear();
    }
    list.push_back(std::move(round));
  }
  return list;
}

// The last evaluation: the summary's, or that of the last round that was evaluated.
absl::Status AddResult(const RunRecord& run, AuditFacts& facts) {
  for (const federation::RoundRecord& record : run.rounds) {
    if (!record.evaluation.has_value()) continue;
    facts.result = {.accuracy = record.evaluation->accuracy, .loss = record.evaluation->loss};
  }
  if (run.summary.has_value()) {
    base::JsonMembers summary(*run.summary);
    facts.result.emplace();
    summary.Need("accuracy", facts.result->accuracy);
    summary.Need("loss", facts.result->loss);
    summary.Take("stopped", facts.stopped);
    TACET_RETURN_IF_ERROR(base::Annotate(summary.status(), "summary.json"));
  }
  if (facts.result.has_value() && run.start.has_value()) {
    facts.result->samples = run.start->evaluation.samples;
  }
  return absl::OkStatus();
}

base::Bytes WholeLedger(const federation::RecoveredLedger& ledger) {
  base::Bytes bytes = federation::WriteLedgerHeader(ledger.header);
  base::Digest head = ledger.end.genesis;
  for (const LedgerEntry& entry : ledger.entries) {
    const base::Bytes record = federation::WriteLedgerRecord(entry, head);
    head = federation::RecordHash(record);
    bytes.insert(bytes.end(), record.begin(), record.end());
  }
  return bytes;
}

}  // namespace

absl::StatusOr<report::AuditFacts> FactsOfRun(const RunRecord& run, uint64_t now) {
  if (!run.ledger.has_value() || run.ledger->entries.empty()) {
    return base::FailedPrecondition(
        "the run in {} has charged nothing yet: there is nothing to "
        "audit",
        run.path.string());
  }
  AuditFacts facts;
  facts.created = now;
  if (run.start.has_value()) {
    facts.audit_key = run.start->audit_key;
    facts.training_commits = run.start->commit;
  }
  facts.labels = run.labels;
  facts.finished = run.finished();
  TACET_RETURN_IF_ERROR(AddResult(run, facts));
  TACET_RETURN_IF_ERROR(AddManifests(run, facts));
  facts.rounds = RoundsOf(run);
  facts.ledger = WholeLedger(*run.ledger);
  facts.ledger_end = run.ledger->end;
  facts.version = SoftwareVersion();
  facts.program_commit = BuildCommit();
  facts.dependencies = SoftwareDependencies();
  return facts;
}

}  // namespace tacet::app
