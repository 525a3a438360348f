#include "tacet/config/site_config.h"

#include <algorithm>

#include "fmt/core.h"

#include "tacet/base/json.h"
#include "tacet/base/plain_text.h"
#include "tacet/base/status.h"
#include "tacet/trainer/function_learner.h"

namespace tacet::config {
namespace {

// Anything else could move a terminal's cursor.
bool IsPrintable(char byte) { return byte >= ' ' && byte <= '~'; }

}  // namespace

absl::StatusOr<RunConfig> SiteConfigOf(std::string_view annex,
                                       const std::optional<std::string>& own_path) {
  TACET_ASSIGN_OR_RETURN(const RunConfig agreed, ParseRunConfig(annex, "the agreement"));
  // Without what is nobody else's to decide.
  TACET_ASSIGN_OR_RETURN(RunConfig config, ParseRunConfig(AgreedToml(agreed), "the agreement"));
  if (!own_path.has_value()) return config;
  TACET_ASSIGN_OR_RETURN(const RunConfig own, LoadRunConfig(*own_path));
  if (AgreedToml(own) != AgreedToml(RunConfig())) {
    return base::InvalidArgument(
        "{} sets keys on which all sites have agreed: only what belongs to this site can stand "
        "there (data.path, data.csv_client_column, data.csv_separator, data.csv_decimal, "
        "data.csv_thousands, data.csv_spellings, data.held_out, data.clients, data.sites, "
        "data.handwriting_*, "
        "training.precision, "
        "run.publish_evaluation, ledger.*)",
        *own_path);
  }
  config.data.path = own.data.path;
  config.data.csv_client_column = own.data.csv_client_column;
  config.data.csv_separator = own.data.csv_separator;
  config.data.csv_decimal = own.data.csv_decimal;
  config.data.csv_thousands = own.data.csv_thousands;
  config.data.csv_spellings = own.data.csv_spellings;
  config.data.held_out = own.data.held_out;
  config.data.clients = own.data.clients;
  config.data.sites = own.data.sites;
  config.data.handwriting_writers = own.data.handwriting_writers;
  config.data.handwriting_min_samples = own.data.handwriting_min_samples;
  config.data.handwriting_max_samples = own.data.handwriting_max_samples;
  config.data.handwriting_classes = own.data.handwriting_classes;
  config.training.precision = own.training.precision;
  config.run.publish_evaluation = own.run.publish_evaluation;
  return config;
}

bool IsExternal(const RunConfig& config) { return config.model.name == trainer::kExternalModel; }

absl::Status CheckExternalModel(const RunConfig& config) {
  const std::string& text = config.model.architecture;
  if (!IsExternal(config)) {
    if (config.model.app.empty()) return absl::OkStatus();
    return base::InvalidArgument("model.app is for model.name = \"external\", the model is {}",
                                 config.model.name);
  }
  if (text.empty()) {
    return base::InvalidArgument(
        "model.architecture is missing: with model.name = \"external\" it names the model, so that "
        "every site trains the same one");
  }
  if (text.size() > kMaxArchitectureBytes || !std::ranges::all_of(text, IsPrintable)) {
    return base::InvalidArgument(
        "model.architecture has {} bytes, it must be one line of at most {} printable ASCII "
        "characters",
        text.size(), kMaxArchitectureBytes);
  }
  return AppConfiguration(config).status();
}

absl::StatusOr<std::string> AppConfiguration(const RunConfig& config) {
  const std::string& app = config.model.app;
  if (app.empty()) return "{}";
  if (app.size() > kMaxAppBytes || !std::ranges::all_of(app, IsPrintable)) {
    return base::InvalidArgument(
        "model.app has {} bytes, it must be one line of at most {} printable ASCII characters",
        app.size(), kMaxAppBytes);
  }
  const absl::StatusOr<base::JsonValue> value = base::JsonValue::Parse(app);
  if (value.ok() && value->is_object()) return app;
  return base::InvalidArgument("model.app is no JSON object: {}",
                               value.ok() ? "it is another value" : base::Message(value.status()));
}

std::string ArchitectureText(const RunConfig& agreed) {
  return base::PlainText(agreed.model.architecture, kMaxArchitectureBytes);
}

absl::StatusOr<std::string> ExternalModelLines(std::string_view annex) {
  TACET_ASSIGN_OR_RETURN(const RunConfig agreed, ParseRunConfig(annex, "the agreement"));
  if (!IsExternal(agreed)) return "";
  std::string lines = fmt::format("architecture {}\n", ArchitectureText(agreed));
  if (!agreed.model.app.empty()) {
    lines += fmt::format("app         {}\n", base::PlainText(agreed.model.app, kMaxAppBytes));
  }
  return lines;
}

}  // namespace tacet::config
