#include "tacet/run/query_run.h"

#include <utility>

#include "fmt/core.h"

#include "tacet/agreement/charged_terms.h"
#include "tacet/base/json_lists.h"
#include "tacet/base/plain_text.h"
#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"
#include "tacet/ledger/ledger_format.h"
#include "tacet/run/answers_output.h"
#include "tacet/run/configured_simulation.h"
#include "tacet/run/directory_run.h"
#include "tacet/run/run_output.h"
#include "tacet/run/run_reader.h"
#include "tacet/simulation/local_channel.h"
#include "tacet/statistics/query_learner.h"

namespace tacet::run {
namespace {

using config::LoadedQuery;
using storage::file::RunDirectory;
using tacet::statistics::QueryLearner;
using tacet::statistics::SiteTable;
using tacet::statistics::SiteUnits;

constexpr uintmax_t kMaxQueryBytes = uintmax_t{1} << 20;

absl::Status WriteText(RunDirectory& directory, std::string_view name, std::string_view text) {
  return directory.WriteFile(name, base::AsBytes(text));
}

}  // namespace

std::string LedgerName(const std::filesystem::path& data) {
  const std::string name = base::PlainText(data.filename().string(), ledger::kMaxNameBytes);
  return name.empty() ? "data" : name;
}

absl::StatusOr<LoadedQuery> LoadQuery(const std::filesystem::path& path) {
  TACET_ASSIGN_OR_RETURN(const std::string text, run::ReadText(path, kMaxQueryBytes));
  return config::ParseQuery(text, path.string());
}

absl::StatusOr<config::RunConfig> QueryConfig(const LoadedQuery& loaded, uint64_t sites,
                                              const QueryRunOptions& options) {
  agreement::ManifestSpec terms;
  terms.rounds = 1;
  terms.spare_attempts = static_cast<uint32_t>(loaded.file.spare_attempts);
  terms.sampling.clients = sites;
  terms.privacy = loaded.file.privacy;
  terms.mechanism.noise_stddev =
      loaded.file.noise_stddev + loaded.file.noise_multiplier * loaded.query->clip_norm();
  if (loaded.query->spec().unit != accounting::Unit::kClient) {
    terms.sampling.appearances = loaded.file.appearances;
  }
  config::RunConfig config;
  TACET_ASSIGN_OR_RETURN(config.agreement, tacet::statistics::QueryTerms(*loaded.query, terms));
  config.model.name = std::string(agreement::kQueryModel);
  config.query.text = loaded.text;
  config.run.insecure_seed = options.insecure_seed;
  config.run.threads = options.threads;
  config.run.publish_evaluation = false;
  return config;
}

absl::StatusOr<config::RunConfig> AgreedQueryConfig(const LoadedQuery& loaded, uint64_t members) {
  TACET_ASSIGN_OR_RETURN(config::RunConfig config, QueryConfig(loaded, members, {}));
  agreement::ManifestSpec& agreed = config.agreement;
  agreed.privacy.target_epsilon = loaded.file.privacy.target_epsilon;
  if (agreed.privacy.target_epsilon > 0) agreed.mechanism.noise_stddev = 0;
  agreed.committee = {};
  agreed.sampling.cohort = agreed.sampling.min_participants = 0;
  config.run.publish_evaluation.reset();
  return config;
}

absl::StatusOr<std::vector<tacet::statistics::Answer>> AnswersFrom(
    const LoadedQuery& loaded, const agreement::Manifest& manifest, std::span<const float> model) {
  return tacet::statistics::AnswersOf(*loaded.query,
                                      tacet::statistics::ReleasedSum(manifest, model),
                                      tacet::statistics::NoiseOf(manifest));
}

absl::StatusOr<std::vector<tacet::statistics::Answer>> WriteAnswers(
    const LoadedQuery& loaded, std::string_view agreed, const agreement::Manifest& manifest,
    std::span<const float> model, RunDirectory& directory, std::span<const MissingSite> missing) {
  TACET_ASSIGN_OR_RETURN(std::vector<tacet::statistics::Answer> answers,
                         AnswersFrom(loaded, manifest, model));
  TACET_RETURN_IF_ERROR(WriteText(directory, kAgreedFile, agreed));
  TACET_RETURN_IF_ERROR(WriteText(directory, kQueryFile, loaded.text));
  const base::JsonValue json =
      tacet::statistics::AnswersJson(*loaded.query, answers)
          .Set(kMissing, base::JsonList(missing, [](const MissingSite& site) {
                 return base::JsonValue::MakeObject()
                     .Set("member", site.member)
                     .Set("site", site.name)
                     .Set("cause", site.cause);
               }));
  TACET_RETURN_IF_ERROR(WriteText(directory, kAnswersTable, AnswersCsv(answers)));
  // The last one: a reader that finds it finds the others.
  TACET_RETURN_IF_ERROR(WriteText(directory, kAnswersFile, json.Dump(2) + "\n"));
  return answers;
}

absl::StatusOr<QueryRunEnd> RunQuery(const LoadedQuery& loaded,
                                     const std::vector<SiteTable>& tables,
                                     std::string_view data_name, const QueryRunOptions& options,
                                     const std::filesystem::path& path, const base::TextSink& out) {
  std::vector<std::string> names;
  for (const SiteTable& table : tables) names.push_back(table.name);
  TACET_RETURN_IF_ERROR(loaded.query->CheckSites(names));
  std::vector<SiteUnits> sites;
  for (const SiteTable& table : tables) {
    TACET_ASSIGN_OR_RETURN(SiteUnits site,
                           SiteUnits::Create(loaded.query, table, loaded.file.person_column));
    sites.push_back(std::move(site));
  }
  TACET_ASSIGN_OR_RETURN(const config::RunConfig config,
                         QueryConfig(loaded, sites.size(), options));
  TACET_ASSIGN_OR_RETURN(simulation::SimulationSpec spec, run::SimulationSpecOf(config));
  // As in a live federation: the agreement names the text, and with it the questions.
  const std::string agreed = config::AgreedToml(config);
  spec.manifest.annex = crypto::Sha256(base::AsBytes(agreed));
  spec.data = {.name = std::string(data_name), .digest = tacet::statistics::TablesDigest(tables)};
  spec.budget = options.budget;
  const std::vector<std::string> labels = simulation::SimulationLabels(spec);
  const QueryLearner learner(loaded.query, std::move(sites));
  simulation::LocalChannel channel;
  TACET_ASSIGN_OR_RETURN(const auto simulation,
                         simulation::Simulation::Create(std::move(spec), learner, channel));
  TACET_ASSIGN_OR_RETURN(const std::unique_ptr<RunDirectory> directory,
                         run::NewRunDirectory(path, config));
  out.Print("query       {}: {} questions to {} sites, {} values\n", loaded.query->spec().name,
            loaded.query->questions().size(), tables.size(), loaded.query->dimension());
  run::RunReporter reporter(*directory, labels, {.publish_evaluation = false}, out);
  const base::Stopwatch watch;
  TACET_ASSIGN_OR_RETURN(const simulation::SimulationResult result,
                         simulation->Run(*directory, reporter));
  if (!result.stopped.empty()) return base::ResourceExhausted("{}", result.stopped);

  const agreement::Manifest& manifest = simulation->manifest();
  QueryRunEnd end{.answers = {}, .summary = {}};
  TACET_ASSIGN_OR_RETURN(end.answers,
                         WriteAnswers(loaded, agreed, manifest, result.model, *directory));
  TACET_ASSIGN_OR_RETURN(
      const accounting::Guarantees guarantees,
      agreement::GuaranteesOf(agreement::PermittedTerms(manifest), accounting::Extent::kHeadline));
  end.epsilon = guarantees.epsilon();
  end.delta = manifest.spec().privacy.delta;
  end.sites = tables.size();
  TACET_ASSIGN_OR_RETURN(end.summary, run::SummaryJson({.labels = labels,
                                                        .manifest = manifest,
                                                        .result = result,
                                                        .evaluation = std::nullopt,
                                                        .before = std::nullopt,
                                                        .most_frequent_class = std::nullopt,
                                                        .seconds = watch.Seconds(),
                                                        .commit = reporter.commit(),
                                                        .machine = run::MachineJson()}));
  TACET_RETURN_IF_ERROR(
      directory->WriteFile(run::kModelFile, {reinterpret_cast<const uint8_t*>(result.model.data()),
                                             sizeof(float) * result.model.size()}));
  TACET_RETURN_IF_ERROR(WriteText(*directory, run::kSummaryFile, end.summary.Dump(2) + "\n"));
  end.summary.Set("answers", tacet::statistics::AnswersJson(*loaded.query, end.answers)
                                 .Set(kMissing, base::JsonValue::MakeArray()));
  return end;
}

}  // namespace tacet::run
