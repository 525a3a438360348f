#include "tacet/run/run_output.h"

#include <algorithm>
#include <cmath>

#include "fmt/core.h"
#include "fmt/ranges.h"

#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/agreement/manifest_bytes.h"
#include "tacet/agreement/manifest_text.h"
#include "tacet/agreement/privacy_warnings.h"
#include "tacet/audit/commit.h"
#include "tacet/base/cpu.h"
#include "tacet/base/json_lists.h"
#include "tacet/base/json_members.h"
#include "tacet/base/parallel.h"
#include "tacet/base/status.h"
#include "tacet/report/privacy_json.h"
#include "tacet/run/audit_key.h"

namespace tacet::run {
namespace {

std::string LabelText(const std::vector<std::string>& labels) {
  return labels.empty() ? "" : fmt::format("  [{}]", fmt::join(labels, ", "));
}

std::string EpsilonText(double epsilon) {
  return std::isfinite(epsilon) ? fmt::format("{:.3f}", epsilon) : "none";
}

std::string QualityText(const trainer::Evaluation& evaluation) {
  std::string text;
  if (evaluation.accuracy) text += fmt::format("  accuracy {:6.2f} %", 100 * *evaluation.accuracy);
  if (evaluation.loss) text += fmt::format("  loss {:.4f}", *evaluation.loss);
  if (evaluation.auc) text += fmt::format("  AUC {:.4f}", *evaluation.auc);
  return text;
}

base::JsonValue LedgerJson(const agreement::Manifest& manifest,
                           const simulation::SimulationResult& result) {
  const double budget = manifest.spec().privacy.budget_epsilon;
  return base::JsonValue::MakeObject()
      .Set("charges", result.ledger_charges)
      .Set("statement", accounting::kWhyLedgersDiffer)
      .Set("epsilon", result.ledger.epsilon())
      .Set("accountant",
           std::isfinite(result.ledger.epsilon()) && result.ledger.headline() != nullptr
               ? base::JsonValue(accounting::AccountantName(result.ledger.headline()->accountant))
               : nullptr)
      .Set("delta", manifest.spec().privacy.delta)
      .Set("budget_epsilon", budget > 0 ? base::JsonValue(budget) : base::JsonValue());
}

}  // namespace

base::JsonValue GiversJson(std::span<const simulation::RoundRecord> rounds) {
  return base::JsonList(rounds, [](const simulation::RoundRecord& round) {
    return round.cohort_size > 0 ? base::JsonValue(round.cohort_size - round.abstained)
                                 : base::JsonValue();
  });
}

std::string GiversText(std::span<const simulation::RoundRecord> rounds) {
  std::string text;
  for (size_t first = 0; first < rounds.size();) {
    const simulation::RoundRecord& round = rounds[first];
    size_t end = first + 1;
    while (end < rounds.size() && rounds[end].cohort_size == round.cohort_size &&
           rounds[end].abstained == round.abstained) {
      ++end;
    }
    text += text.empty() ? "" : ", ";
    text += round.cohort_size == 0
                ? "not known"
                : fmt::format("{} of {} uploads", round.cohort_size - round.abstained,
                              round.cohort_size);
    text += end == first + 1 ? fmt::format(" in round {}", end)
                             : fmt::format(" in rounds {} to {}", first + 1, end);
    first = end;
  }
  const auto own = std::ranges::count(rounds, true, &simulation::RoundRecord::abstains);
  if (own == 0) return text;
  return text + fmt::format("; this site gave none in {} of {} rounds", own, rounds.size());
}

std::string ManifestFile(const crypto::Digest& hash) { return "manifest-" + base::ToHex(hash); }

std::string RoundLine(const simulation::RoundRecord& record, uint32_t rounds,
                      const std::vector<std::string>& labels) {
  const std::string abstained =
      record.abstained > 0 ? fmt::format(", {} without data", record.abstained) : "";
  return fmt::format("round {:>{}}/{}  participants {}{}  epsilon so far {}  {:.1f} s{}{}",
                     record.round + 1, fmt::formatted_size("{}", rounds), rounds,
                     record.cohort_size > 0 ? fmt::format("{}", record.cohort_size) : "not known",
                     abstained, EpsilonText(record.charged_epsilon), record.seconds.total,
                     record.evaluation ? QualityText(*record.evaluation) : "", LabelText(labels));
}

base::JsonValue RoundJson(const simulation::RoundRecord& record,
                          const std::vector<std::string>& labels) {
  const simulation::RoundSeconds& seconds = record.seconds;
  base::JsonValue line = base::JsonValue::MakeObject();
  line.Set("round", record.round).Set("cohort_size", record.cohort_size);
  line.Set("abstained", record.abstained).Set("abstains", record.abstains);
  line.Set("attempts", record.attempts).Set("charged_attempts", record.charged_attempts);
  line.Set("model", record.model ? base::JsonValue(base::ToHex(*record.model)) : base::JsonValue());
  line.Set("model_epoch", record.model ? base::JsonValue(record.model_epoch) : base::JsonValue());
  const trainer::Evaluation evaluation = record.evaluation.value_or(trainer::Evaluation{});
  line.Set("accuracy", base::OrNull(evaluation.accuracy))
      .Set("loss", base::OrNull(evaluation.loss));
  if (evaluation.auc) line.Set("auc", *evaluation.auc);
  line.Set("charged_epsilon", record.charged_epsilon);
  line.Set("seconds", base::JsonValue::MakeObject()
                          .Set("sample", seconds.sample)
                          .Set("train", seconds.train)
                          .Set("seal", seconds.seal)
                          .Set("add", seconds.add)
                          .Set("open", seconds.open)
                          .Set("evaluate", seconds.evaluate)
                          .Set("total", seconds.total));
  line.Set("upload_bytes", record.upload_bytes).Set("sum_bytes", record.sum_bytes);
  return line.Set("labels", base::JsonList(labels));
}

base::JsonValue MachineJson() {
  return base::JsonValue::MakeObject()
      .Set("cpu", base::CpuModelName())
      .Set("cores", base::Processors())
      .Set("simd", base::SimdName(base::ActiveSimd()));
}

absl::StatusOr<base::JsonValue> SummaryJson(const RunSummary& run) {
  const agreement::ManifestSpec& agreed = run.manifest.spec();
  const std::vector<agreement::ChargedTerms> permitted =
      run.terms.empty() ? agreement::PermittedTerms(run.manifest)
                        : agreement::PermittedTerms(run.terms);
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                         agreement::GuaranteesOf(permitted));
  const simulation::SimulationResult& result = run.result;
  const trainer::Evaluation evaluation = run.evaluation.value_or(trainer::Evaluation{});
  base::JsonValue summary = base::JsonValue::MakeObject();
  summary.Set("labels", base::JsonList(run.labels))
      .Set("model", agreed.model)
      .Set("parameters", he::SchemeName(agreed.scheme))
      .Set("dimension", agreed.dimension)
      .Set("federated", base::OrNull(agreed.federated_part))
      .Set("clients", agreed.sampling.clients)
      .Set("cohort", agreed.sampling.cohort)
      .Set("unit", accounting::UnitName(agreed.privacy.unit))
      .Set("neighbouring", accounting::NeighbouringName(agreed.privacy.neighbouring))
      .Set("noise_law", dp::NoiseLawName(agreed.mechanism.noise_law))
      .Set("noise_stddev", agreed.mechanism.noise_stddev)
      .Set("rounds", result.rounds)
      .Set("charged_attempts", result.charged_attempts)
      .Set("givers", run.rounds.empty() ? base::JsonValue() : GiversJson(run.rounds))
      .Set("abstained_rounds",
           std::ranges::count(run.rounds, true, &simulation::RoundRecord::abstains))
      .Set("accuracy_before", base::OrNull(run.before ? run.before->accuracy : std::nullopt))
      .Set("accuracy", base::OrNull(evaluation.accuracy))
      .Set("loss", base::OrNull(evaluation.loss))
      .Set("auc", base::OrNull(evaluation.auc))
      .Set("most_frequent_class", base::OrNull(run.most_frequent_class))
      .Set("permitted_attempts", agreement::AttemptsIn(permitted))
      .Set("epsilon", guarantees.epsilon())
      .Set("charged_epsilon", result.charged_epsilon)
      .Set("delta", agreed.privacy.delta)
      .Set("stopped", base::OrNull(result.stopped))
      .Set("ledger", LedgerJson(run.manifest, result))
      .Set("seconds", run.seconds)
      .Set("commit", run.commit)
      .Set("machine", run.machine);
  if (agreed.privacy.unit != accounting::Unit::kClient) {
    summary.Set("record_rate", agreed.sampling.record_rate)
        .Set("expected_batch", agreed.sampling.expected_batch)
        .Set("charged_event", report::EventJson(agreement::ChargedEvent(agreed)));
  }
  TACET_ASSIGN_OR_RETURN(const std::vector<std::string> warnings,
                         agreement::PrivacyWarnings(agreed));
  return summary.Set("privacy", report::PrivacyJson(guarantees, warnings));
}

trainer::Evaluation Rounded(trainer::Evaluation evaluation) {
  if (evaluation.accuracy) evaluation.accuracy = tacet::audit::RoundedShare(*evaluation.accuracy);
  if (evaluation.loss) evaluation.loss = tacet::audit::RoundedLoss(*evaluation.loss);
  if (evaluation.auc) evaluation.auc = tacet::audit::RoundedShare(*evaluation.auc);
  return evaluation;
}

absl::Status RunReporter::OnStart(const agreement::Manifest& manifest, uint32_t next_round,
                                  const trainer::Evaluation& evaluation) {
  return Start(manifest, next_round, evaluation);
}

absl::Status RunReporter::Start(const agreement::Manifest& manifest, uint32_t next_round,
                                const std::optional<trainer::Evaluation>& evaluation) {
  rounds_ = manifest.spec().rounds;
  TACET_ASSIGN_OR_RETURN(const std::vector<std::string> warnings,
                         agreement::PrivacyWarnings(manifest.spec()));
  out_.Print("{}{}", agreement::AgreementText(manifest), agreement::WarningLines(warnings));
  if (!labels_.empty()) {
    out_.Print("labelled    {}: this run does not protect anybody\n", fmt::join(labels_, ", "));
  }
  const agreement::ManifestSpec& agreed = manifest.spec();
  if (std::isfinite(manifest.max_epsilon())) {
    out_.Print(
        "epsilon     at delta {:g} per {} ({}), of the worst observer that has a guarantee\n",
        agreed.privacy.delta, accounting::UnitName(agreed.privacy.unit),
        accounting::NeighbouringName(agreed.privacy.neighbouring));
  }
  TACET_RETURN_IF_ERROR(directory_.WriteFile(ManifestFile(manifest.hash()),
                                             agreement::ManifestBytes(manifest.spec())));
  const bool published =
      part_.publish_evaluation && evaluation.has_value() && evaluation->samples > 0;
  TACET_RETURN_IF_ERROR(BeginOrResume(next_round, published ? evaluation : std::nullopt));
  // Rounds after the last checkpoint, or before the first, are run again.
  TACET_RETURN_IF_ERROR(directory_.KeepLines(kMetricsFile, next_round));
  if (published) {
    out_.Print("start     {} on {} held-out samples\n", QualityText(*evaluation),
               evaluation->samples);
  }
  return absl::OkStatus();
}

absl::Status RunReporter::BeginOrResume(uint32_t next_round,
                                        const std::optional<trainer::Evaluation>& evaluation) {
  const bool is_member = part_.kind == tacet::audit::RunKind::kMember;
  if (next_round == 0) {
    before_ = evaluation;
    commit_ = audit::BuildCommit();
  } else {
    const absl::Status read = ReadStart();
    if (!read.ok()) {
      if (!is_member) return read;
      before_.reset();
      commit_ = "unknown";
    }
    if (!commit_.ends_with(audit::BuildCommit()))
      commit_ = fmt::format("{}, {}", commit_, audit::BuildCommit());
    out_.Print("resumed     after {} of {} rounds\n", next_round, rounds_);
  }
  // A simulation keeps the key that it began with, and a lost one stays lost. A site can continue
  // under another one: its server and its ledger know the run, too.
  if (audit_key_.empty() || is_member) {
    TACET_ASSIGN_OR_RETURN(const crypto::PublicKey key, EnsureAuditKey(directory_.path()));
    audit_key_ = base::ToHex(key);
  }
  return WriteStart();
}

absl::Status RunReporter::ReadStart() {
  TACET_ASSIGN_OR_RETURN(const base::Bytes text, directory_.ReadFile(kStartFile));
  TACET_ASSIGN_OR_RETURN(const base::JsonValue value, base::JsonValue::Parse(base::AsText(text)));
  commit_ = "unknown";
  base::JsonMembers start(value);
  const base::JsonValue* samples = value.Find("samples");
  if (part_.publish_evaluation && samples != nullptr && !samples->is_null()) {
    before_.emplace();
    start.Take("accuracy", before_->accuracy);
    start.Take("loss", before_->loss);
    start.Take("samples", before_->samples);
  }
  start.Take("commit", commit_);
  start.Take("audit_key", audit_key_);
  uint64_t processes = 1;
  start.Take("processes", processes);
  part_.processes = std::max(part_.processes, processes);  // the most that ever worked on it
  return base::Annotate(start.status(), kStartFile);
}

absl::Status RunReporter::WriteStart() const {
  const trainer::Evaluation before = before_.value_or(trainer::Evaluation{});
  const base::JsonValue start =
      base::JsonValue::MakeObject()
          .Set("accuracy", base::OrNull(before.accuracy))
          .Set("loss", base::OrNull(before.loss))
          .Set("samples", before_ ? base::JsonValue(before.samples) : base::JsonValue())
          .Set("commit", commit_)
          .Set("kind", tacet::audit::RunKindName(part_.kind))
          .Set("processes", part_.processes)
          .Set("member", base::OrNull(part_.member))
          .Set("audit_key", audit_key_);
  return directory_.WriteFile(kStartFile, base::AsBytes(start.Dump(2) + "\n"));
}

absl::Status RunReporter::OnRefused(const secagg::AttemptNumber& attempt, simulation::Refusal why) {
  return directory_.AppendLine(
      kRefusedFile, fmt::format("{} {} {} {}", attempt.epoch, attempt.round, attempt.attempt,
                                simulation::RefusalName(why)));
}

absl::Status RunReporter::OnRound(const simulation::RoundRecord& ran) {
  simulation::RoundRecord record = ran;
  const bool held_out = record.evaluation.has_value() && record.evaluation->samples > 0;
  if (!part_.publish_evaluation || !held_out) record.evaluation.reset();
  const std::string figures = RoundJson(record, labels_).Dump();
  TACET_RETURN_IF_ERROR(directory_.AppendLine(kMetricsFile, figures));
  figures_.Print("{}\n", figures);
  out_.Print("{}\n", RoundLine(record, rounds_, labels_));
  return absl::OkStatus();
}

void RunReporter::OnNote(std::string_view text) { out_.Print("note        {}\n", text); }

}  // namespace tacet::run
