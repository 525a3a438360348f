// TOML in UTF-8 as the same TOML in ASCII.
#ifndef TACET_CONFIG_TOML_ASCII_H_
#define TACET_CONFIG_TOML_ASCII_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tacet::config {

// The parser's tables of letters have holes that hostile text finds, so it sees ASCII alone. Other
// characters become \UXXXXXXXX in strings and blanks in comments; a literal string that holds some
// becomes a basic string. A byte order mark is left out. Text in ASCII stays unchanged. Every line
// keeps its number.
//
// InvalidArgument with `source` and line: text in UTF-16, a byte that is not UTF-8, a character
// beyond ASCII outside of strings and comments.
absl::StatusOr<std::string> TomlInAscii(std::string_view text, std::string_view source);

}  // namespace tacet::config

#endif  // TACET_CONFIG_TOML_ASCII_H_
