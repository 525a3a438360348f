#include "apps/tacet/program/console.h"

#include <algorithm>

namespace tacet::app::program {

base::TextSink Console(std::FILE* stream) {
  return base::TextSink([stream](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stream);
    std::fflush(stream);
  });
}

std::string Folded(std::string_view text, size_t columns) {
  std::string out;
  size_t line = 0;  // characters of the line so far
  while (!text.empty()) {
    const size_t end = text.find_first_of(" \n", 1);
    const std::string_view piece = text.substr(0, end);  // a blank or line feed, and a word
    text.remove_prefix(piece.size());
    const auto width = static_cast<size_t>(std::ranges::count_if(
        piece, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
    const bool starts = piece.front() == '\n';
    const bool breaks = piece.front() == ' ' && line + width > columns;
    if (breaks) out += '\n';
    out += breaks ? piece.substr(1) : piece;
    line = starts || breaks ? width - 1 : line + width;
  }
  return out;
}

}  // namespace tacet::app::program
