#include "tacet/config/toml_ascii.h"

#include <algorithm>

#include "fmt/format.h"

#include "tacet/base/status.h"
#include "tacet/base/utf8.h"

namespace tacet::config {
namespace {

using namespace std::string_view_literals;

bool IsAscii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Reads the document once, from the left.
class Conversion {
 public:
  Conversion(std::string_view text, std::string_view source) : rest_(text), source_(source) {}

  absl::StatusOr<std::string> Run() {
    while (!rest_.empty()) TACET_RETURN_IF_ERROR(Next());
    return std::move(ascii_);
  }

 private:
  absl::Status Next() {
    switch (rest_.front()) {
      case '#':
        return Comment();
      case '"':
        return Basic(rest_.starts_with("\"\"\""));
      case '\'':
        return Literal(rest_.starts_with("'''"));
      default:
        if (static_cast<unsigned char>(rest_.front()) >= 0x80) {
          TACET_RETURN_IF_ERROR(Character().status());
          return base::InvalidArgument(
              "{}, line {}: write text with letters beyond ASCII between quotation marks", source_,
              line_);
        }
        Copy(1);
        return absl::OkStatus();
    }
  }

  void Copy(size_t bytes) {
    ascii_.append(rest_.substr(0, bytes));
    Drop(bytes);
  }
  void Drop(size_t bytes) {
    line_ += static_cast<size_t>(std::ranges::count(rest_.substr(0, bytes), '\n'));
    rest_.remove_prefix(bytes);
  }

  // The bytes of the character that comes next.
  absl::StatusOr<size_t> Character() const {
    const size_t bytes = base::Utf8CharacterBytes(rest_);
    if (bytes != 0) return bytes;
    return base::InvalidArgument("{}, line {}: byte {:#04x} is not UTF-8; save the file as UTF-8",
                                 source_, line_, static_cast<unsigned char>(rest_.front()));
  }

  // One character within a string, escaped beyond ASCII.
  absl::Status StringCharacter() {
    TACET_ASSIGN_OR_RETURN(const size_t bytes, Character());
    if (bytes == 1) {
      Copy(1);
      return absl::OkStatus();
    }
    ascii_ += fmt::format("\\U{:08x}", base::Utf8Character(rest_, bytes));
    Drop(bytes);
    return absl::OkStatus();
  }

  absl::Status Comment() {
    while (!rest_.empty() && rest_.front() != '\n') {
      TACET_ASSIGN_OR_RETURN(const size_t bytes, Character());
      if (bytes == 1) {
        Copy(1);
      } else {
        ascii_ += ' ';
        Drop(bytes);
      }
    }
    return absl::OkStatus();
  }

  // A string that is not closed ends with its line, or with the text; the parser refuses it.
  absl::Status Basic(bool several_lines) {
    Copy(several_lines ? 3 : 1);
    while (!rest_.empty()) {
      if (rest_.front() == '\n' && !several_lines) break;
      if (rest_.starts_with(several_lines ? "\"\"\""sv : "\""sv)) {
        // Up to two quotation marks before the end belong to the string.
        const size_t quotes = std::min(rest_.find_first_not_of('"'), rest_.size());
        Copy(several_lines ? std::min<size_t>(quotes, 5) : 1);
        break;
      }
      if (rest_.front() == '\\' && rest_.size() > 1 && rest_[1] != '\n') Copy(1);
      TACET_RETURN_IF_ERROR(StringCharacter());
    }
    return absl::OkStatus();
  }

  absl::Status Literal(bool several_lines) {
    const std::string_view mark = several_lines ? "'''"sv : "'"sv;
    const size_t end = rest_.find(mark, mark.size());
    const size_t line_end = several_lines ? std::string_view::npos : rest_.find('\n');
    if (end == std::string_view::npos || end > line_end) {  // the parser refuses it
      Copy(mark.size());
      return absl::OkStatus();
    }
    size_t after = end + mark.size();
    while (several_lines && after < std::min(end + 5, rest_.size()) && rest_[after] == '\'')
      ++after;
    if (IsAscii(rest_.substr(0, after))) {
      Copy(after);
      return absl::OkStatus();
    }
    const std::string_view basic_mark = several_lines ? "\"\"\""sv : "\""sv;
    const size_t left = rest_.size() - (after - mark.size());
    ascii_ += basic_mark;
    Drop(mark.size());
    while (rest_.size() > left) {
      if (rest_.front() == '\\' || rest_.front() == '"') ascii_ += '\\';
      TACET_RETURN_IF_ERROR(StringCharacter());
    }
    ascii_ += basic_mark;
    Drop(mark.size());
    return absl::OkStatus();
  }

  std::string_view rest_;
  std::string_view source_;
  std::string ascii_;
  size_t line_ = 1;
};

}  // namespace

absl::StatusOr<std::string> TomlInAscii(std::string_view text, std::string_view source) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
      text.substr(0, 4).find('\0') != std::string_view::npos) {
    return base::InvalidArgument("{} is in UTF-16; save the file as UTF-8", source);
  }
  if (text.starts_with(base::kUtf8Mark)) text.remove_prefix(base::kUtf8Mark.size());
  if (IsAscii(text)) return std::string(text);
  return Conversion(text, source).Run();
}

}  // namespace tacet::config
