#include "tacet/run/answer_check.h"

#include <cstring>
#include <utility>
#include <vector>

#include "tacet/audit/audit_record.h"
#include "tacet/base/status.h"
#include "tacet/run/query_run.h"
#include "tacet/run/run_output.h"
#include "tacet/statistics/answers.h"
#include "tacet/statistics/query_learner.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::run {
namespace {

using base::JsonValue;

// Above an agreed text, a query's answers and its vector.
constexpr uintmax_t kMaxBytes = uintmax_t{64} << 20;

// `answers` without its estimates: what does not depend on the released sum.
JsonValue QuestionsOf(const JsonValue& answers) {
  JsonValue questions = JsonValue::MakeArray();
  if (const JsonValue* list = answers.Find("questions"); list != nullptr && list->is_array()) {
    for (const JsonValue& answer : list->items()) {
      JsonValue question = JsonValue::MakeObject();
      for (const std::string_view key : {"name", "kind"}) {
        if (const JsonValue* value = answer.Find(key)) question.Set(key, *value);
      }
      questions.Append(std::move(question));
    }
  }
  JsonValue all = JsonValue::MakeObject();
  for (const auto& [key, value] : answers.members()) all.Set(key, value);
  return all.Set("questions", std::move(questions));
}

// `answers` without the sites that are missing: what follows from text and sum alone.
JsonValue WithoutMissing(const JsonValue& answers) {
  JsonValue all = JsonValue::MakeObject();
  for (const auto& [key, value] : answers.members()) {
    if (key != kMissing) all.Set(key, value);
  }
  return all;
}

absl::Status IsText(const run::RunRecord& run, std::string_view file, std::string_view expected) {
  TACET_ASSIGN_OR_RETURN(const std::string text, run::ReadText(run.path / file, kMaxBytes));
  if (text == expected) return absl::OkStatus();
  return base::DataLoss("{} is not the query that was agreed: it was changed",
                        (run.path / file).string());
}

absl::StatusOr<std::vector<float>> ValuesOf(std::span<const uint8_t> model, uint64_t dimension) {
  std::vector<float> values(dimension);
  if (model.size() != dimension * sizeof(float)) {
    return base::DataLoss("the released sum has {} bytes, the query needs {}", model.size(),
                          dimension * sizeof(float));
  }
  std::memcpy(values.data(), model.data(), model.size());
  return values;
}

// That the file is what the round released. A copy of a run without its digest key cannot tell.
absl::Status CheckSum(const run::RunRecord& run, uint64_t dimension,
                      std::span<const uint8_t> model) {
  TACET_ASSIGN_OR_RETURN(const std::vector<float> values, ValuesOf(model, dimension));
  const absl::StatusOr<bool> is_sum = run::IsModelOf(run, run.rounds.back(), values);
  if (is_sum.status().code() == absl::StatusCode::kNotFound) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(is_sum.status());
  if (*is_sum) return absl::OkStatus();
  return base::DataLoss("{} is not the sum that the round released",
                        (run.path / run::kModelFile).string());
}

// The answers that follow from the released model's bytes. DataLoss names the first number of
// `answers` that does not.
absl::StatusOr<std::vector<tacet::statistics::Answer>> Computed(const config::LoadedQuery& loaded,
                                                                const agreement::Manifest& manifest,
                                                                std::span<const uint8_t> model,
                                                                const JsonValue& answers) {
  TACET_ASSIGN_OR_RETURN(const std::vector<float> values,
                         ValuesOf(model, manifest.spec().dimension));
  TACET_ASSIGN_OR_RETURN(std::vector<tacet::statistics::Answer> computed,
                         AnswersFrom(loaded, manifest, values));
  TACET_RETURN_IF_ERROR(tacet::audit::CompareAnswers(
      WithoutMissing(answers), tacet::statistics::AnswersJson(*loaded.query, computed)));
  return computed;
}

}  // namespace

absl::StatusOr<config::LoadedQuery> AgreedQuery(std::string_view agreed,
                                                const agreement::ManifestSpec& spec) {
  if (const crypto::Digest digest = crypto::Sha256(base::AsBytes(agreed)); digest != spec.annex) {
    return base::DataLoss("its digest is {}, agreed was {}: it was changed", base::ToHex(digest),
                          base::ToHex(spec.annex));
  }
  TACET_ASSIGN_OR_RETURN(const config::RunConfig config,
                         config::ParseRunConfig(agreed, "the agreed text"));
  TACET_ASSIGN_OR_RETURN(config::LoadedQuery loaded,
                         config::ParseQuery(config.query.text, "the agreed query"));
  if (const absl::Status fits = tacet::statistics::CheckQueryTerms(*loaded.query, spec);
      !fits.ok()) {
    return base::DataLoss("{}", base::Message(fits));
  }
  return loaded;
}

absl::Status CheckQuestions(const config::LoadedQuery& loaded, const JsonValue& answers) {
  const std::vector<tacet::statistics::Answer> none =
      tacet::statistics::QuestionsToAnswer(*loaded.query);
  return tacet::audit::CompareAnswers(
      QuestionsOf(WithoutMissing(answers)),
      QuestionsOf(tacet::statistics::AnswersJson(*loaded.query, none)));
}

absl::Status CheckMissing(const JsonValue& answers,
                          std::span<const protocol::Abstention> abstentions) {
  const JsonValue* const missing = answers.Find(kMissing);
  JsonValue stated = JsonValue::MakeArray(), computed = JsonValue::MakeArray();
  if (missing == nullptr || !missing->is_array()) {
    return base::DataLoss("`{}` is no list of sites", kMissing);
  }
  for (const JsonValue& site : missing->items()) {
    JsonValue one = JsonValue::MakeObject();
    for (const std::string_view key : {"member", "cause"}) {
      if (const JsonValue* value = site.Find(key)) one.Set(key, *value);
    }
    stated.Append(std::move(one));
  }
  for (const protocol::Abstention& one : abstentions) {
    computed.Append(JsonValue::MakeObject()
                        .Set("member", one.member)
                        .Set("cause", protocol::AbstentionReasonName(one.reason)));
  }
  return tacet::audit::CompareAnswers(JsonValue::MakeObject().Set(kMissing, std::move(stated)),
                                      JsonValue::MakeObject().Set(kMissing, std::move(computed)));
}

absl::Status CheckAnswers(const config::LoadedQuery& loaded, const agreement::Manifest& manifest,
                          std::span<const uint8_t> model, const JsonValue& answers) {
  return Computed(loaded, manifest, model, answers).status();
}

absl::StatusOr<std::optional<RunAnswers>> AnswersOfRun(const run::RunRecord& run) {
  if (!config::IsQuery(run.config) || !run.finished() || run.rounds.empty()) return std::nullopt;
  TACET_ASSIGN_OR_RETURN(const agreement::Manifest manifest, run::ManifestOf(run));
  const auto in = [&run](std::string_view file) { return (run.path / file).string(); };
  RunAnswers found;
  TACET_ASSIGN_OR_RETURN(found.agreed, run::ReadText(run.path / kAgreedFile, kMaxBytes));
  const absl::StatusOr<config::LoadedQuery> loaded = AgreedQuery(found.agreed, manifest.spec());
  if (!loaded.ok()) return base::Annotate(loaded.status(), in(kAgreedFile));
  found.text = crypto::Sha256(base::AsBytes(loaded->text));
  TACET_RETURN_IF_ERROR(IsText(run, kQueryFile, loaded->text));
  if (run.config.query.text != loaded->text) {
    return base::DataLoss("{}: query.text is not the query that was agreed: it was changed",
                          in(run::kConfigFile));
  }
  TACET_ASSIGN_OR_RETURN(const std::string model,
                         run::ReadText(run.path / run::kModelFile, kMaxBytes));
  TACET_RETURN_IF_ERROR(CheckSum(run, manifest.spec().dimension, base::AsBytes(model)));
  TACET_ASSIGN_OR_RETURN(const std::string text, run::ReadText(run.path / kAnswersFile, kMaxBytes));
  absl::StatusOr<JsonValue> answers = JsonValue::Parse(text);
  if (!answers.ok()) return base::Annotate(answers.status(), in(kAnswersFile));
  found.answers = *std::move(answers);
  auto computed = Computed(*loaded, manifest, base::AsBytes(model), found.answers);
  if (!computed.ok()) return base::Annotate(computed.status(), in(kAnswersFile));
  found.computed = *std::move(computed);
  std::vector<protocol::Abstention> abstentions;
  for (const base::Bytes& bytes : run.abstentions) {
    TACET_ASSIGN_OR_RETURN(
        abstentions.emplace_back(),
        protocol::ReadAbstention(bytes, manifest.hash(), manifest.spec().members));
  }
  if (const absl::Status same = CheckMissing(found.answers, abstentions); !same.ok()) {
    return base::Annotate(same, in(kAnswersFile));
  }
  return found;
}

}  // namespace tacet::run
