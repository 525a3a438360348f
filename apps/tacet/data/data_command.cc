#include "apps/tacet/data/data_command.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/data/data_check.h"
#include "apps/tacet/data/query_check.h"
#include "apps/tacet/data/score_command.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/status.h"
#include "tacet/config/agreed_query.h"
#include "tacet/config/site_config.h"
#include "tacet/run/query_run.h"
#include "tacet/run/site_tables.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/site_folder.h"

namespace tacet::app::data {
namespace {

constexpr int kProblems = 1;

struct Agreement {
  agreement::SignedManifest manifest;
  std::string site;  // whose folder it is; empty: an invitation
};

// For an invitation, or for the folder of a site that has joined.
absl::StatusOr<Agreement> LoadAgreement(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    TACET_ASSIGN_OR_RETURN(const storage::file::SiteFolder folder,
                           storage::file::SiteFolder::Open(path));
    TACET_ASSIGN_OR_RETURN(storage::file::Membership membership, folder.Joined());
    const std::string site =
        membership.member.has_value() ? membership.manifest.members()[*membership.member].name : "";
    return Agreement{.manifest = std::move(membership.manifest), .site = site};
  }
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, storage::file::ReadFile(path));
  const absl::StatusOr<agreement::Invitation> invitation = agreement::ReadInvitation(bytes);
  if (!invitation.ok()) return base::Annotate(invitation.status(), path);
  absl::StatusOr<agreement::SignedManifest> manifest =
      agreement::SignedManifest::Read(invitation->manifest);
  if (!manifest.ok()) return base::Annotate(manifest.status(), path);
  return Agreement{.manifest = *std::move(manifest), .site = ""};
}

class DataCheckCommand : public program::Command {
 public:
  std::string_view name() const override { return "check"; }
  std::string_view summary() const override {
    return "list every problem of a site's files, with file, line, column and what to change";
  }
  void Register(program::Options& options) override {
    options.AddString("agreement", "the site's invitation, or its folder after it joined",
                      &agreement_);
    options.AddString(
        "config",
        "TOML file: with --agreement or --query the site's own settings, else all settings",
        &config_);
    options.AddString("query",
                      "TOML file with a query (docs/formats/query.md), in place of --agreement: "
                      "checks the tables for its questions",
                      &query_);
    options.AddString("data", "file or folder with the data (docs/formats/datasets.md)", &data_);
    options.AddUint("client",
                    "with --agreement: number of the site among the data set's clients, from 0",
                    &client_);
    options.AddFlag("json", "print JSON", &json_);
  }

  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const DataCheck check, Check());
    fmt::print("{}", json_ ? DataCheckJson(check).Dump(2) + "\n" : DataCheckText(check));
    if (!check.problems.empty()) exit_code_ = kProblems;
    return absl::OkStatus();
  }

  int exit_code() const override { return exit_code_; }

 private:
  absl::StatusOr<DataCheck> Check() const {
    DataCheckSpec spec{.config = {}, .client = client_};
    if (query_.has_value()) {
      if (agreement_.has_value()) {
        return base::InvalidArgument(
            "--query and --agreement exclude each other: the agreement of a query holds its text");
      }
      TACET_ASSIGN_OR_RETURN(config::LoadedQuery query, run::LoadQuery(*query_));
      // Among its own settings a site has only the format here.
      if (config_.has_value()) {
        TACET_ASSIGN_OR_RETURN(spec.config, config::LoadRunConfig(*config_));
      }
      return CheckQuery(std::move(query), spec.config, /*is_live=*/false, "");
    }
    std::string site;
    if (agreement_.has_value()) {
      TACET_ASSIGN_OR_RETURN(const Agreement agreement, LoadAgreement(*agreement_));
      TACET_ASSIGN_OR_RETURN(spec.config,
                             config::SiteConfigOf(agreement.manifest.annex(), config_));
      if (config::IsQuery(spec.config)) {
        TACET_ASSIGN_OR_RETURN(config::LoadedQuery query,
                               config::ParseQuery(spec.config.query.text, "the agreed query"));
        return CheckQuery(std::move(query), spec.config, /*is_live=*/true, agreement.site);
      }
      spec.agreed = agreement.manifest.manifest().spec();
    } else if (config_.has_value()) {
      TACET_ASSIGN_OR_RETURN(spec.config, config::LoadRunConfig(*config_));
    } else {
      return base::InvalidArgument(
          "--agreement, --query or --config is needed: it says what the columns mean");
    }
    if (config::IsExternal(spec.config)) {
      return base::InvalidArgument(
          "the agreed model is external: only its users' own program knows what it reads, so tacet "
          "cannot check the data");
    }
    if (data_.has_value()) spec.config.data.path = *data_;
    if (spec.config.data.path.empty()) {
      return base::InvalidArgument("--data is needed: where this site's data are");
    }
    return CheckData(spec);
  }

  absl::StatusOr<DataCheck> CheckQuery(config::LoadedQuery query, const config::RunConfig& own,
                                       bool is_live, const std::string& site) const {
    const std::string path = data_.value_or(own.data.path);
    if (path.empty()) {
      return base::InvalidArgument("--data is needed: the file or folder with the tables");
    }
    TACET_ASSIGN_OR_RETURN(const run::TableFormat format, run::SiteFormat(query.file, own));
    return CheckQueryTables({.query = std::move(query),
                             .data = path,
                             .format = format,
                             .is_live = is_live,
                             .site = site,
                             .client = client_});
  }

  std::optional<std::string> agreement_, config_, query_, data_;
  std::optional<uint64_t> client_;
  bool json_ = false;
  int exit_code_ = 0;
};

}  // namespace

std::unique_ptr<program::Command> NewDataCommand() {
  std::vector<std::unique_ptr<program::Command>> commands;
  commands.push_back(std::make_unique<DataCheckCommand>());
  commands.push_back(NewDataScoreCommand());
  return std::make_unique<program::CommandGroup>(
      "data", "check a site's data before it joins, or score them with a model",
      std::move(commands));
}

}  // namespace tacet::app::data
