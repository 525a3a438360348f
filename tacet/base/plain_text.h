// Text that came from elsewhere, for a terminal, a log or a name.
#ifndef TACET_BASE_PLAIN_TEXT_H_
#define TACET_BASE_PLAIN_TEXT_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace tacet::base {

// The first `max_bytes` of `text`, printable ASCII alone: any other byte becomes a question mark.
inline std::string PlainText(std::string_view text, size_t max_bytes) {
  std::string plain(text.substr(0, max_bytes));
  std::ranges::replace_if(
      plain, [](char c) { return c < ' ' || c > '~'; }, '?');
  return plain;
}

}  // namespace tacet::base

#endif  // TACET_BASE_PLAIN_TEXT_H_
