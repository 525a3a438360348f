#include "tacet/table/utf16_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tacet::table {
namespace {

using namespace std::string_view_literals;

constexpr size_t kPieceBytes = size_t{1} << 16;
constexpr char kNoUtf8 = '\xFF';

bool IsHigh(uint32_t unit) { return (unit & 0xFC00) == 0xD800; }
bool IsLow(uint32_t unit) { return (unit & 0xFC00) == 0xDC00; }

// A lone surrogate gets the three bytes of its number, which UTF-8 does not allow.
void AppendUtf8(uint32_t code, std::string& text) {
  const auto tail = [&text](uint32_t bits) { text += static_cast<char>(0x80 | (bits & 0x3F)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | (code >> 6));
    tail(code);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | (code >> 12));
    tail(code >> 6);
    tail(code);
  } else {
    text += static_cast<char>(0xF0 | (code >> 18));
    tail(code >> 12);
    tail(code >> 6);
    tail(code);
  }
}

}  // namespace

std::optional<ByteOrder> Utf16OrderOf(std::string_view beginning) {
  if (beginning.starts_with("\xFF\xFE\0\0"sv)) return std::nullopt;  // UTF-32
  if (beginning.starts_with("\xFF\xFE")) return ByteOrder::kLittle;
  if (beginning.starts_with("\xFE\xFF")) return ByteOrder::kBig;
  return std::nullopt;
}

bool Utf16Source::ReadMore() {
  std::array<char, kPieceBytes> piece;
  const std::optional<size_t> read = bytes_->Read(piece);
  if (!read.has_value()) return false;
  ends_ = *read < piece.size();
  kept_.append(piece.data(), *read);
  const auto unit = [this](size_t at) {
    const auto first = static_cast<unsigned char>(kept_[at]);
    const auto second = static_cast<unsigned char>(kept_[at + 1]);
    return order_ == ByteOrder::kLittle ? uint32_t{first} | uint32_t{second} << 8
                                        : uint32_t{first} << 8 | uint32_t{second};
  };
  text_.erase(0, taken_);
  taken_ = 0;
  size_t at = 0;
  if (is_marked_ && kept_.size() >= 2) {
    is_marked_ = false;
    at = 2;
  }
  for (; at + 2 <= kept_.size(); at += 2) {
    uint32_t code = unit(at);
    if (IsHigh(code)) {
      if (at + 4 > kept_.size() && !ends_) break;
      if (at + 4 <= kept_.size() && IsLow(unit(at + 2))) {
        code = 0x10000 + ((code & 0x3FF) << 10 | (unit(at + 2) & 0x3FF));
        at += 2;
      }
    }
    AppendUtf8(code, text_);
  }
  kept_.erase(0, at);
  if (ends_ && !kept_.empty()) text_ += kNoUtf8;
  return true;
}

std::optional<size_t> Utf16Source::Read(std::span<char> piece) {
  while (text_.size() - taken_ < piece.size() && !ends_) {
    if (!ReadMore()) return std::nullopt;
  }
  const std::string_view part = std::string_view(text_).substr(taken_, piece.size());
  std::ranges::copy(part, piece.begin());
  taken_ += part.size();
  return part.size();
}

}  // namespace tacet::table
