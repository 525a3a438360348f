#include "apps/tacet/run_output.h"

#include <cmath>

#include "fmt/core.h"
#include "fmt/ranges.h"

#include "apps/tacet/commit.h"
#include "apps/tacet/manifest_text.h"
#include "apps/tacet/privacy_output.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/base/cpu.h"
#include "tacet/base/parallel.h"
#include "tacet/base/status.h"

namespace tacet::app {
namespace {

std::string LabelText(const std::vector<std::string>& labels) {
  return labels.empty() ? "" : fmt::format("  [{}]", fmt::join(labels, ", "));
}

double PrivacyShare(const federation::RoundSeconds& seconds) {
  return seconds.total > 0 ? (seconds.seal + seconds.add + seconds.open) / seconds.total : 0;
}

std::string EpsilonText(double epsilon) {
  return std::isfinite(epsilon) ? fmt::format("{:.3f}", epsilon) : "none";
}

std::string AucText(const federation::Evaluation& evaluation) {
  return evaluation.auc ? fmt::format("  AUC {:.4f}", *evaluation.auc) : "";
}

}  // namespace

base::JsonValue RoundJson(const federation::RoundRecord& record,
                          const std::vector<std::string>& labels) {
  const federation::RoundSeconds& seconds = record.seconds;
  base::JsonValue line = base::JsonValue::MakeObject();
  line.Set("round", record.round).Set("cohort_size", record.cohort_size);
  line.Set("attempts", record.attempts);
  line.Set("accuracy",
           record.evaluation ? base::JsonValue(record.evaluation->accuracy) : base::JsonValue());
  line.Set("loss",
           record.evaluation ? base::JsonValue(record.evaluation->loss) : base::JsonValue());
  if (record.evaluation && record.evaluation->auc) line.Set("auc", *record.evaluation->auc);
  line.Set("epsilon", record.epsilon);
  line.Set("seconds", base::JsonValue::MakeObject()
                          .Set("sample", seconds.sample)
                          .Set("train", seconds.train)
                          .Set("seal", seconds.seal)
                          .Set("add", seconds.add)
                          .Set("open", seconds.open)
                          .Set("evaluate", seconds.evaluate)
                          .Set("total", seconds.total));
  line.Set("upload_bytes", record.upload_bytes).Set("sum_bytes", record.sum_bytes);
  base::JsonValue list = base::JsonValue::MakeArray();
  for (const std::string& label : labels) list.Append(label);
  return line.Set("labels", std::move(list));
}

base::JsonValue MachineJson() {
  return base::JsonValue::MakeObject()
      .Set("cpu", base::CpuModelName())
      .Set("cores", base::Processors())
      .Set("simd", base::SimdName(base::ActiveSimd()));
}

absl::StatusOr<base::JsonValue> PrivacyJson(const federation::Manifest& manifest,
                                            uint64_t charged_attempts) {
  const federation::ManifestSpec& agreed = manifest.spec();
  if (agreed.without_noise || agreed.without_clipping) {
    return base::JsonValue::MakeObject()
        .Set("epsilon", base::JsonValue())
        .Set("reason", "the run was made without noise or without clipping: nothing is promised");
  }
  const accounting::FederationPrivacySpec spec = federation::PrivacyOf(agreed, charged_attempts);
  TACET_ASSIGN_OR_RETURN(const std::vector<accounting::PrivacyRow> rows,
                         accounting::PrivacyRows(spec));
  std::string why;
  const MechanismSize size{.dimension = agreed.dimension,
                           .coordinate_bound = agreed.coordinate_bound,
                           .quantisation_step = agreed.scale};
  return PrivacyRowsJson(rows, TermsOfRows(rows, spec, size, why));
}

absl::Status RunReporter::OnStart(const federation::Manifest& manifest, uint32_t next_round,
                                  const federation::Evaluation& evaluation) {
  rounds_ = manifest.spec().rounds;
  fmt::print(out_, "{}", AgreementText(manifest));
  if (!labels_.empty()) {
    fmt::print(out_, "labelled    {}: this run does not protect anybody\n",
               fmt::join(labels_, ", "));
  }
  if (next_round == 0) {
    before_ = evaluation;
    commit_ = BuildCommit();
    TACET_RETURN_IF_ERROR(WriteStart());
  } else {
    TACET_ASSIGN_OR_RETURN(const base::Bytes text, directory_.ReadFile(kStartFile));
    TACET_ASSIGN_OR_RETURN(const base::JsonValue start, base::JsonValue::Parse(base::AsText(text)));
    before_.emplace();
    if (const base::JsonValue* accuracy = start.Find("accuracy")) {
      TACET_ASSIGN_OR_RETURN(before_->accuracy, accuracy->AsDouble());
    }
    if (const base::JsonValue* loss = start.Find("loss")) {
      TACET_ASSIGN_OR_RETURN(before_->loss, loss->AsDouble());
    }
    if (const base::JsonValue* samples = start.Find("samples")) {
      TACET_ASSIGN_OR_RETURN(before_->samples, samples->AsUint());
    }
    const base::JsonValue* commit = start.Find("commit");
    commit_ = commit != nullptr ? commit->AsString().value_or("unknown") : "unknown";
    if (!commit_.ends_with(BuildCommit())) {
      commit_ = fmt::format("{}, {}", commit_, BuildCommit());
      TACET_RETURN_IF_ERROR(WriteStart());
    }
    fmt::print(out_, "resumed     after {} of {} rounds\n", next_round, rounds_);
  }
  // Rounds after the last checkpoint, or before the first, are run again.
  TACET_RETURN_IF_ERROR(directory_.KeepLines(kMetricsFile, next_round));
  fmt::print(out_, "start       accuracy {:.2f} %, loss {:.4f} on {} held-out samples\n",
             100 * evaluation.accuracy, evaluation.loss, evaluation.samples);
  std::fflush(out_);
  return absl::OkStatus();
}

absl::Status RunReporter::WriteStart() const {
  const base::JsonValue start = base::JsonValue::MakeObject()
                                    .Set("accuracy", before_->accuracy)
                                    .Set("loss", before_->loss)
                                    .Set("samples", before_->samples)
                                    .Set("commit", commit_);
  return directory_.WriteFile(kStartFile, base::AsBytes(start.Dump(2) + "\n"));
}

absl::Status RunReporter::OnRound(const federation::RoundRecord& record) {
  TACET_RETURN_IF_ERROR(directory_.AppendLine(kMetricsFile, RoundJson(record, labels_).Dump()));
  const std::string quality =
      record.evaluation
          ? fmt::format("accuracy {:6.2f} %  loss {:.4f}{}", 100 * record.evaluation->accuracy,
                        record.evaluation->loss, AucText(*record.evaluation))
          : std::string("accuracy      -    loss -     ");
  fmt::print(out_, "round {:>{}}/{}  {}  epsilon {}  {:.1f} s, privacy {:.1f} %{}\n",
             record.round + 1, fmt::formatted_size("{}", rounds_), rounds_, quality,
             EpsilonText(record.epsilon), record.seconds.total, 100 * PrivacyShare(record.seconds),
             LabelText(labels_));
  std::fflush(out_);
  return absl::OkStatus();
}

void RunReporter::OnNote(std::string_view text) {
  fmt::print(out_, "note        {}\n", text);
  std::fflush(out_);
}

}  // namespace tacet::app
