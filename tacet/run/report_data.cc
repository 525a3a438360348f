#include "tacet/run/report_data.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/base/json_lists.h"
#include "tacet/base/status.h"
#include "tacet/report/privacy_json.h"
#include "tacet/run/answer_check.h"
#include "tacet/run/run_guarantees.h"
#include "tacet/run/run_output.h"

namespace tacet::run {

using base::JsonValue;

namespace {

// A member of the summary; null without one.
JsonValue OfSummary(const run::RunRecord& run, std::string_view key) {
  const JsonValue* member = run.summary ? run.summary->Find(key) : nullptr;
  return member == nullptr ? JsonValue() : *member;
}

// The last `parts` names of a run's path.
std::string NameOf(const run::RunRecord& run, size_t parts) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(run.path, error);
  std::vector<std::string> names;
  for (const std::filesystem::path& part : error ? run.path : whole) {
    if (!part.empty() && part != "/") names.push_back(part.string());
  }
  std::string name;
  for (size_t i = names.size() - std::min(parts, names.size()); i < names.size(); ++i) {
    name += name.empty() ? names[i] : "/" + names[i];
  }
  return name.empty() ? run.path.string() : name;
}

// As short as keeps them apart; the same directory given twice keeps its whole path twice.
std::vector<std::string> NamesOf(std::span<const run::RunRecord> runs) {
  constexpr size_t kDeepest = 64;
  std::vector<std::string> names(runs.size());
  std::vector<size_t> parts(runs.size(), 1);
  for (size_t depth = 1; depth <= kDeepest; ++depth) {
    std::map<std::string, size_t> uses;
    for (size_t i = 0; i < runs.size(); ++i) {
      names[i] = NameOf(runs[i], parts[i]);
      ++uses[names[i]];
    }
    if (uses.size() == runs.size()) break;
    for (size_t i = 0; i < runs.size(); ++i) parts[i] += uses[names[i]] > 1 ? 1 : 0;
  }
  return names;
}

std::string_view StateOf(const run::RunRecord& run) {
  if (!run.finished()) return "unfinished";
  return OfSummary(run, "stopped").is_null() ? "finished" : "stopped";
}

// [section, key, value as TOML] for each setting, all of them written out.
JsonValue SettingsJson(const config::RunConfig& config) {
  JsonValue list = JsonValue::MakeArray();
  std::string section;
  const std::string text = config::RunConfigToml(config);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with('[')) {
      section = line.substr(1, line.size() - 2);
    } else if (const size_t at = line.find(" = "); at != line.npos) {
      list.Append(JsonValue::MakeArray()
                      .Append(section)
                      .Append(line.substr(0, at))
                      .Append(line.substr(at + 3)));
    }
  }
  return list;
}

// As agreed; before the first charge as configured, without what follows from the data.
JsonValue FactsJson(const run::RunRecord& run, const RunGuarantees& guarantees) {
  const absl::StatusOr<agreement::Manifest> manifest = run::ManifestOf(run);
  const agreement::ManifestSpec& agreed = manifest.ok() ? manifest->spec() : run.config.agreement;
  const auto known = [&manifest](auto value) {
    return manifest.ok() ? JsonValue(value) : JsonValue();
  };
  return JsonValue::MakeObject()
      .Set("model", run.config.model.name)
      .Set("parameters", he::SchemeName(agreed.scheme))
      .Set("unit", accounting::UnitName(agreed.privacy.unit))
      .Set("neighbouring", accounting::NeighbouringName(agreed.privacy.neighbouring))
      .Set("delta", agreed.privacy.delta)
      .Set("dimension", known(agreed.dimension))
      .Set("clients", known(agreed.sampling.clients))
      .Set("cohort", known(agreed.sampling.cohort))
      .Set("noise_law", known(std::string(dp::NoiseLawName(agreed.mechanism.noise_law))))
      .Set("noise_stddev", known(agreed.mechanism.noise_stddev))
      .Set("charged_attempts", run::ChargedAttempts(run))
      .Set("charged_epsilon", guarantees.charged_epsilon)
      .Set("permitted_attempts", guarantees.permitted_attempts)
      .Set("most_frequent_class", OfSummary(run, "most_frequent_class"))
      .Set("commit", run.start ? JsonValue(run.start->commit) : OfSummary(run, "commit"))
      .Set("machine", OfSummary(run, "machine"));
}

JsonValue BeforeJson(const run::RunRecord& run) {
  if (!run.start || !run.start->evaluation) return {};
  const trainer::Evaluation& before = *run.start->evaluation;
  return JsonValue::MakeObject()
      .Set("accuracy", base::OrNull(before.accuracy))
      .Set("loss", base::OrNull(before.loss))
      .Set("samples", before.samples);
}

// Charges and budget by the ledger itself; the bound is that of the summary.
JsonValue LedgerJson(const run::RunRecord& run) {
  if (!run.ledger) return {};
  const double budget = run.ledger->header.spending.budget_epsilon;
  const JsonValue summed = OfSummary(run, "ledger");
  const auto member = [&summed](std::string_view key) {
    const JsonValue* value = summed.Find(key);
    return value == nullptr ? JsonValue() : *value;
  };
  return JsonValue::MakeObject()
      .Set("charges", run::ChargedAttempts(run))
      .Set("budget_epsilon", budget > 0 ? JsonValue(budget) : JsonValue())
      .Set("statement", accounting::kWhyLedgersDiffer)
      .Set("epsilon", member("epsilon"))
      .Set("accountant", member("accountant"));
}

// The answers of a query, held against the released sum.
absl::StatusOr<JsonValue> QueryJson(const run::RunRecord& run) {
  TACET_ASSIGN_OR_RETURN(const std::optional<run::RunAnswers> answered, run::AnswersOfRun(run));
  if (!answered.has_value()) return JsonValue();
  return JsonValue::MakeObject()
      .Set("digest", base::ToHex(answered->text))
      .Set("answers", answered->answers);
}

absl::StatusOr<JsonValue> RunJson(const run::RunRecord& run, std::string_view name,
                                  const RunGuarantees& guarantees) {
  TACET_ASSIGN_OR_RETURN(JsonValue query, QueryJson(run));
  JsonValue rounds = JsonValue::MakeArray();
  for (const simulation::RoundRecord& round : run.rounds) {
    rounds.Append(run::RoundJson(round, run.labels));
  }
  return JsonValue::MakeObject()
      .Set("name", name)
      .Set("path", run.path.string())
      .Set("state", StateOf(run))
      .Set("stopped", OfSummary(run, "stopped"))
      .Set("labels", base::JsonList(run.labels))
      .Set("planned_rounds", run.config.agreement.rounds)
      .Set("facts", FactsJson(run, guarantees))
      .Set("before", BeforeJson(run))
      .Set("rounds", std::move(rounds))
      .Set("query", std::move(query))
      .Set("settings", SettingsJson(run.config))
      .Set("ledger", LedgerJson(run))
      .Set("privacy", guarantees.rows)
      .Set("statement", guarantees.statement ? tacet::report::StatementJson(*guarantees.statement)
                                             : JsonValue());
}

}  // namespace

absl::StatusOr<JsonValue> ReportData(std::span<const run::RunRecord> runs, std::string_view version,
                                     uint64_t made_at) {
  const std::vector<std::string> names = NamesOf(runs);
  TACET_ASSIGN_OR_RETURN(const std::vector<RunGuarantees> guarantees, GuaranteesOf(runs));
  JsonValue list = JsonValue::MakeArray();
  for (size_t i = 0; i < runs.size(); ++i) {
    TACET_ASSIGN_OR_RETURN(JsonValue run, RunJson(runs[i], names[i], guarantees[i]));
    list.Append(std::move(run));
  }
  return JsonValue::MakeObject()
      .Set("format", 2)
      .Set("version", version)
      .Set("made_at", made_at)
      .Set("runs", std::move(list));
}

}  // namespace tacet::run
