#include "tacet/config/agreed_query.h"

#include <utility>

#include "tacet/agreement/manifest.h"
#include "tacet/base/status.h"
#include "tacet/config/toml.h"
#include "tacet/statistics/noise_choice.h"

namespace tacet::config {

absl::StatusOr<LoadedQuery> ParseQuery(std::string_view text, std::string_view source) {
  LoadedQuery loaded{.text = std::string(text), .file = {}, .query = nullptr};
  TACET_ASSIGN_OR_RETURN(const base::JsonValue toml, ParseToml(text, source));
  auto file = tacet::statistics::ReadQueryFile(toml);
  if (!file.ok()) return base::Annotate(file.status(), source);
  loaded.file = *std::move(file);
  if (!loaded.file.noise_law.has_value()) {
    loaded.file.query.noise_law = tacet::statistics::ChooseNoiseLaw(loaded.file);
  }
  auto query = tacet::statistics::Query::Create(loaded.file.query);
  if (!query.ok()) return base::Annotate(query.status(), source);
  loaded.query = std::make_shared<const tacet::statistics::Query>(*std::move(query));
  return loaded;
}

bool IsQuery(const RunConfig& config) { return config.model.name == agreement::kQueryModel; }

}  // namespace tacet::config
