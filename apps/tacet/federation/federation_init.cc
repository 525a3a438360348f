#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/federation/federation_command.h"
#include "apps/tacet/federation/federation_setup.h"
#include "apps/tacet/privacy/privacy_warnings.h"
#include "apps/tacet/program/unlock_flags.h"
#include "apps/tacet/run/agreed_query.h"
#include "apps/tacet/run/configuration_words.h"
#include "apps/tacet/run/manifest_text.h"
#include "apps/tacet/run/run_config.h"
#include "apps/tacet/run/site_config.h"
#include "apps/tacet/statistics/query_run.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/base/json.h"
#include "tacet/base/status.h"
#include "tacet/crypto/certificates.h"
#include "tacet/crypto/random.h"
#include "tacet/storage/file/coordinator_folder.h"

namespace tacet::app::federation {
namespace {

using storage::file::CoordinatorFolder;
using storage::file::CoordinatorKeys;

constexpr uint64_t kSecondsADay = 86'400;
constexpr uint64_t kMaxDays = 36'500;

class FederationInitCommand : public program::Command {
 public:
  std::string_view name() const override { return "init"; }
  std::string_view summary() const override {
    return "create a federation: agreement, certificate authority, first epoch key, initial model";
  }

  void Register(program::Options& options) override {
    options.AddString("folder", kFolderHelp, &folder_);
    options.AddString("name", "name of the federation: lower-case letters, digits, hyphens",
                      &name_);
    options.AddString("config",
                      "TOML file with the terms of the agreement (docs/formats/configuration.md), "
                      "without settings of one site's data or machine",
                      &config_);
    options.AddString("query",
                      "query file instead of --config: the federation answers its questions once "
                      "(docs/formats/query.md)",
                      &query_);
    options.AddString("initial-model",
                      "with model.name = \"external\": file of the parameters before the first "
                      "round, little-endian binary32",
                      &initial_model_);
    options.AddUint(
        "members", "planned number of members, for the check of the plan; 0: as many as the cohort",
        &members_);
    options.AddUint("days", "days for which the authority's certificate is valid", &days_);
    options.AddFlag("json", "print JSON", &json_);
    unlock_.Register(options);
    options.Require("name");
  }

  absl::Status Run() override {
    TACET_RETURN_IF_ERROR(agreement::CheckSiteName(name_));
    if (days_ == 0 || days_ > kMaxDays) {
      return base::InvalidArgument("--days is {}, it must be from 1 to {}", days_, kMaxDays);
    }
    if (config_.empty() == query_.empty()) {
      return base::InvalidArgument(
          "give either --config (terms of a training) or --query (a query file)");
    }
    TACET_ASSIGN_OR_RETURN(const run::RunConfig config, Terms());
    if (!config.model.federated.empty() || !config.model.start.empty()) {
      return base::InvalidArgument(
          "model.federated and model.start are for `tacet simulate`: a federation is set up with "
          "all "
          "of a model, drawn by run.seed");
    }
    TACET_ASSIGN_OR_RETURN(const std::vector<float> model, InitialModel(config));
    TACET_RETURN_IF_ERROR(run::CheckArchitecture(config));
    const std::string agreed = run::AgreedToml(config);
    TACET_ASSIGN_OR_RETURN(const agreement::Manifest plan, Plan(config, agreed, model));
    TACET_ASSIGN_OR_RETURN(const std::vector<std::string> warnings,
                           privacy::PrivacyWarnings(plan.spec()));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.New("coordinator's keys"));
    TACET_ASSIGN_OR_RETURN(const crypto::PublicKey coordinator, Make(agreed, model, unlocker));
    Print(plan, warnings, coordinator);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<run::RunConfig> Terms() const {
    if (query_.empty()) return run::LoadAgreedConfig(config_, members_);
    if (members_ < 2) {
      return base::InvalidArgument(
          "--members is {}: a query needs the planned number of sites, 2 or more", members_);
    }
    TACET_ASSIGN_OR_RETURN(const run::LoadedQuery loaded, statistics::LoadQuery(query_));
    return statistics::AgreedQueryConfig(loaded, members_);
  }

  // Zeros for a query: the sum is added to them.
  absl::StatusOr<std::vector<float>> InitialModel(const run::RunConfig& config) const {
    if (run::IsExternal(config)) {
      if (initial_model_.has_value()) {
        return run::LoadParameters(*initial_model_, "--initial-model");
      }
      return base::InvalidArgument(
          "--initial-model is needed with model.name = \"external\": the file of the parameters "
          "before the first round");
    }
    if (initial_model_.has_value()) {
      return base::InvalidArgument(
          "--initial-model is for model.name = \"external\": run.seed draws the parameters of {}",
          config.model.name);
    }
    if (run::IsQuery(config)) {
      TACET_ASSIGN_OR_RETURN(const run::LoadedQuery loaded,
                             run::ParseQuery(config.query.text, "query.text"));
      return std::vector<float>(loaded.query->dimension(), 0.0F);
    }
    TACET_ASSIGN_OR_RETURN(const models::ArchitectureSpec shape, run::ArchitectureSpecOf(config));
    TACET_ASSIGN_OR_RETURN(const models::Architecture architecture,
                           models::Architecture::Create(shape));
    return architecture.InitialParameters(config.run.seed, config.model.last_layer_gain);
  }

  // With keys that nobody has: whether the agreement can be planned at all.
  absl::StatusOr<agreement::Manifest> Plan(const run::RunConfig& config, const std::string& agreed,
                                           const std::vector<float>& model) const {
    if (!simulation::SimulationLabels(*run::SimulationSpecOf(config)).empty()) {
      return base::InvalidArgument("{}: section [run] makes sense in simulations only", config_);
    }
    TACET_ASSIGN_OR_RETURN(agreement::ManifestSpec spec, AgreementOf(agreed, model));
    spec.sampling.clients = members_ != 0 ? members_ : spec.sampling.cohort;
    if (spec.sampling.clients == 0 || spec.sampling.clients > (uint64_t{1} << 24)) {
      return base::InvalidArgument(
          "--members is {} and federation.cohort {}: one of them has to say how many are planned",
          members_, spec.sampling.cohort);
    }
    if (spec.sampling.cohort == 0) spec.sampling.cohort = spec.sampling.clients;
    spec.members.resize(spec.sampling.clients);
    absl::StatusOr<agreement::Manifest> plan = agreement::Manifest::Create(std::move(spec));
    if (!plan.ok()) return run::InConfigurationWords(plan.status());
    return plan;
  }

  absl::StatusOr<crypto::PublicKey> Make(const std::string& agreed, const std::vector<float>& model,
                                         const crypto::Unlocker& unlocker) const {
    crypto::SystemEntropy entropy;
    crypto::Digest identity{};
    std::ranges::copy(entropy.Draw(32).Expose(), identity.begin());
    const CoordinatorKeys keys{.signing = crypto::SigningKey::Generate(entropy),
                               .authority = crypto::TlsKey::Generate()};
    const auto now = static_cast<uint64_t>(std::time(nullptr));
    TACET_ASSIGN_OR_RETURN(base::Bytes authority,
                           crypto::IssueAuthority({.common_name = name_,
                                                   .role = crypto::CertificateRole::kAuthority,
                                                   .public_key = keys.authority.public_key(),
                                                   .hosts = {},
                                                   .not_before = now,
                                                   .not_after = now + days_ * kSecondsADay},
                                                  keys.authority));
    base::Bytes initial_model(model.size() * sizeof(float));
    std::memcpy(initial_model.data(), model.data(), initial_model.size());
    TACET_RETURN_IF_ERROR(CoordinatorFolder::Create(folder_,
                                                    {.federation = name_,
                                                     .identity = identity,
                                                     .agreement = agreed,
                                                     .authority = std::move(authority),
                                                     .initial_model = std::move(initial_model)},
                                                    keys, entropy.Draw(32), unlocker, entropy)
                              .status());
    return keys.signing.public_key();
  }

  void Print(const agreement::Manifest& plan, const std::vector<std::string>& warnings,
             const crypto::PublicKey& coordinator) const {
    if (json_) {
      fmt::print("{}\n", base::JsonValue::MakeObject()
                             .Set("federation", name_)
                             .Set("folder", folder_)
                             .Set("coordinator", base::ToHex(coordinator))
                             .Set("dimension", plan.spec().dimension)
                             .Set("warnings", privacy::WarningsJson(warnings))
                             .Dump(2));
      return;
    }
    fmt::print(
        "{}{}\nfolder      {}\ncoordinator {}\n\nTell every site the coordinator's fingerprint "
        "through a channel that nobody can alter. Each site makes its keys with\n  tacet client "
        "request --name NAME\n"
        "and sends you its request; enrol it with\n  tacet federation enrol NAME --request FILE\n",
        run::AgreementText(plan), privacy::WarningLines(warnings), folder_,
        agreement::FingerprintText(coordinator));
  }

  std::string folder_ = std::string(kDefaultFolder);
  std::string name_, config_, query_;
  std::optional<std::string> initial_model_;
  uint64_t members_ = 0;
  uint64_t days_ = 3650;
  bool json_ = false;
  program::UnlockFlags unlock_;
};

}  // namespace

std::unique_ptr<program::Command> NewFederationInitCommand() {
  return std::make_unique<FederationInitCommand>();
}

}  // namespace tacet::app::federation
