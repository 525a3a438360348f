// Characters of UTF-8 text.
#ifndef TACET_BASE_UTF8_H_
#define TACET_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tacet::base {

inline constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";  // byte order mark

// Bytes of the character at the beginning of `text`, 1 to 4; 0 where there is none: text that is
// empty or cut, longer forms than needed, surrogates, numbers above U+10FFFF.
size_t Utf8CharacterBytes(std::string_view text);

// The number of that character, which has `bytes` bytes.
uint32_t Utf8Character(std::string_view text, size_t bytes);

}  // namespace tacet::base

#endif  // TACET_BASE_UTF8_H_
