#include "tacet/run/run_audit.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tacet/agreement/manifest_bytes.h"
#include "tacet/audit/commit.h"
#include "tacet/audit/software.h"
#include "tacet/base/json_members.h"
#include "tacet/base/status.h"
#include "tacet/config/configured_data.h"
#include "tacet/protocol/abstention.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/run/answer_check.h"
#include "tacet/run/run_output.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::run {
namespace {

using agreement::ManifestSpec;
using ledger::LedgerEntry;
using tacet::audit::AttemptOutcome;
using tacet::audit::AuditedAttempt;
using tacet::audit::AuditedRound;
using tacet::audit::AuditFacts;

// The manifests that charges were made under, in their order, and their agreements, in the order of
// their last charges.
absl::Status AddManifests(const run::RunRecord& run, AuditFacts& facts) {
  std::map<crypto::Digest, base::Bytes> agreements;  // by manifest
  for (const LedgerEntry& entry : run.ledger->entries) {
    const crypto::Digest& hash = entry.label.manifest_hash;
    const auto kept = run.manifests.find(hash);
    if (std::ranges::find(facts.manifests, hash, &tacet::audit::AuditedManifest::hash) ==
        facts.manifests.end()) {
      tacet::audit::AuditedManifest& manifest = facts.manifests.emplace_back();
      manifest.hash = hash;
      if (kept == run.manifests.end()) continue;
      TACET_ASSIGN_OR_RETURN(agreement::ManifestSpec spec,
                             agreement::ReadManifestBytes(kept->second));
      agreements[hash] = agreement::AgreementBytes(spec);
      manifest.agreement = crypto::Sha256(agreements[hash]);
      manifest.epoch = spec.epoch;
      manifest.members = std::move(spec.members);
    }
    if (kept == run.manifests.end()) continue;
    std::erase(facts.agreements, agreements.at(hash));
    facts.agreements.push_back(agreements.at(hash));
  }
  if (run.ledger->entries.empty()) {
    for (const auto& [hash, bytes] : run.manifests) {
      TACET_ASSIGN_OR_RETURN(agreement::ManifestSpec spec, agreement::ReadManifestBytes(bytes));
      facts.agreements.push_back(agreement::AgreementBytes(spec));
      facts.manifests.push_back({.hash = hash,
                                 .epoch = spec.epoch,
                                 .agreement = crypto::Sha256(facts.agreements.back()),
                                 .members = std::move(spec.members)});
    }
  }
  if (facts.agreements.empty()) {
    return base::FailedPrecondition("the run in {} did not keep the manifests of its charges",
                                    run.path.string());
  }
  for (tacet::audit::AuditedManifest& manifest : facts.manifests) {
    if (manifest.members.has_value()) continue;
    if (facts.kind == tacet::audit::RunKind::kMember) {
      return base::FailedPrecondition(
          "the run in {} did not keep the manifest {}: start `tacet client run` in its home again, "
          "which writes it",
          run.path.string(), run::ManifestFile(manifest.hash));
    }
    manifest.agreement = crypto::Sha256(facts.agreements.back());
  }
  return absl::OkStatus();
}

// The record is about the agreement of the last charge. A member that came back after the last
// round may have another number in the epoch in which its run ended, which its last attestation
// names.
absl::Status SetMember(const run::RunRecord& run, AuditFacts& facts) {
  if (!facts.member.has_value() || run.attestations.empty()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const crypto::Digest last,
                         protocol::ManifestOfAttestation(run.attestations.back()));
  const tacet::audit::AuditedManifest& charged = facts.manifests.back();
  if (last == charged.hash) return absl::OkStatus();
  const absl::StatusOr<base::Bytes> bytes = storage::file::ReadFile(run.path / ManifestFile(last));
  if (bytes.status().code() == absl::StatusCode::kNotFound) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(bytes.status());
  TACET_ASSIGN_OR_RETURN(const ManifestSpec spec, agreement::ReadManifestBytes(*bytes));
  if (*facts.member >= spec.members.size()) return absl::OkStatus();
  const auto same = std::ranges::find(*charged.members, spec.members[*facts.member].signing_key,
                                      &agreement::MemberIdentity::signing_key);
  if (same != charged.members->end()) {
    facts.member = static_cast<uint64_t>(same - charged.members->begin());
  }
  return absl::OkStatus();
}

// One after the other all rounds that are complete or that the ledger was charged for.
std::vector<AuditedRound> RoundsOf(const run::RunRecord& run) {
  const std::map<secagg::AttemptNumber, simulation::Refusal> refused(run.refused.begin(),
                                                                     run.refused.end());
  std::map<uint32_t, AuditedRound> rounds;
  for (const simulation::RoundRecord& record : run.rounds) {
    rounds[record.round] = {.round = record.round,
                            .participants = record.cohort_size,
                            .sum_not_seen = record.cohort_size == 0,
                            .model = record.model,
                            .model_epoch = record.model_epoch};
  }
  for (const LedgerEntry& entry : run.ledger->entries) {
    const secagg::AttemptNumber& number = entry.label.number;
    AuditedRound& round = rounds[number.round];
    round.round = number.round;
    AuditedAttempt& attempt = round.attempts.emplace_back();
    attempt.epoch = number.epoch;
    attempt.attempt = number.attempt;
    const auto found = refused.find(number);
    if (found == refused.end()) continue;
    attempt.outcome = AttemptOutcome::kRefused;
    attempt.reason = simulation::RefusalName(found->second);
  }
  std::vector<AuditedRound> list;
  for (auto& [number, round] : rounds) {
    std::ranges::sort(round.attempts, {}, [](const AuditedAttempt& attempt) {
      return std::pair(attempt.epoch, attempt.attempt);
    });
    if (round.complete() && !round.attempts.empty()) {
      round.attempts.back().outcome = AttemptOutcome::kDecrypted;
      round.attempts.back().reason.clear();
    }
    list.push_back(std::move(round));
  }
  return list;
}

absl::Status CutLedger(std::string_view file, const secagg::AttemptNumber& attempt) {
  return base::DataLoss(
      "{} lists round {} attempt {} of epoch {}, which the ledger does not charge: charges were "
      "cut from it",
      file, attempt.round, attempt.attempt, attempt.epoch);
}

// The ledger has a charge for everything that the other files know of.
absl::Status CheckNothingIsCut(const run::RunRecord& run) {
  std::set<secagg::AttemptNumber> charged;
  std::map<uint32_t, uint32_t> in_round;
  for (const LedgerEntry& entry : run.ledger->entries) {
    charged.insert(entry.label.number);
    ++in_round[entry.label.number.round];
  }
  for (const secagg::AttemptNumber& attempt : run.begun) {
    if (!charged.contains(attempt)) return CutLedger(run::kAttemptsFile, attempt);
  }
  for (const auto& [attempt, why] : run.refused) {
    if (!charged.contains(attempt)) return CutLedger(run::kRefusedFile, attempt);
  }
  for (const simulation::RoundRecord& round : run.rounds) {
    // A member has no attempt of a round at which it was not there.
    const uint32_t least = round.cohort_size == 0 ? round.attempts : std::max(round.attempts, 1u);
    if (in_round[round.round] < least) {
      return base::DataLoss(
          "{} lists {} attempts of round {}, the ledger charges {}: charges were cut from it",
          run::kMetricsFile, least, round.round, in_round[round.round]);
    }
    if (round.charged_attempts > charged.size()) {
      return base::DataLoss(
          "{} counts {} charges up to round {}, the ledger has {}: charges were cut from it",
          run::kMetricsFile, round.charged_attempts, round.round, charged.size());
    }
  }
  if (!run.summary.has_value()) return absl::OkStatus();
  uint64_t attempts = 0, rounds = 0;
  base::JsonMembers summary(*run.summary);
  summary.Need("charged_attempts", attempts);
  summary.Need("rounds", rounds);
  TACET_RETURN_IF_ERROR(base::Annotate(summary.status(), run::kSummaryFile));
  if (attempts == charged.size() && rounds == run.rounds.size()) return absl::OkStatus();
  return base::DataLoss(
      "{} counts {} rounds and {} charges, {} has {} rounds and the ledger {} charges",
      run::kSummaryFile, rounds, attempts, run::kMetricsFile, run.rounds.size(), charged.size());
}

// Where a simulation would continue is where its rounds ended, or one round before: a process ended
// between the two.
absl::Status CheckCheckpoint(const run::RunRecord& run, const std::optional<base::Bytes>& bytes,
                             std::span<const uint8_t> agreement, const ManifestSpec& agreed) {
  if (!bytes.has_value()) return absl::OkStatus();
  const std::string_view file = run::kCheckpointFile;
  TACET_ASSIGN_OR_RETURN(
      const protocol::Checkpoint checkpoint,
      protocol::ReadCheckpoint(
          *bytes,
          agreed.federation == crypto::Digest{} ? crypto::Sha256(agreement) : agreed.federation,
          agreed.training, protocol::StateSizeOf(agreed)));
  const uint32_t rounds = checkpoint.next_round;
  if (rounds > run.rounds.size()) {
    return base::DataLoss("{} counts {} rounds, {} has {}: rounds were cut from it", file, rounds,
                          run::kMetricsFile, run.rounds.size());
  }
  if (rounds == 0 || !agreed.federated_part.empty()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const bool is_same,
                         run::IsModelOf(run, run.rounds[rounds - 1], checkpoint.model));
  if (is_same) return absl::OkStatus();
  return base::DataLoss("the model in {} is not the one with which round {} ended by {}", file,
                        rounds - 1, run::kMetricsFile);
}

absl::Status AddReleasedModel(const run::RunRecord& run, const ManifestSpec& agreed,
                              AuditFacts& facts) {
  if (!facts.finished) return absl::OkStatus();
  if (run.rounds.empty()) {
    facts.released_model = agreed.initial_model;
    return absl::OkStatus();
  }
  const simulation::RoundRecord& last = run.rounds.back();
  const std::filesystem::path path = run.path / run::kModelFile;
  const absl::StatusOr<std::vector<float>> model =
      config::LoadParameters(path.string(), path.string());
  if (!model.ok()) return base::Annotate(model.status(), "the released model");
  TACET_ASSIGN_OR_RETURN(const bool is_last, run::IsModelOf(run, last, *model));
  if (!is_last) {
    return base::DataLoss("{} is not the model with which round {} ended by {}", path.string(),
                          last.round, run::kMetricsFile);
  }
  facts.released_model = last.model;
  return absl::OkStatus();
}

// Those that can be checked: a manifest under which nothing was charged is not in the record.
void AddStatements(const run::RunRecord& run, AuditFacts& facts) {
  const auto is_known = [&facts](const absl::StatusOr<crypto::Digest>& manifest) {
    return manifest.ok() &&
           std::ranges::find(facts.manifests, *manifest, &tacet::audit::AuditedManifest::hash) !=
               facts.manifests.end();
  };
  for (const base::Bytes& attestation : run.attestations) {
    if (is_known(protocol::ManifestOfAttestation(attestation))) {
      facts.attestations.push_back(attestation);
    }
  }
  for (const base::Bytes& abstention : run.abstentions) {
    if (is_known(protocol::ManifestOfAbstention(abstention))) {
      facts.abstentions.push_back(abstention);
    }
  }
}

// The last evaluation that was published, rounded: the summary's, or that of the last round that
// was evaluated. The record holds both figures or none.
absl::Status AddResult(const run::RunRecord& run, AuditFacts& facts) {
  std::optional<trainer::Evaluation> last;
  for (const simulation::RoundRecord& record : run.rounds) {
    if (record.evaluation.has_value()) last = record.evaluation;
  }
  if (run.summary.has_value()) {
    last.emplace();
    base::JsonMembers summary(*run.summary);
    summary.Take("accuracy", last->accuracy);
    summary.Take("loss", last->loss);
    summary.Take("stopped", facts.stopped);
    TACET_RETURN_IF_ERROR(base::Annotate(summary.status(), "summary.json"));
  }
  if (!last.has_value() || !last->accuracy || !last->loss) return absl::OkStatus();
  facts.result = {.accuracy = tacet::audit::RoundedShare(*last->accuracy),
                  .loss = tacet::audit::RoundedLoss(*last->loss)};
  if (run.start.has_value() && run.start->evaluation.has_value()) {
    facts.result->samples = run.start->evaluation->samples;
  }
  return absl::OkStatus();
}

// The charges, in a chain of their own: what else a ledger records is the site's own business.
void AddLedger(const ledger::RecoveredLedger& ledger, AuditFacts& facts) {
  facts.ledger = ledger::WriteLedgerHeader(ledger.header);
  facts.ledger_end = {.genesis = ledger.end.genesis, .count = 0, .head = ledger.end.genesis};
  for (const LedgerEntry& entry : ledger.entries) {
    const base::Bytes record = ledger::WriteLedgerRecord(entry, facts.ledger_end.head);
    facts.ledger_end.head = ledger::RecordHash(record);
    ++facts.ledger_end.count;
    facts.ledger.insert(facts.ledger.end(), record.begin(), record.end());
  }
}

// A record is about announced attempts, of which every member has the same.
absl::Status CheckRule(const run::RunRecord& run) {
  for (const LedgerEntry& entry : run.ledger->entries) {
    if (entry.rule == ledger::ChargingRule::kAnnouncedAttempts) continue;
    return base::FailedPrecondition(
        "the run in {} was charged by {}: an audit record needs announced-attempts",
        run.path.string(), ledger::ChargingRuleName(entry.rule));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunToAudit> ReadRunToAudit(const std::filesystem::path& path, uint64_t now) {
  // Read first: rounds, ledger and summary of a run that continues are never behind it.
  std::optional<base::Bytes> checkpoint;
  absl::StatusOr<base::Bytes> bytes = storage::file::ReadFile(path / run::kCheckpointFile);
  if (bytes.ok()) {
    checkpoint = *std::move(bytes);
  } else if (bytes.status().code() != absl::StatusCode::kNotFound) {
    return bytes.status();
  }
  TACET_ASSIGN_OR_RETURN(run::RunRecord run, run::LoadRun(path));
  // A member that came after the last round has a model, and no charge.
  const bool came_late = run.finished() && !run.attestations.empty();
  if (!run.ledger.has_value() || (run.ledger->entries.empty() && !came_late)) {
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
    facts.kind = run.start->part.kind;
    facts.processes = run.start->part.processes;
    facts.member = run.start->part.member;
  }
  TACET_RETURN_IF_ERROR(CheckRule(run));
  TACET_RETURN_IF_ERROR(CheckNothingIsCut(run));
  facts.labels = run.labels;
  facts.finished = run.finished();
  TACET_RETURN_IF_ERROR(AddResult(run, facts));
  TACET_RETURN_IF_ERROR(AddManifests(run, facts));
  TACET_RETURN_IF_ERROR(SetMember(run, facts));
  TACET_ASSIGN_OR_RETURN(const ManifestSpec agreed,
                         agreement::ReadAgreementBytes(facts.agreements.back()));
  TACET_RETURN_IF_ERROR(CheckCheckpoint(run, checkpoint, facts.agreements.back(), agreed));
  TACET_RETURN_IF_ERROR(AddReleasedModel(run, agreed, facts));
  AddStatements(run, facts);
  TACET_ASSIGN_OR_RETURN(std::optional<run::RunAnswers> answered, run::AnswersOfRun(run));
  if (answered.has_value()) {
    facts.query = tacet::audit::AuditedQuery{.agreed = std::move(answered->agreed),
                                             .text = answered->text,
                                             .answers = std::move(answered->answers)};
  }
  facts.rounds = RoundsOf(run);
  AddLedger(*run.ledger, facts);
  facts.version = audit::SoftwareVersion();
  facts.program_commit = audit::BuildCommit();
  facts.dependencies = audit::SoftwareDependencies();
  return RunToAudit{.run = std::move(run), .facts = std::move(facts)};
}

}  // namespace tacet::run
