// A site's policy as a TOML file, and what an agreed training does with the site's data.
#ifndef TACET_CONFIG_POLICY_FILE_H_
#define TACET_CONFIG_POLICY_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/config/run_config.h"
#include "tacet/policy/permission.h"
#include "tacet/policy/site_policy.h"

namespace tacet::config {

// InvalidArgument names `source` and what is wrong: malformed TOML, too long a text, errors of
// ReadSitePolicy.
absl::StatusOr<policy::SitePolicy> ParseSitePolicy(std::string_view toml, std::string_view source);

// The agreed training's data at the site of this name, which has so many records; none: its
// table has not been read.
absl::StatusOr<policy::DataUse> DataUseOf(const RunConfig& agreed, std::string site,
                                          std::optional<uint64_t> records);

}  // namespace tacet::config

#endif  // TACET_CONFIG_POLICY_FILE_H_
