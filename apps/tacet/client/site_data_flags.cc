#include "apps/tacet/client/site_data_flags.h"

#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "apps/tacet/simulate/configured_learner.h"
#include "apps/tacet/simulate/training_run.h"
#include "tacet/base/status.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/site_config.h"
#include "tacet/data/dataset.h"
#include "tacet/run/site_tables.h"
#include "tacet/site/site_data.h"
#include "tacet/statistics/query_learner.h"
#include "tacet/training/learner.h"

namespace tacet::app::client {
namespace {

// The samples of one client.
absl::StatusOr<data::Dataset> OwnData(const data::Dataset& all,
                                      const std::optional<uint64_t>& client) {
  if (!client.has_value() && all.clients() > 1) {
    return base::InvalidArgument(
        "{} has the data of {} clients: choose this site's with --client (or say in --config how "
        "they are arranged: data.sites, data.csv_client_column)",
        all.name(), all.clients());
  }
  const uint64_t own = client.value_or(0);
  if (own >= all.clients()) {
    return base::InvalidArgument("--client is {}, {} has the data of {} clients", own, all.name(),
                                 all.clients());
  }
  const std::span<const uint32_t> rows = all.rows(own);
  const std::vector<data::ChosenRows> chosen = {
      {.client = own, .rows = std::vector<uint32_t>(rows.begin(), rows.end())}};
  return data::SelectRows(all, chosen, fmt::format("{}, {}", all.name(), all.client_name(own)));
}

// Data that only their user's own program reads.
absl::Status LoadExternalData(const SiteDataFlags& flags, site::SiteTraining& training) {
  const std::string& path = training.config.data.path;
  if (path.empty()) {
    return base::InvalidArgument(
        "--data is needed: where this site's data are, for the program that reads them; --draw is "
        "for the models of tacet");
  }
  if (flags.client().has_value()) {
    return base::InvalidArgument(
        "--client chooses among the clients of a data set that tacet reads, and the agreed model "
        "is external: give this site's data alone");
  }
  TACET_ASSIGN_OR_RETURN(training.data, site::DataOfFiles(path));
  training.records = flags.records();
  return absl::OkStatus();
}

void NoteProblems(const table::ProblemSummary& problems, std::string_view consequence,
                  site::SiteTraining& training) {
  for (const std::string& line : run::ProblemLines(problems)) {
    training.data_notes.push_back(fmt::format("{}. {}", line, consequence));
  }
}

// The one table of this site, and the vector that answers the query.
absl::Status LoadQueryData(const SiteDataFlags& flags, const agreement::SignedManifest& manifest,
                           const std::string& site, site::SiteTraining& training) {
  TACET_ASSIGN_OR_RETURN(training.query,
                         config::ParseQuery(training.config.query.text, "the agreed query"));
  const config::LoadedQuery& loaded = *training.query;
  TACET_RETURN_IF_ERROR(
      tacet::statistics::CheckQueryTerms(*loaded.query, manifest.manifest().spec()));
  const std::string& path = training.config.data.path;
  if (path.empty()) {
    return base::InvalidArgument("--data is needed: a query is about this site's own table");
  }
  TACET_ASSIGN_OR_RETURN(const run::TableFormat format,
                         run::SiteFormat(loaded.file, training.config));
  table::ProblemSummary problems;
  TACET_ASSIGN_OR_RETURN(const std::vector<tacet::statistics::SiteTable> tables,
                         run::LoadSiteTables(path, loaded.file, *loaded.query, format, problems));
  NoteProblems(problems, "Such fields count as missing", training);
  if (!flags.client().has_value() && tables.size() != 1) {
    return base::InvalidArgument(
        "{} has the tables of {} sites: choose this site's with --client, from 0", path,
        tables.size());
  }
  const uint64_t place = flags.client().value_or(0);
  if (place >= tables.size()) {
    return base::InvalidArgument("--client is {}, {} has the tables of {} sites", place, path,
                                 tables.size());
  }
  const std::vector<tacet::statistics::SiteTable> chosen = {tables[place]};
  std::vector<std::string> names;
  for (const agreement::ManifestMember& member : manifest.members()) names.push_back(member.name);
  TACET_RETURN_IF_ERROR(loaded.query->CheckSites(names));
  // Questions name sites as the manifest does, whatever the file is called.
  tacet::statistics::SiteTable table = chosen[0];
  table.name = site;
  TACET_ASSIGN_OR_RETURN(
      tacet::statistics::SiteUnits units,
      tacet::statistics::SiteUnits::Create(loaded.query, table, loaded.file.person_column));
  training.data = {.name = site::NameOfData(path),
                   .digest = tacet::statistics::TablesDigest(chosen)};
  training.records = chosen[0].rows;
  training.config.run.publish_evaluation = false;
  std::vector<tacet::statistics::SiteUnits> sites;
  sites.push_back(std::move(units));
  training.learner =
      std::make_unique<tacet::statistics::QueryLearner>(loaded.query, std::move(sites));
  return absl::OkStatus();
}

}  // namespace

void SiteDataFlags::Register(program::Options& options) {
  options.AddString("data", "folder or file with this site's data (docs/formats/datasets.md)",
                    &path_);
  options.AddString("config",
                    "TOML file with this site's own settings: section [data], training.precision, "
                    "run.publish_evaluation",
                    &config_);
  options.AddFlag("draw", "train on synthetic handwriting instead of data, as a trial", &draw_);
  options.AddUint("client", "number of this site among the data set's clients, from 0", &client_);
  options.AddUint("records",
                  "where the agreed model is external: number of records in the data, which the "
                  "site's policy may ask for",
                  &records_);
}

absl::StatusOr<config::RunConfig> SiteDataFlags::Config(
    const agreement::SignedManifest& manifest) const {
  TACET_ASSIGN_OR_RETURN(config::RunConfig config, config::SiteConfigOf(manifest.annex(), config_));
  if (path_.has_value()) config.data.path = *path_;
  if (config.data.path.empty() != draw_) {
    return base::InvalidArgument("{}", draw_ ? "--draw and --data exclude each other"
                                             : "--data is needed: where this site's data are");
  }
  return config;
}

absl::StatusOr<config::LedgerConfig> SiteDataFlags::Ledger() const {
  if (!config_.has_value()) return config::LedgerConfig();
  TACET_ASSIGN_OR_RETURN(config::RunConfig own, config::LoadRunConfig(*config_));
  return std::move(own.ledger);
}

absl::StatusOr<site::SiteTraining> LoadSiteTraining(const SiteDataFlags& flags,
                                                    const agreement::SignedManifest& manifest,
                                                    uint64_t member) {
  site::SiteTraining training;
  TACET_ASSIGN_OR_RETURN(training.config, flags.Config(manifest));
  TACET_ASSIGN_OR_RETURN(training.ledger, flags.Ledger());
  if (config::IsQuery(training.config)) {
    TACET_RETURN_IF_ERROR(
        LoadQueryData(flags, manifest, manifest.members()[member].name, training));
    return training;
  }
  if (config::IsExternal(training.config)) {
    TACET_RETURN_IF_ERROR(LoadExternalData(flags, training));
    return training;
  }
  if (flags.records() != 0) {
    return base::InvalidArgument(
        "--records is for external models: tacet counts the records of {} itself",
        training.config.model.name);
  }
  table::ProblemSummary problems;
  TACET_ASSIGN_OR_RETURN(const data::Dataset all, config::LoadRunData(training.config, &problems));
  NoteProblems(problems, "Such rows are left out", training);
  TACET_ASSIGN_OR_RETURN(data::Dataset own, OwnData(all, flags.client()));
  training.data = app::simulate::RunDataOf(own);
  training.records = own.samples();
  training.most_frequent_class = data::MostFrequentClassShare(own);
  TACET_ASSIGN_OR_RETURN(const training::LearnerSpec spec,
                         app::simulate::LearnerSpecOf(training.config));
  TACET_ASSIGN_OR_RETURN(training.learner, training::NewLearner(spec, std::move(own)));
  return training;
}

}  // namespace tacet::app::client
