#include "tacet/run.h"

#include <string>
#include <utility>

#include "tacet/accounting/privacy_rows.h"
#include "tacet/agreement/charged_terms.h"
#include "tacet/api/core/guarantee.h"
#include "tacet/api/live/run_parts.h"
#include "tacet/base/status.h"
#include "tacet/run/answer_check.h"
#include "tacet/run/run_model.h"

namespace tacet {
namespace api {
namespace {

template <typename T>
std::optional<T> Measured(T value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

Estimate PublicEstimate(const statistics::Estimate& estimate) {
  Estimate result{.quantity = estimate.quantity, .group = estimate.group, .at = estimate.at};
  result.too_many = estimate.too_many;
  result.value = estimate.value;
  result.noise_error = estimate.noise_error;
  result.standard_error = estimate.standard_error;
  if (!estimate.interval.has_value()) return result;
  result.interval = {.low = estimate.interval->low, .high = estimate.interval->high};
  return result;
}

}  // namespace

RoundFigures FiguresOf(const simulation::RoundRecord& record) {
  const trainer::Evaluation evaluation = record.evaluation.value_or(trainer::Evaluation());
  return {.round = record.round,
          .participants = record.cohort_size,
          .attempts = record.attempts,
          .charged_attempts = record.charged_attempts,
          .charged_epsilon = Bound(record.charged_epsilon),
          .accuracy = evaluation.accuracy,
          .loss = evaluation.loss,
          .auc = evaluation.auc,
          .upload_bytes = Measured(record.upload_bytes),
          .seconds = Measured(record.seconds.total)};
}

Answer PublicAnswer(const statistics::Answer& answer) {
  Answer result{.question = answer.question,
                .kind = std::string(statistics::QuestionKindName(answer.kind)),
                .estimates = {},
                .methods = answer.methods};
  for (const statistics::Estimate& estimate : answer.estimates) {
    result.estimates.push_back(PublicEstimate(estimate));
  }
  return result;
}

}  // namespace api

absl::StatusOr<Run> Run::Open(const std::filesystem::path& path) {
  api::RunParts parts;
  TACET_ASSIGN_OR_RETURN(parts.record, run::LoadRun(path));
  for (const simulation::RoundRecord& round : parts.record.rounds) {
    parts.rounds.push_back(api::FiguresOf(round));
  }
  return Run(std::make_shared<const api::RunParts>(std::move(parts)));
}

Run::Run(std::shared_ptr<const api::RunParts> parts) : parts_(std::move(parts)) {}

const std::filesystem::path& Run::path() const { return parts_->record.path; }
bool Run::finished() const { return parts_->record.finished(); }
const std::vector<std::string>& Run::labels() const { return parts_->record.labels; }
const std::vector<RoundFigures>& Run::rounds() const { return parts_->rounds; }

absl::StatusOr<Guarantee> Run::ComputeGuarantee() const {
  TACET_ASSIGN_OR_RETURN(const std::vector<agreement::ChargedTerms> charged,
                         run::TermsOf(parts_->record));
  const std::vector<agreement::ChargedTerms> permitted = agreement::PermittedTerms(charged);
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                         agreement::GuaranteesOf(permitted));
  return api::PublicGuarantee(guarantees, permitted.back().plan.spec().privacy.delta);
}

absl::StatusOr<std::vector<float>> Run::Model() const { return run::ModelOf(parts_->record); }

absl::StatusOr<std::vector<Answer>> Run::Answers() const {
  TACET_ASSIGN_OR_RETURN(const std::optional<run::RunAnswers> found,
                         run::AnswersOfRun(parts_->record));
  std::vector<Answer> answers;
  if (!found.has_value()) return answers;
  for (const statistics::Answer& answer : found->computed) {
    answers.push_back(api::PublicAnswer(answer));
  }
  return answers;
}

}  // namespace tacet
