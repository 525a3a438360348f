// Text in UTF-16, as spreadsheets write their "Unicode text".
#ifndef TACET_TABLE_UTF16_TEXT_H_
#define TACET_TABLE_UTF16_TEXT_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tacet/table/table_text.h"

namespace tacet::table {

enum class ByteOrder { kLittle, kBig };

// For a file in UTF-16, from its byte order mark; `beginning` is its first four bytes or all of it.
// None for another file, UTF-32 among them.
std::optional<ByteOrder> Utf16OrderOf(std::string_view beginning);

// The text of a file in UTF-16 with a byte order mark, as UTF-8 without one. Half of a surrogate
// pair, and a byte beyond the last pair of bytes, become bytes that are not UTF-8, which
// EncodingCheck tells with their line.
class Utf16Source final : public TextSource {
 public:
  // `bytes`: the file from its beginning.
  Utf16Source(std::unique_ptr<TextSource> bytes, ByteOrder order)
      : bytes_(std::move(bytes)), order_(order) {}

  std::optional<size_t> Read(std::span<char> piece) override;

 private:
  // Makes more text; false where the file cannot be read.
  bool ReadMore();

  std::unique_ptr<TextSource> bytes_;
  ByteOrder order_;
  bool is_marked_ = true;  // the byte order mark comes next
  bool ends_ = false;
  std::string kept_;  // bytes of a character that has not ended
  std::string text_;
  size_t taken_ = 0;  // of `text_`
};

}  // namespace tacet::table

#endif  // TACET_TABLE_UTF16_TEXT_H_
