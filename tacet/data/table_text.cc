#include "tacet/data/table_text.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "fmt/format.h"

#include "tacet/base/utf8.h"
#include "tacet/data/csv_columns.h"

namespace tacet::data {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kNoBreakSpace = "\xC2\xA0";
constexpr std::string_view kSaveAs = "save it as \"CSV UTF-8\"";
constexpr std::array<char, 4> kSeparators = {',', ';', '\t', '|'};

struct Magic {
  std::string_view bytes;
  std::string_view name;
};
constexpr std::array kForeign = {
    Magic{"\xFF\xFE\0\0"sv, "in UTF-32"},
    Magic{"\0\0\xFE\xFF"sv, "in UTF-32"},
    Magic{"\xFF\xFE"sv, "in UTF-16 (\"Unicode text\" of a spreadsheet)"},
    Magic{"\xFE\xFF"sv, "in UTF-16 (\"Unicode text\" of a spreadsheet)"},
    Magic{"PK\x03\x04"sv, "a workbook (.xlsx, .ods) or an archive"},
    Magic{"\xD0\xCF\x11\xE0"sv, "an old workbook (.xls)"},
    Magic{"\x1F\x8B"sv, "compressed (gzip)"},
};

// The first byte that is zero or not UTF-8.
size_t FirstWrongByte(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t bytes = base::Utf8CharacterBytes(text.substr(at));
    if (bytes == 0 || text[at] == '\0') return at;
    at += bytes;
  }
  return std::string_view::npos;
}

bool IsRowOfSeparators(const std::vector<std::string>& fields) {
  return std::ranges::all_of(fields, [](const std::string& field) { return field.empty(); });
}

}  // namespace

std::string_view TrimField(std::string_view text) {
  while (!text.empty()) {
    if (text.front() == ' ' || text.front() == '\t') {
      text.remove_prefix(1);
    } else if (text.starts_with(kNoBreakSpace)) {
      text.remove_prefix(kNoBreakSpace.size());
    } else {
      break;
    }
  }
  while (!text.empty()) {
    if (text.back() == ' ' || text.back() == '\t') {
      text.remove_suffix(1);
    } else if (text.ends_with(kNoBreakSpace)) {
      text.remove_suffix(kNoBreakSpace.size());
    } else {
      break;
    }
  }
  return text;
}

std::optional<TableProblem> EncodingProblem(std::string_view text, std::string_view file) {
  TableProblem problem{.file = std::string(file), .fault = {}};
  for (const Magic& magic : kForeign) {
    if (!text.starts_with(magic.bytes)) continue;
    problem.fault = {.what = fmt::format("the file is {}, not a CSV file in UTF-8", magic.name),
                     .remedy = std::string(kSaveAs)};
    return problem;
  }
  const size_t wrong = FirstWrongByte(text);
  if (wrong == std::string_view::npos) return std::nullopt;
  problem.line = 1 + static_cast<uint64_t>(std::ranges::count(text.substr(0, wrong), '\n'));
  const auto byte = static_cast<unsigned char>(text[wrong]);
  const bool zero_in_every_pair =
      byte == 0 && (wrong < 2 || (wrong + 2 < text.size() && text[wrong + 2] == '\0'));
  problem.fault = {
      .what = zero_in_every_pair
                  ? "the file is in UTF-16 without a byte order mark, not a CSV file in UTF-8"
              : byte == 0
                  ? "a zero byte, which no CSV file holds"
                  : fmt::format("byte {:#04x} is not UTF-8 (the file may be in Windows-1252 "
                                "or Latin-1)",
                                byte),
      .remedy = std::string(kSaveAs)};
  return problem;
}

TableRecords::TableRecords(std::string_view text) : rest_(text) {
  if (rest_.starts_with(base::kUtf8Mark)) rest_.remove_prefix(base::kUtf8Mark.size());
  if (rest_.find('\n') == std::string_view::npos) line_break_ = '\r';
}

bool TableRecords::AtLineEnd() const {
  return rest_.empty() || rest_.front() == line_break_ || rest_.starts_with("\r\n");
}

void TableRecords::TakeLineEnd() {
  if (rest_.empty()) return;
  rest_.remove_prefix(rest_.starts_with("\r\n") ? 2 : 1);
  ++next_line_;
}

void TableRecords::SkipLine() {
  const size_t end = rest_.find(line_break_);
  rest_.remove_prefix(std::min(end, rest_.size()));
  TakeLineEnd();
}

bool TableRecords::SkipBlankLines() {
  while (!rest_.empty()) {
    std::string_view line = rest_.substr(0, rest_.find(line_break_));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!TrimField(line).empty()) return true;
    SkipLine();
  }
  return false;
}

std::optional<char> TableRecords::TakeSeparatorLine() {
  std::string_view line = rest_.substr(0, rest_.find(line_break_));
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() != 5 || !line.starts_with("sep=")) return std::nullopt;
  if (std::ranges::count(kSeparators, line[4]) == 0) return std::nullopt;
  SkipLine();
  return line[4];
}

TableRecords::Result TableRecords::ReadQuoted(char separator, std::string& field) {
  while (true) {
    const size_t end = rest_.find_first_of("\"\r\n");
    field.append(rest_.substr(0, end));
    if (end == std::string_view::npos) return Result::kUnclosedQuote;
    rest_.remove_prefix(end);
    if (rest_.front() != '"') {
      const bool counts = AtLineEnd();
      field.push_back(' ');
      if (counts) {
        TakeLineEnd();
      } else {
        rest_.remove_prefix(1);
      }
      continue;
    }
    rest_.remove_prefix(1);
    if (!rest_.starts_with('"')) break;
    field.push_back('"');
    rest_.remove_prefix(1);
  }
  while (!AtLineEnd() && rest_.front() != separator) {
    const std::string_view before = rest_;
    if (rest_.starts_with(kNoBreakSpace)) {
      rest_.remove_prefix(kNoBreakSpace.size());
    } else if (rest_.front() == ' ' || rest_.front() == '\t') {
      rest_.remove_prefix(1);
    }
    if (rest_.size() == before.size()) {
      line_ = next_line_;
      return Result::kTextAfterQuote;
    }
  }
  return Result::kRecord;
}

TableRecords::Result TableRecords::ReadRecord(char separator, std::vector<std::string>& fields) {
  size_t count = 0;
  const std::string ends = {separator, '\r', '\n'};
  Result result = Result::kRecord;
  while (result == Result::kRecord) {
    if (count == fields.size()) fields.emplace_back();
    std::string& field = fields[count++];
    field.clear();
    // A tab separates; other blanks may stand before a quote.
    const size_t start = rest_.find_first_not_of(separator == '\t' ? " " : " \t");
    if (start != std::string_view::npos && rest_[start] == '"') {
      const uint64_t line = next_line_;
      rest_.remove_prefix(start + 1);
      result = ReadQuoted(separator, field);
      if (result == Result::kUnclosedQuote) line_ = line;
    } else {
      size_t end = rest_.find_first_of(ends);
      // In a text with LF a CR alone belongs to the field.
      while (end != std::string_view::npos && rest_[end] == '\r' && line_break_ == '\n' &&
             rest_.substr(end, 2) != "\r\n") {
        end = rest_.find_first_of(ends, end + 1);
      }
      field.append(rest_.substr(0, end));
      rest_.remove_prefix(std::min(end, rest_.size()));
    }
    const std::string_view inside = TrimField(field);
    if (inside.size() != field.size()) field = std::string(inside);
    if (AtLineEnd()) break;
    rest_.remove_prefix(1);
    // A separator at the end of the text begins one more field, which is empty.
  }
  fields.resize(count);
  return result;
}

TableRecords::Result TableRecords::Next(char separator, std::vector<std::string>& fields) {
  while (SkipBlankLines()) {
    line_ = next_line_;
    const TableRecords before = *this;
    const Result result = ReadRecord(separator, fields);
    if (result == Result::kUnclosedQuote) {
      rest_ = before.rest_;
      next_line_ = before.next_line_;
      SkipLine();
      return result;
    }
    SkipLine();
    if (result != Result::kRecord || !IsRowOfSeparators(fields)) return result;
  }
  return Result::kEnd;
}

std::optional<char> FindSeparator(const TableRecords& records,
                                  const std::vector<std::string>& known, bool decimal_comma) {
  // Found columns, whether it may be the decimal comma, separators.
  using Score = std::tuple<size_t, bool, size_t>;
  Score best = {0, false, 0};
  std::optional<char> found = ',';
  for (const char separator : kSeparators) {
    TableRecords copy = records.Copy();
    std::vector<std::string> fields;
    (void)copy.Next(separator, fields);
    if (fields.size() < 2) continue;
    size_t columns = 0;
    for (const std::string& name : known) columns += std::ranges::count(fields, name) > 0 ? 1 : 0;
    const Score score = {columns, !(separator == ',' && decimal_comma), fields.size() - 1};
    if (score > best) {
      best = score;
      found = separator;
    } else if (score == best) {
      found = std::nullopt;
    }
  }
  return found;
}

std::optional<char> ChooseSeparator(TableRecords& records, std::string_view file,
                                    std::optional<char> agreed,
                                    const std::vector<std::string>& known, bool decimal_comma) {
  const std::optional<char> said = records.TakeSeparatorLine();
  if (agreed.has_value()) return agreed;
  if (said.has_value()) return said;
  if (file.ends_with(".tsv")) return '\t';
  return FindSeparator(records, known, decimal_comma);
}

std::optional<ValueFault> RecordFault(TableRecords::Result result, char separator) {
  switch (result) {
    case TableRecords::Result::kUnclosedQuote:
      return ValueFault{.what = "a quoted field does not end",
                        .remedy = "close the quote, or write a quote in a quoted field twice"};
    case TableRecords::Result::kTextAfterQuote:
      return ValueFault{
          .what = "text after a quoted field",
          .remedy = fmt::format("the separator is {}; write a quote in a quoted field twice",
                                SeparatorName(separator))};
    case TableRecords::Result::kRecord:
    case TableRecords::Result::kEnd:
      break;
  }
  return std::nullopt;
}

}  // namespace tacet::data
