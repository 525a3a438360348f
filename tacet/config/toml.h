// TOML documents as JSON values, read through a library that only toml.cc includes.
#ifndef TACET_CONFIG_TOML_H_
#define TACET_CONFIG_TOML_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/json.h"

namespace tacet::config {

// UTF-8, with or without a byte order mark. Tables become objects (in alphabetical order of their
// keys), arrays arrays. InvalidArgument says at which line and column of `source` what was wrong;
// dates and times are refused.
absl::StatusOr<base::JsonValue> ParseToml(std::string_view text, std::string_view source);

// Values as TOML, in ASCII: what ParseToml reads back as the same value. In strings everything else
// is escaped, and bytes that are not UTF-8 become a '?' each.
std::string TomlText(const std::string& value);
std::string TomlText(uint64_t value);
std::string TomlText(double value);
std::string TomlText(bool value);
std::string TomlText(const std::vector<uint64_t>& values);
std::string TomlText(const std::vector<std::string>& values);

}  // namespace tacet::config

#endif  // TACET_CONFIG_TOML_H_
