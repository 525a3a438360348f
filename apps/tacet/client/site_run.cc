#include "apps/tacet/client/site_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "apps/tacet/run/training_run.h"
#include "tacet/base/status.h"
#include "tacet/federation/data_digest.h"
#include "tacet/federation/float_bytes.h"
#include "tacet/secagg/opened_sum.h"
#include "tacet/secagg/upload.h"
#include "tacet/storage/file/data_key.h"

namespace tacet::app {

absl::StatusOr<std::unique_ptr<SiteRun>> SiteRun::Open(const std::filesystem::path& home,
                                                       const SiteTraining& training,
                                                       const federation::SignedManifest& manifest,
                                                       uint64_t member, std::FILE* out) {
  TACET_ASSIGN_OR_RETURN(std::unique_ptr<storage::file::RunDirectory> directory,
                         NewOrBegunRunDirectory(home / "run", training.config));
  return std::unique_ptr<SiteRun>(
      new SiteRun(training, manifest.manifest(), member, std::move(directory), out));
}

absl::StatusOr<std::unique_ptr<federation::ClientLedger>> SiteRun::OpenLedger(
    std::optional<double> budget_epsilon) {
  const federation::ManifestSpec& agreed = manifest_.spec();
  // In the site's home, not in the run's directory, which others may be given.
  TACET_ASSIGN_OR_RETURN(
      const base::SecretBytes data_key,
      storage::file::EnsureDataKey(path().parent_path() / storage::file::kDataKeyFile,
                                   path() / kLedgerFile));
  const federation::LedgerHeader header{
      .data_set = training_.data.name,
      .data_digest =
          federation::KeyedDataDigest(data_key, federation::kLedgerDigest, training_.data.digest),
      .rule = federation::ChargingRule::kAnnouncedAttempts,
      .unit = agreed.unit,
      .neighbouring = agreed.neighbouring,
      .spending = {.budget_epsilon = budget_epsilon.value_or(agreed.budget_epsilon),
                   .delta = agreed.delta,
                   .composition = federation::Composition::kOneEvent},
      .created = federation::SystemUnixSeconds()};
  TACET_ASSIGN_OR_RETURN(federation::OpenedLedger opened, directory_->OpenLedger(header));
  return federation::ClientLedger::Create(std::move(opened));
}

absl::StatusOr<std::optional<federation::Evaluation>> SiteRun::Evaluate(
    const federation::MemberSession& session) const {
  if (!training_.config.run.publish_evaluation.value_or(false)) return std::nullopt;
  TACET_ASSIGN_OR_RETURN(const federation::Evaluation evaluation,
                         training_.learner->Evaluate(session.model(), 1));
  return std::optional(Rounded(evaluation));
}

absl::Status SiteRun::Begin(const federation::MemberSession& session) {
  TACET_ASSIGN_OR_RETURN(last_, Evaluate(session));
  TACET_RETURN_IF_ERROR(reporter_.Start(manifest_, session.next_round(), last_));
  // A process may have ended between applying a round and writing it down.
  TACET_ASSIGN_OR_RETURN(const std::vector<std::string> lines, directory_->ReadLines(kMetricsFile));
  written_ = static_cast<uint32_t>(lines.size());
  return absl::OkStatus();
}

absl::Status SiteRun::Progress(const federation::MemberSession& session,
                               const federation::ClientLedger& ledger) {
  if (written_ == session.next_round()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(last_, Evaluate(session));
  while (written_ < session.next_round()) {
    TACET_RETURN_IF_ERROR(Write(session, ledger, written_));
    ++written_;
  }
  return Attest(session);
}

absl::Status SiteRun::Attest(const federation::MemberSession& session) {
  if (attested_ == session.next_round()) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(
      directory_->AppendLine(kAttestationsFile, base::ToHex(session.Attestation())));
  attested_ = session.next_round();
  return absl::OkStatus();
}

// What others say of the same model is welcome; the run is done without it.
absl::Status SiteRun::KeepOthersAttestations(const federation::MemberSession& session) {
  const absl::StatusOr<std::vector<base::Bytes>> others = session.FetchAttestations();
  if (!others.ok()) {
    reporter_.OnNote("the other members' attestations of the last model could not be fetched: " +
                     base::Message(others.status()));
    return absl::OkStatus();
  }
  for (const base::Bytes& attestation : *others) {
    TACET_RETURN_IF_ERROR(directory_->AppendLine(kAttestationsFile, base::ToHex(attestation)));
  }
  return absl::OkStatus();
}

// Rounds that were missed and skipped by a checkpoint have no participants that this site knows of.
absl::Status SiteRun::Write(const federation::MemberSession& session,
                            const federation::ClientLedger& ledger, uint32_t round) {
  federation::RoundRecord record;
  record.round = round;
  const auto applied =
      std::ranges::find(session.applied(), round, &federation::MemberSession::AppliedRound::round);
  if (applied != session.applied().end()) {
    record.cohort_size = applied->participants;
    record.model = applied->model;
  }
  if (round + 1 == session.next_round()) record.model = session.model_digest();
  record.attempts = static_cast<uint32_t>(
      std::ranges::count_if(ledger.entries(), [&](const federation::LedgerEntry& entry) {
        return entry.federation == manifest_.agreement() && entry.label.round == round;
      }));
  record.charged_attempts = ledger.ChargesOf(manifest_.agreement());
  if (round + 1 == session.next_round()) record.evaluation = last_;
  TACET_ASSIGN_OR_RETURN(
      record.epsilon,
      federation::ChargedEpsilon(manifest_.spec(), ledger.ChargesOf(manifest_.agreement())));
  record.seconds.total = since_round_.Restart();
  record.upload_bytes = secagg::UploadBytes(manifest_.terms().aggregation());
  record.sum_bytes = secagg::OpenedSumBytes(manifest_.terms().aggregation());
  return reporter_.OnRound(record);
}

absl::Status SiteRun::End(const federation::MemberSession& session,
                          const federation::ClientLedger& ledger, bool done) {
  TACET_RETURN_IF_ERROR(Progress(session, ledger));
  TACET_RETURN_IF_ERROR(directory_->WriteFile(kModelFile, federation::FloatBytes(session.model())));
  if (!done) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(Attest(session));
  TACET_RETURN_IF_ERROR(KeepOthersAttestations(session));
  federation::SimulationResult result;
  result.rounds = session.next_round();
  result.charged_attempts = ledger.ChargesOf(manifest_.agreement());
  TACET_ASSIGN_OR_RETURN(result.epsilon,
                         federation::ChargedEpsilon(manifest_.spec(), result.charged_attempts));
  TACET_ASSIGN_OR_RETURN(result.ledger, ledger.spending().Epsilon());
  result.ledger_charges = ledger.spending().charges();
  if (session.next_round() < manifest_.spec().rounds) {
    result.stopped = fmt::format("the server began no attempt after round {} of {}",
                                 session.next_round(), manifest_.spec().rounds);
  }
  const std::vector<std::string> no_labels;
  TACET_ASSIGN_OR_RETURN(
      const base::JsonValue summary,
      SummaryJson({.labels = no_labels,
                   .manifest = manifest_,
                   .result = result,
                   .evaluation = last_,
                   .before = reporter_.before(),
                   .most_frequent_class =
                       last_ ? std::optional(report::RoundedShare(training_.most_frequent_class))
                             : std::nullopt,
                   .seconds = since_start_.Seconds(),
                   .commit = reporter_.commit(),
                   .machine = MachineJson().Set("network", nullptr).Set("ranks", 1)}));
  return directory_->WriteFile(kSummaryFile, base::AsBytes(summary.Dump(2) + "\n"));
}

}  // namespace tacet::app
