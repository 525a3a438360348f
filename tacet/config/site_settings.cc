#include "tacet/config/site_settings.h"

#include <vector>

#include "tacet/base/status.h"
#include "tacet/config/toml.h"

namespace tacet::config {
namespace {

using base::JsonValue;

absl::StatusOr<std::vector<std::string>> TextsOf(const JsonValue& value) {
  if (!value.is_array()) return base::InvalidArgument("is not a list");
  std::vector<std::string> texts;
  for (const JsonValue& item : value.items()) {
    TACET_ASSIGN_OR_RETURN(texts.emplace_back(), item.AsString());
  }
  return texts;
}

absl::Status AssignKey(const std::string& key, const JsonValue& value, RunConfig& config) {
  if (key == "csv_separator") {
    TACET_ASSIGN_OR_RETURN(config.data.csv_separator, value.AsString());
  } else if (key == "csv_decimal") {
    TACET_ASSIGN_OR_RETURN(config.data.csv_decimal, value.AsString());
  } else if (key == "csv_thousands") {
    TACET_ASSIGN_OR_RETURN(config.data.csv_thousands, value.AsString());
  } else if (key == "csv_spellings") {
    TACET_ASSIGN_OR_RETURN(config.data.csv_spellings, TextsOf(value));
  } else {
    return base::InvalidArgument(
        "is unknown: expected csv_separator, csv_decimal, csv_thousands, csv_spellings");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::map<std::string, RunConfig>> ParseSiteSettings(std::string_view toml,
                                                                   std::string_view source) {
  TACET_ASSIGN_OR_RETURN(const JsonValue file, ParseToml(toml, source));
  const JsonValue* sites = file.Find("site");
  if (sites == nullptr || !sites->is_object() || file.members().size() != 1) {
    return base::InvalidArgument("{}: expected tables [site.NAME], one for each site", source);
  }
  std::map<std::string, RunConfig> settings;
  for (const auto& [name, keys] : sites->members()) {
    if (!keys.is_object()) {
      return base::InvalidArgument("{}: site.{} is not a table", source, name);
    }
    for (const auto& [key, value] : keys.members()) {
      const absl::Status assigned = AssignKey(key, value, settings[name]);
      if (assigned.ok()) continue;
      return base::InvalidArgument("{}: site.{}.{} {}", source, name, key, base::Message(assigned));
    }
  }
  return settings;
}

absl::StatusOr<std::map<std::string, RunConfig>> LoadSiteSettings(const std::string& path) {
  TACET_ASSIGN_OR_RETURN(const std::string text, ReadConfigText(path));
  return ParseSiteSettings(text, path);
}

}  // namespace tacet::config
