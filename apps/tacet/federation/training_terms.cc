#include "apps/tacet/federation/training_terms.h"

#include <utility>

#include "fmt/core.h"

#include "apps/tacet/simulate/configured_learner.h"
#include "tacet/agreement/privacy_warnings.h"
#include "tacet/base/status.h"
#include "tacet/config/agreed_query.h"
#include "tacet/config/configuration_words.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/site_config.h"
#include "tacet/coordinator/federation_setup.h"
#include "tacet/crypto/hash.h"
#include "tacet/models/architecture.h"
#include "tacet/run/query_run.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::app::federation {
namespace {

// Whether the agreement can be planned at all.
absl::StatusOr<agreement::Manifest> PlanOf(const std::string& agreed,
                                           const agreement::InitialModel& model, uint64_t members) {
  TACET_ASSIGN_OR_RETURN(agreement::ManifestSpec spec, coordinator::AgreementOf(agreed, model));
  spec.sampling.clients = members != 0 ? members : spec.sampling.cohort;
  if (spec.sampling.clients == 0 || spec.sampling.clients > (uint64_t{1} << 24)) {
    return base::InvalidArgument(
        "--members is {} and federation.cohort {}: one of them has to say how many are planned",
        members, spec.sampling.cohort);
  }
  if (spec.sampling.cohort == 0) spec.sampling.cohort = spec.sampling.clients;
  spec.members.resize(spec.sampling.clients);
  absl::StatusOr<agreement::Manifest> plan = agreement::Manifest::Create(std::move(spec));
  if (!plan.ok()) return config::InConfigurationWords(plan.status());
  return plan;
}

}  // namespace

void TrainingTermsFlags::Register(program::Options& options) {
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
}

TrainingTermsFlags TrainingTermsFlags::Of(std::string config, std::string query,
                                          std::optional<std::string> initial_model) {
  TrainingTermsFlags flags;
  flags.config_ = std::move(config);
  flags.query_ = std::move(query);
  flags.initial_model_ = std::move(initial_model);
  return flags;
}

absl::StatusOr<std::string> TrainingTermsFlags::AsRead() const {
  constexpr size_t kDigits = 16;
  std::string text;
  for (const std::string& file : {config_, query_, initial_model_.value_or("")}) {
    if (file.empty()) continue;
    TACET_ASSIGN_OR_RETURN(const base::Bytes content, storage::file::ReadFile(file));
    text += fmt::format(" {} (SHA-256 {}...)", file,
                        base::ToHex(crypto::Sha256(content)).substr(0, kDigits));
  }
  return text;
}

std::string TrainingTermsFlags::AsGiven() const {
  std::string text;
  if (!config_.empty()) text += " --config " + config_;
  if (!query_.empty()) text += " --query " + query_;
  if (initial_model_.has_value()) text += " --initial-model " + *initial_model_;
  return text;
}

absl::StatusOr<PlannedTraining> TrainingTermsFlags::Load(uint64_t members) const {
  if (config_.empty() == query_.empty()) {
    return base::InvalidArgument(
        "give either --config (terms of a training) or --query (a query file)");
  }
  TACET_ASSIGN_OR_RETURN(const config::RunConfig config, Terms(members));
  if (!config.model.federated.empty() || !config.model.start.empty()) {
    return base::InvalidArgument(
        "model.federated and model.start are for `tacet simulate`: a federation is set up with all "
        "of a model, drawn by run.seed");
  }
  TACET_ASSIGN_OR_RETURN(std::vector<float> model, InitialModel(config));
  TACET_RETURN_IF_ERROR(config::CheckExternalModel(config));
  const std::vector<std::string_view> simulated = config::SimulationOnlyKeys(config);
  if (!simulated.empty()) {
    return base::InvalidArgument("{}: {} makes sense in simulations only", config_, simulated[0]);
  }
  crypto::SystemEntropy salts;
  const auto initial = agreement::InitialModel::WithFreshSalt(std::move(model), salts);
  storage::file::TrainingTerms terms{.agreement = config::AgreedToml(config),
                                     .initial_model = agreement::WriteInitialModel(initial)};
  TACET_ASSIGN_OR_RETURN(agreement::Manifest plan, PlanOf(terms.agreement, initial, members));
  TACET_ASSIGN_OR_RETURN(std::vector<std::string> warnings,
                         agreement::PrivacyWarnings(plan.spec()));
  return PlannedTraining{
      .terms = std::move(terms), .plan = std::move(plan), .warnings = std::move(warnings)};
}

absl::StatusOr<config::RunConfig> TrainingTermsFlags::Terms(uint64_t members) const {
  if (query_.empty()) {
    TACET_ASSIGN_OR_RETURN(config::RunConfig config, config::LoadRunConfig(config_));
    config::FixDraw(config, members != 0 ? members : config.agreement.sampling.cohort);
    return config;
  }
  if (members < 2) {
    return base::InvalidArgument(
        "--members is {}: a query needs the planned number of sites, 2 or more", members);
  }
  TACET_ASSIGN_OR_RETURN(const config::LoadedQuery loaded, run::LoadQuery(query_));
  return run::AgreedQueryConfig(loaded, members);
}

// Zeros for a query: the sum is added to them.
absl::StatusOr<std::vector<float>> TrainingTermsFlags::InitialModel(
    const config::RunConfig& config) const {
  if (config::IsExternal(config)) {
    if (initial_model_.has_value()) {
      return config::LoadParameters(*initial_model_, "--initial-model");
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
  if (config::IsQuery(config)) {
    TACET_ASSIGN_OR_RETURN(const config::LoadedQuery loaded,
                           config::ParseQuery(config.query.text, "query.text"));
    return std::vector<float>(loaded.query->dimension(), 0.0F);
  }
  TACET_ASSIGN_OR_RETURN(const models::ArchitectureSpec shape,
                         simulate::ArchitectureSpecOf(config));
  TACET_ASSIGN_OR_RETURN(const models::Architecture architecture,
                         models::Architecture::Create(shape));
  return architecture.InitialParameters(config.run.seed, config.model.last_layer_gain);
}

}  // namespace tacet::app::federation
