// TOML documents as JSON values, read through a library that only toml.cc includes.
#ifndef TACET_APPS_TACET_TOML_H_
#define TACET_APPS_TACET_TOML_H_

#include <string_view>

#include "absl/status/statusor.h"

#include "apps/tacet/json.h"

namespace tacet::app {

// Tables become objects (in alphabetical order of their keys), arrays arrays. InvalidArgument says
// at which line and column of `source` what was wrong; dates and times are refused.
absl::StatusOr<JsonValue> ParseToml(std::string_view text, std::string_view source);

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_TOML_H_
