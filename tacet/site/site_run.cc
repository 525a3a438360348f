#include "tacet/site/site_run.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "tacet/agreement/charged_terms.h"
#include "tacet/agreement/manifest_bytes.h"
#include "tacet/base/float_bytes.h"
#include "tacet/base/status.h"
#include "tacet/protocol/attestation.h"
#include "tacet/run/directory_run.h"
#include "tacet/run/query_run.h"
#include "tacet/run/run_reader.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/upload.h"
#include "tacet/storage/file/data_key.h"
#include "tacet/storage/file/digest_key_file.h"

namespace tacet::site {

std::filesystem::path RunFolderOf(const std::filesystem::path& home, uint32_t training) {
  return home / (training == 0 ? "run" : fmt::format("run-{}", training));
}

absl::StatusOr<std::unique_ptr<SiteRun>> SiteRun::Open(const std::filesystem::path& home,
                                                       const SiteTraining& training,
                                                       const storage::file::Membership& membership,
                                                       const base::TextSink& out,
                                                       const base::TextSink& figures) {
  TACET_ASSIGN_OR_RETURN(
      std::unique_ptr<storage::file::RunDirectory> directory,
      run::RunDirectoryOfSite(RunFolderOf(home, membership.manifest.training()), training.config));
  return std::unique_ptr<SiteRun>(
      new SiteRun(training, membership, std::move(directory), out, figures));
}

// The key is in the site's home, not in the run's directory, which others may be given.
absl::StatusOr<bool> SiteRun::TakeUpData() const {
  const std::filesystem::path digest = path() / storage::file::kDataDigestFile;
  TACET_ASSIGN_OR_RETURN(
      const crypto::SecretBytes key,
      storage::file::DataKeyOrNew(path().parent_path() / storage::file::kDataKeyFile));
  const absl::StatusOr<bool> same = storage::file::AreDataOfRun(digest, key, training_.data.digest);
  const bool is_damaged = same.status().code() == absl::StatusCode::kDataLoss;
  if (!is_damaged) TACET_RETURN_IF_ERROR(same.status());
  if (is_damaged || !*same) {
    TACET_RETURN_IF_ERROR(storage::file::WriteDataOfRun(digest, key, training_.data.digest));
  }
  return !is_damaged && *same;
}

absl::Status SiteRun::OpenRunLedger(const ledger::PrivacyLedger& ledger) {
  TACET_ASSIGN_OR_RETURN(
      ledger_, RunLedger::Open(path() / run::kLedgerFile, manifest(), membership_.earlier(),
                               ledger.header().population));
  std::set<uint32_t> before;
  for (const agreement::EpochLink& epoch : membership_.earlier())
    before.insert(epoch.agreed.training);
  before.erase(manifest().spec().training);
  for (const uint32_t training : before) {
    TACET_RETURN_IF_ERROR(
        CheckHasChargesOf(RunFolderOf(path().parent_path(), training) / run::kLedgerFile, ledger));
  }
  return ledger_->Update(ledger);
}

absl::StatusOr<std::optional<trainer::Evaluation>> SiteRun::Evaluate(
    const member::MemberSession& session) const {
  if (training_.learner == nullptr || !training_.config.run.publish_evaluation.value_or(false)) {
    return std::nullopt;
  }
  TACET_ASSIGN_OR_RETURN(const trainer::Evaluation evaluation,
                         training_.learner->Evaluate(session.model(), 1));
  return std::optional(run::Rounded(evaluation));
}

absl::Status SiteRun::Begin(const member::MemberSession& session,
                            const ledger::PrivacyLedger& ledger) {
  TACET_RETURN_IF_ERROR(OpenRunLedger(ledger));
  TACET_RETURN_IF_ERROR(directory_->KeepDigestKey(session.epoch(), session.digest_key()));
  TACET_ASSIGN_OR_RETURN(last_, Evaluate(session));
  TACET_RETURN_IF_ERROR(reporter_.Start(manifest(), session.next_round(), last_));
  TACET_RETURN_IF_ERROR(KeepEarlierManifests());
  // A process may have ended between applying a round and writing it down.
  TACET_ASSIGN_OR_RETURN(const std::vector<std::string> lines, KeepReadableRounds());
  written_ = static_cast<uint32_t>(lines.size());
  // Or between undoing a round and forgetting it.
  TACET_RETURN_IF_ERROR(ForgetAttestations(session.next_round()));
  TACET_RETURN_IF_ERROR(abstentions_.Forget(std::min(written_, session.next_round())));
  if (lines.empty() || written_ != session.next_round()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const bool is_same, IsModelOf(lines.back(), session.model()));
  return is_same ? absl::OkStatus() : Undo(written_ - 1);
}

// The lines after a damaged one are written again.
absl::StatusOr<std::vector<std::string>> SiteRun::KeepReadableRounds() {
  TACET_ASSIGN_OR_RETURN(std::vector<std::string> lines, directory_->ReadLines(run::kMetricsFile));
  const auto damaged =
      std::ranges::find_if(lines, [](const std::string& line) { return !run::RoundOf(line).ok(); });
  lines.erase(damaged, lines.end());
  TACET_RETURN_IF_ERROR(directory_->KeepLines(run::kMetricsFile, lines.size()));
  return lines;
}

// The line's digest is under the key of the epoch in which it was written, which the run keeps.
// Where the key is lost nobody can tell.
absl::StatusOr<bool> SiteRun::IsModelOf(const std::string& line,
                                        std::span<const float> model) const {
  TACET_ASSIGN_OR_RETURN(const simulation::RoundRecord record, run::RoundOf(line));
  if (!record.model.has_value()) return false;
  const absl::StatusOr<secagg::DigestKey> key =
      storage::file::ReadDigestKey(path() / storage::file::DigestKeyFile(record.model_epoch));
  if (key.status().code() == absl::StatusCode::kNotFound) return false;
  if (key.status().code() == absl::StatusCode::kDataLoss) return false;
  TACET_RETURN_IF_ERROR(key.status());
  return record.model == key->OfModel(model);
}

absl::Status SiteRun::Undo(uint32_t round) {
  TACET_RETURN_IF_ERROR(directory_->KeepLines(run::kMetricsFile, round));
  TACET_RETURN_IF_ERROR(ForgetAttestations(round));
  TACET_RETURN_IF_ERROR(abstentions_.Forget(round));
  written_ = std::min(written_, round);
  attested_.reset();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<simulation::RoundRecord>> SiteRun::Rounds() const {
  TACET_ASSIGN_OR_RETURN(const std::vector<std::string> lines,
                         directory_->ReadLines(run::kMetricsFile));
  std::vector<simulation::RoundRecord> rounds;
  for (const std::string& line : lines) {
    TACET_ASSIGN_OR_RETURN(rounds.emplace_back(), run::RoundOf(line));
  }
  return rounds;
}

// Attestations of more than `rounds` rounds. They are in order.
absl::Status SiteRun::ForgetAttestations(uint32_t rounds) {
  TACET_ASSIGN_OR_RETURN(const std::vector<std::string> lines,
                         directory_->ReadLines(run::kAttestationsFile));
  size_t kept = lines.size();
  for (; kept > 0; --kept) {
    const absl::StatusOr<base::Bytes> bytes = base::FromHex(lines[kept - 1]);
    if (!bytes.ok()) continue;  // it is damaged
    const absl::StatusOr<crypto::Digest> hash = protocol::ManifestOfAttestation(*bytes);
    if (!hash.ok()) continue;
    const absl::StatusOr<protocol::Attestation> attestation =
        protocol::ReadAttestation(*bytes, *hash, MembersUnder(membership_, *hash));
    if (!attestation.ok() || attestation->round <= rounds) break;
  }
  return directory_->KeepLines(run::kAttestationsFile, kept);
}

absl::Status SiteRun::Progress(const member::MemberSession& session,
                               const ledger::PrivacyLedger& ledger) {
  for (; undone_ < session.undone().size(); ++undone_) {
    TACET_RETURN_IF_ERROR(Undo(session.undone()[undone_]));
  }
  if (written_ == session.next_round()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(last_, Evaluate(session));
  TACET_RETURN_IF_ERROR(ledger_->Update(ledger));
  while (written_ < session.next_round()) {
    TACET_RETURN_IF_ERROR(Write(session, written_));
    ++written_;
  }
  return Attest(session);
}

absl::StatusOr<double> SiteRun::Epsilon() const {
  TACET_ASSIGN_OR_RETURN(const std::vector<agreement::ChargedTerms> charged, ledger_->Terms());
  const std::vector<agreement::ChargedTerms> permitted =
      charged.empty() ? agreement::PermittedTerms(manifest()) : agreement::PermittedTerms(charged);
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                         agreement::GuaranteesOf(permitted, accounting::Extent::kHeadline));
  return guarantees.epsilon();
}

absl::StatusOr<double> SiteRun::ChargedEpsilon() const {
  TACET_ASSIGN_OR_RETURN(const std::vector<agreement::ChargedTerms> terms, ledger_->Terms());
  return agreement::ChargedEpsilon(terms);
}

// For epochs in which this site was charged without having worked on the run.
absl::Status SiteRun::KeepEarlierManifests() {
  for (const agreement::EpochLink& epoch : membership_.earlier()) {
    const bool charged = std::ranges::any_of(
        ledger_->entries(),
        [&](const ledger::LedgerEntry& entry) { return entry.label.manifest_hash == epoch.hash; });
    if (!charged) continue;
    TACET_RETURN_IF_ERROR(directory_->WriteFile(run::ManifestFile(epoch.hash),
                                                agreement::ManifestBytes(epoch.agreed)));
  }
  return absl::OkStatus();
}

absl::Status SiteRun::Attest(const member::MemberSession& session) {
  if (!session.has_entered() || attested_ == session.next_round()) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(
      directory_->AppendLine(run::kAttestationsFile, base::ToHex(session.Attestation())));
  attested_ = session.next_round();
  return absl::OkStatus();
}

// The others' attestations of the same model are welcome; the run is done without them.
absl::Status SiteRun::KeepOthersAttestations(const member::MemberSession& session) {
  const absl::StatusOr<std::vector<base::Bytes>> others = session.FetchAttestations();
  if (!others.ok()) {
    reporter_.OnNote("the other members' attestations of the last model could not be fetched: " +
                     base::Message(others.status()));
    return absl::OkStatus();
  }
  for (const base::Bytes& attestation : *others) {
    TACET_RETURN_IF_ERROR(directory_->AppendLine(run::kAttestationsFile, base::ToHex(attestation)));
  }
  return absl::OkStatus();
}

// Rounds that were missed and skipped by a checkpoint have no participants that this site knows of.
absl::Status SiteRun::Write(const member::MemberSession& session, uint32_t round) {
  simulation::RoundRecord record;
  record.round = round;
  record.model_epoch = session.epoch();
  const auto applied =
      std::ranges::find(session.applied(), round, &member::MemberSession::AppliedRound::round);
  if (applied != session.applied().end()) {
    record.cohort_size = applied->participants;
    record.model = applied->model;
    record.abstained = static_cast<uint32_t>(applied->abstentions.size());
    record.abstains = std::ranges::any_of(applied->abstentions, [this](const auto& one) {
      return one.said.member == *membership_.member;
    });
    TACET_RETURN_IF_ERROR(abstentions_.Keep(applied->abstentions));
  }
  if (round + 1 == session.next_round()) record.model = session.model_digest();
  record.attempts = static_cast<uint32_t>(std::ranges::count_if(
      ledger_->entries(),
      [&](const ledger::LedgerEntry& entry) { return entry.label.number.round == round; }));
  record.charged_attempts = ledger_->entries().size();
  if (round + 1 == session.next_round()) record.evaluation = last_;
  TACET_ASSIGN_OR_RETURN(record.charged_epsilon, ChargedEpsilon());
  record.seconds.total = since_round_.Restart();
  record.upload_bytes = secagg::UploadBytes(manifest().terms().aggregation());
  record.sum_bytes = secagg::ClosedRoundBytes(manifest().terms().aggregation(), record.cohort_size);
  return reporter_.OnRound(record);
}

absl::StatusOr<SiteRunEnd> SiteRun::End(const member::MemberSession& session,
                                        const ledger::PrivacyLedger& ledger, bool done) {
  SiteRunEnd end;
  TACET_RETURN_IF_ERROR(Progress(session, ledger));
  TACET_RETURN_IF_ERROR(ledger_->Update(ledger));
  TACET_RETURN_IF_ERROR(directory_->WriteFile(run::kModelFile, base::FloatBytes(session.model())));
  if (!done) return end;
  if (training_.query.has_value() && session.next_round() == manifest().spec().rounds) {
    TACET_ASSIGN_OR_RETURN(end.missing, abstentions_.Missing());
    TACET_RETURN_IF_ERROR(run::WriteAnswers(*training_.query, membership_.manifest.annex(),
                                            manifest(), session.model(), *directory_, end.missing)
                              .status());
  }
  TACET_RETURN_IF_ERROR(Attest(session));
  TACET_RETURN_IF_ERROR(KeepOthersAttestations(session));
  simulation::SimulationResult result;
  result.rounds = session.next_round();
  result.charged_attempts = ledger_->entries().size();
  TACET_ASSIGN_OR_RETURN(result.charged_epsilon, ChargedEpsilon());
  TACET_ASSIGN_OR_RETURN(result.ledger, ledger_->Epsilon());
  result.ledger_charges = ledger_->entries().size();
  if (session.next_round() < manifest().spec().rounds) {
    TACET_ASSIGN_OR_RETURN(end.stopped, abstentions_.WhyStopped(session));
    result.stopped = end.stopped;
  }
  TACET_ASSIGN_OR_RETURN(const std::vector<simulation::RoundRecord> rounds, Rounds());
  TACET_ASSIGN_OR_RETURN(const std::vector<agreement::ChargedTerms> terms, ledger_->Terms());
  const std::vector<std::string> no_labels;
  TACET_ASSIGN_OR_RETURN(
      const base::JsonValue summary,
      run::SummaryJson({.labels = no_labels,
                        .manifest = manifest(),
                        .result = result,
                        .evaluation = last_,
                        .before = reporter_.before(),
                        .most_frequent_class = last_ ? std::optional(tacet::audit::RoundedShare(
                                                           training_.most_frequent_class))
                                                     : std::nullopt,
                        .terms = terms,
                        .rounds = rounds,
                        .seconds = since_start_.Seconds(),
                        .commit = reporter_.commit(),
                        .machine = run::MachineJson().Set("network", nullptr).Set("ranks", 1)}));
  TACET_RETURN_IF_ERROR(
      directory_->WriteFile(run::kSummaryFile, base::AsBytes(summary.Dump(2) + "\n")));
  return end;
}

}  // namespace tacet::site
