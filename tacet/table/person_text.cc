#include "tacet/table/person_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "utf8proc.h"

namespace tacet::table {
namespace {

constexpr std::string_view kDigits = "0123456789";

// None where the text is not UTF-8.
std::optional<std::string> Mapped(std::string_view text, int options) {
  utf8proc_uint8_t* bytes = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &bytes,
                                             static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(bytes, &std::free);
  if (size < 0) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
}

// Calls use(code point, its bytes) for each code point of a text in UTF-8.
template <typename Use>
void ForEachLetter(std::string_view text, const Use& use) {
  while (!text.empty()) {
    utf8proc_int32_t letter = 0;
    const utf8proc_ssize_t size =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                         static_cast<utf8proc_ssize_t>(text.size()), &letter);
    if (size <= 0) return;
    use(letter, text.substr(0, static_cast<size_t>(size)));
    text.remove_prefix(static_cast<size_t>(size));
  }
}

bool IsBlank(utf8proc_int32_t letter) {
  switch (utf8proc_category(letter)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC:
      return true;
    default:
      return false;
  }
}

std::string WithSingleBlanks(std::string_view text) {
  std::string plain;
  bool blank = false;
  ForEachLetter(text, [&](utf8proc_int32_t letter, std::string_view bytes) {
    if (IsBlank(letter)) {
      blank = true;
      return;
    }
    if (blank && !plain.empty()) plain.push_back(' ');
    blank = false;
    plain.append(bytes);
  });
  return plain;
}

std::string_view WithoutLeadingZeros(std::string_view digits) {
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
}

bool IsLetterOrDigit(utf8proc_int32_t letter) {
  const utf8proc_category_t category = utf8proc_category(letter);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
         (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

// The part of a key that the eye keeps: letters without case and accents, numbers without zeros in
// front.
std::string Outline(const std::string& key) {
  const std::optional<std::string> folded =
      Mapped(key, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT | UTF8PROC_IGNORE |
                      UTF8PROC_CASEFOLD | UTF8PROC_STRIPMARK);
  if (!folded.has_value()) return key;
  std::string outline;
  bool in_number = false, leads = true;
  ForEachLetter(*folded, [&](utf8proc_int32_t letter, std::string_view bytes) {
    const bool is_digit = letter >= '0' && letter <= '9';
    if (!is_digit) in_number = false;
    if (!IsLetterOrDigit(letter)) return;
    if (is_digit && !in_number) leads = true;
    in_number = is_digit;
    if (is_digit && leads && letter == '0') return;
    leads = false;
    outline.append(bytes);
  });
  return outline.empty() ? key : outline;
}

}  // namespace

std::string PersonKey(std::string_view text) {
  const std::optional<std::string> composed =
      Mapped(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_IGNORE);
  if (!composed.has_value()) return std::string(text);
  std::string plain = WithSingleBlanks(*composed);
  const size_t digits = std::min(plain.find_first_not_of(kDigits), plain.size());
  const std::string_view rest = std::string_view(plain).substr(digits);
  const bool is_whole = rest.empty() || ((rest.front() == '.' || rest.front() == ',') &&
                                         rest.find_first_not_of('0', 1) == std::string_view::npos);
  if (digits == 0 || !is_whole) return plain;
  return std::string(WithoutLeadingZeros(std::string_view(plain).substr(0, digits)));
}

LookAlikes FindLookAlikes(std::span<const std::string> keys, size_t most_examples) {
  std::map<std::string, std::vector<const std::string*>> groups;
  for (const std::string& key : keys) groups[Outline(key)].push_back(&key);
  LookAlikes found;
  size_t named = 0;
  for (const auto& [outline, group] : groups) {
    if (group.size() < 2) continue;
    found.persons += group.size();
    if (named++ >= most_examples) continue;
    found.examples += fmt::format("{}\"{}\" and \"{}\"", found.examples.empty() ? "" : "; ",
                                  *group[0], *group[1]);
  }
  return found;
}

std::string LookAlikesWarning(std::span<const std::string> keys) {
  const LookAlikes found = FindLookAlikes(keys);
  if (found.persons == 0) return "";
  return fmt::format(
      "{} persons look like another one, such as {}: if they are the same person, give all rows of "
      "the person one identifier; the epsilon of a person holds for each identifier alone",
      found.persons, found.examples);
}

}  // namespace tacet::table
