#include "tacet/transport/http/header_field.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include "tacet/base/status.h"

namespace tacet::transport::http {
namespace {

bool IsTokenCharacter(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || kOthers.find(c) != kOthers.npos;
}

}  // namespace

bool HeaderField::Is(std::string_view other) const { return EqualsIgnoreCase(name, other); }

absl::StatusOr<HeaderField> ReadHeaderField(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == line.npos) return base::InvalidArgument("a header line has no colon");
  const HeaderField field{.name = line.substr(0, colon),
                          .value = WithoutBlanks(line.substr(colon + 1))};
  if (!IsToken(field.name)) return base::InvalidArgument("the name of a header is not a token");
  if (!IsText(field.value)) {
    return base::InvalidArgument("the value of a header has a control character");
  }
  return field;
}

std::string_view WithoutBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

absl::StatusOr<std::string_view> WithoutLineEnd(std::string_view line) {
  constexpr std::string_view kEnd = "\r\n";
  if (!line.ends_with(kEnd)) return base::InvalidArgument("a line does not end with CR LF");
  return line.substr(0, line.size() - kEnd.size());
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, IsTokenCharacter);
}

// Bytes from 0x80 on are text of an unknown encoding.
bool IsText(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return c == '\t' || !absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return absl::EqualsIgnoreCase(absl::string_view(a.data(), a.size()),
                                absl::string_view(b.data(), b.size()));
}

std::optional<uint64_t> ReadContentLength(std::string_view value) {
  uint64_t length = 0;
  const char* const end = value.data() + value.size();
  const auto [stopped, error] = std::from_chars(value.data(), end, length);
  const bool has_leading_zero = value.size() > 1 && value.front() == '0';
  if (error != std::errc() || stopped != end || has_leading_zero) return std::nullopt;
  return length;
}

}  // namespace tacet::transport::http
