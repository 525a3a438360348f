// Settings of the sites of a rehearsal, where each says how its own files are written.
#ifndef TACET_CONFIG_SITE_SETTINGS_H_
#define TACET_CONFIG_SITE_SETTINGS_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/config/run_config.h"

namespace tacet::config {

// A TOML file with a table [site.NAME] for each site that has settings of its own, by name:
// csv_separator, csv_decimal, csv_thousands and csv_spellings, as `data.*` of a site's own file.
// Everything else in the configurations is the default. InvalidArgument names file and key.
absl::StatusOr<std::map<std::string, RunConfig>> ParseSiteSettings(std::string_view toml,
                                                                   std::string_view source);
absl::StatusOr<std::map<std::string, RunConfig>> LoadSiteSettings(const std::string& path);

}  // namespace tacet::config

#endif  // TACET_CONFIG_SITE_SETTINGS_H_
