#include "tacet/table/table_text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <utility>

#include "fmt/format.h"

#include "tacet/base/utf8.h"

namespace tacet::table {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kNoBreakSpace = "\xC2\xA0";
constexpr std::string_view kSaveAs = "save it as \"CSV UTF-8\"";
constexpr std::string_view kConvert =
    "save it as \"CSV UTF-8\"; the Python package does so for .xlsx and .parquet: python3 -m "
    "tacet.table_files FILE TABLE.csv";
constexpr std::string_view kUnpack = "unpack it, and give the CSV file in it";
constexpr std::string_view kExport = "write it as a CSV file with the software that made it";
constexpr size_t kSeparatorLineBytes = 7;  // sep=; and its end

struct Magic {
  std::string_view bytes;
  std::string_view name;
  std::string_view remedy = kSaveAs;
};
constexpr std::array kForeign = {
    Magic{"\xFF\xFE\0\0"sv, "in UTF-32"},
    Magic{"\0\0\xFE\xFF"sv, "in UTF-32"},
    Magic{"PK\x03\x04"sv, "a workbook (.xlsx, .ods) or an archive", kConvert},
    Magic{"\xD0\xCF\x11\xE0"sv, "an old workbook (.xls)"},
    Magic{"PAR1\x15"sv, "a Parquet file", kConvert},
    Magic{"ARROW1\0\0"sv, "an Arrow (Feather) file", kExport},
    Magic{"\x89HDF"sv, "an HDF5 file", kExport},
    Magic{"$FL2@(#)"sv, "an SPSS file (.sav)", kExport},
    Magic{"$FL3@(#)"sv, "an SPSS file (.zsav)", kExport},
    Magic{"<stata_dta>"sv, "a Stata file (.dta)", kExport},
    Magic{"RDX2\n"sv, "an R file (.RData)", kExport},
    Magic{"RDX3\n"sv, "an R file (.RData)", kExport},
    Magic{"SQLite format 3\0"sv, "an SQLite database", kExport},
    Magic{"%PDF-"sv, "a PDF document", kExport},
    Magic{"\x1F\x8B"sv, "compressed (gzip; an R file .rds, too)", kUnpack},
    Magic{"BZh91AY&SY"sv, "compressed (bzip2)", kUnpack},
    Magic{"\xFD\x37zXZ"sv, "compressed (xz)", kUnpack},
    Magic{"\x28\xB5\x2F\xFD"sv, "compressed (Zstandard)", kUnpack},
    Magic{"7z\xBC\xAF"sv, "compressed (7-Zip)", kUnpack},
};

// Bytes that a judgement may need behind a byte: of its character, and of a text in UTF-16.
constexpr size_t kLookAhead = 4;
// Bytes that tell what a file is.
constexpr size_t kMagicBytes = 16;

// Eight characters of ASCII, none of them zero.
bool IsPlain(const char* eight) {
  uint64_t word = 0;
  std::memcpy(&word, eight, sizeof(word));
  constexpr uint64_t kOnes = 0x0101010101010101;
  return ((word | ((word - kOnes) & ~word)) & (kOnes << 7)) == 0;
}

// The three bytes of half a pair, which no text in UTF-8 has: what Utf16Source makes of it.
bool IsSurrogate(std::string_view text) {
  const auto in = [text](size_t at, char least, char most) {
    return at < text.size() &&
           static_cast<unsigned char>(text[at]) >= static_cast<unsigned char>(least) &&
           static_cast<unsigned char>(text[at]) <= static_cast<unsigned char>(most);
  };
  return in(0, '\xED', '\xED') && in(1, '\xA0', '\xBF') && in(2, '\x80', '\xBF');
}

// The end of the characters from the beginning of `text` that begin before `end`, or the first byte
// among them that is zero or not UTF-8.
std::pair<size_t, bool> JudgedBytes(std::string_view text, size_t end) {
  size_t at = 0;
  while (at < end) {
    if (at + 8 <= end && IsPlain(text.data() + at)) {
      at += 8;
      continue;
    }
    const size_t bytes = base::Utf8CharacterBytes(text.substr(at));
    if (bytes == 0 || text[at] == '\0') return {at, false};
    at += bytes;
  }
  return {at, true};
}

bool IsRowOfSeparators(const std::vector<std::string>& fields) {
  return std::ranges::all_of(fields, [](const std::string& field) { return field.empty(); });
}

// The character with which DOS ends a file.
bool IsEndMark(const std::vector<std::string>& fields) {
  return fields.size() == 1 && fields[0] == "\x1a";
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

std::string SeparatorName(char separator) {
  return separator == '\t' ? "tab" : fmt::format("`{}`", separator);
}

std::optional<TableProblem> EncodingProblem(std::string_view text, std::string_view file) {
  EncodingCheck check;
  check.Take(text, /*is_last=*/true);
  return check.Problem(file);
}

size_t EncodingCheck::Take(std::string_view text, bool is_last) {
  has_line_feed_ = has_line_feed_ || text.find('\n') != std::string_view::npos;
  if (fault_.has_value()) return text.size();
  if (!is_last && text.size() <= (done_ == 0 ? kMagicBytes : kLookAhead)) return 0;
  for (const Magic& magic : kForeign) {
    if (done_ > 0 || !text.starts_with(magic.bytes)) continue;
    fault_ = {.what = fmt::format("the file is {}, not a CSV file in UTF-8", magic.name),
              .remedy = std::string(magic.remedy)};
    return text.size();
  }
  const size_t end = is_last ? text.size() : text.size() - std::min(text.size(), kLookAhead);
  const auto [at, is_right] = JudgedBytes(text, end);
  line_ += static_cast<uint64_t>(std::ranges::count(text.substr(0, at), '\n'));
  done_ += at;
  if (is_right) return at;
  fault_line_ = line_;
  const auto byte = static_cast<unsigned char>(text[at]);
  const bool zero_in_every_pair =
      byte == 0 && (done_ < 2 || (at + 2 < text.size() && text[at + 2] == '\0'));
  fault_ = {.what = zero_in_every_pair
                        ? "the file is in UTF-16 without a byte order mark, not a CSV file in UTF-8"
                    : byte == 0 ? "a zero byte, which no CSV file holds"
                    : IsSurrogate(text.substr(at))
                        ? "half of a character (a surrogate of UTF-16 without the other one)"
                        : fmt::format("byte {:#04x} is not UTF-8 (the file may be in Windows-1252 "
                                      "or Latin-1)",
                                      byte),
            .remedy = std::string(kSaveAs)};
  return text.size();
}

std::optional<TableProblem> EncodingCheck::Problem(std::string_view file) const {
  if (!fault_.has_value()) return std::nullopt;
  return TableProblem{.file = std::string(file), .line = fault_line_, .fault = *fault_};
}

TableRecords::TableRecords(std::string_view text) : rest_(text) {
  SkipByteOrderMark();
  if (rest_.find('\n') == std::string_view::npos) line_break_ = '\r';
}

TableRecords::TableRecords(std::unique_ptr<TextSource> source, bool has_line_feed,
                           size_t piece_bytes)
    : line_break_(has_line_feed ? '\n' : '\r'),
      source_(std::move(source)),
      piece_bytes_(piece_bytes) {
  while (rest_.size() < base::kUtf8Mark.size() && ReadMore()) {
  }
  SkipByteOrderMark();
}

void TableRecords::SkipByteOrderMark() {
  if (rest_.starts_with(base::kUtf8Mark)) rest_.remove_prefix(base::kUtf8Mark.size());
}

bool TableRecords::ReadMore() {
  if (source_ == nullptr || rest_.size() >= kMaxRecordBytes) return false;
  // A window of twice the rest: what stands before the rest makes room, or a new one does.
  const size_t kept = rest_.size();
  const size_t size = std::min(std::max(piece_bytes_, 2 * kept), kMaxRecordBytes);
  if (size > window_.size()) {
    std::vector<char> larger(size);
    std::ranges::copy(rest_, larger.begin());
    window_ = std::move(larger);
  } else if (kept > 0) {
    std::memmove(window_.data(), rest_.data(), kept);
  }
  const std::span<char> piece = std::span(window_).first(size).subspan(kept);
  const std::optional<size_t> read = source_->Read(piece);
  is_unreadable_ = !read.has_value();
  if (read.value_or(0) < piece.size()) source_.reset();
  rest_ = std::string_view(window_.data(), kept + read.value_or(0));
  return read.value_or(0) > 0;
}

bool TableRecords::MayGoOn(Result result, std::string_view rest) const {
  // A quote, a line break and a no-break space are told by two bytes.
  return source_ != nullptr && (result == Result::kUnclosedQuote || rest.size() < 2);
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
  size_t end = rest_.find(line_break_);
  while (end == std::string_view::npos) {
    rest_ = {};
    if (!ReadMore()) return;
    end = rest_.find(line_break_);
  }
  rest_.remove_prefix(end);
  TakeLineEnd();
}

bool TableRecords::SkipBlankLines() {
  while (true) {
    const size_t end = rest_.find(line_break_);
    if (end == std::string_view::npos && ReadMore()) continue;
    if (rest_.empty()) return false;
    std::string_view line = rest_.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!TrimField(line).empty()) return true;
    SkipLine();
  }
}

std::optional<char> TableRecords::TakeSeparatorLine() {
  while (rest_.size() < kSeparatorLineBytes && ReadMore()) {
  }
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
  const auto find_end = [&](size_t from) {
    const auto end = std::find_if(
        rest_.begin() + static_cast<ptrdiff_t>(from), rest_.end(),
        [=](char letter) { return letter == separator || letter == '\r' || letter == '\n'; });
    return static_cast<size_t>(end - rest_.begin());
  };
  Result result = Result::kRecord;
  while (result == Result::kRecord) {
    if (count == fields.size()) fields.emplace_back();
    std::string& field = fields[count++];
    field.clear();
    // A tab separates; other blanks may stand before a quote.
    const size_t start = rest_.find_first_not_of(separator == '\t' ? " " : " \t");
    const bool is_quoted = start != std::string_view::npos && rest_[start] == '"';
    if (count == 1) first_is_quoted_ = is_quoted;
    if (is_quoted) {
      const uint64_t line = next_line_;
      rest_.remove_prefix(start + 1);
      result = ReadQuoted(separator, field);
      if (result == Result::kUnclosedQuote) line_ = line;
    } else {
      size_t end = find_end(0);
      // In a text with LF a CR alone belongs to the field.
      while (end < rest_.size() && rest_[end] == '\r' && line_break_ == '\n' &&
             rest_.substr(end, 2) != "\r\n") {
        end = find_end(end + 1);
      }
      field.append(rest_.substr(0, end));
      rest_.remove_prefix(end);
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
    if (is_unreadable_) break;
    line_ = next_line_;
    record_ = rest_;
    record_line_ = next_line_;
    const Result result = ReadRecord(separator, fields);
    const bool may_go_on = MayGoOn(result, rest_);
    if (may_go_on || result != Result::kRecord) {
      rest_ = record_;
      next_line_ = record_line_;
    }
    if (may_go_on && rest_.size() < kMaxRecordBytes) {
      ReadMore();
      continue;
    }
    if (may_go_on && result != Result::kUnclosedQuote) {
      source_.reset();
      rest_ = record_ = {};
      return Result::kTooLong;
    }
    SkipLine();
    if (result != Result::kRecord || (!IsRowOfSeparators(fields) && !IsEndMark(fields))) {
      return result;
    }
  }
  rest_ = record_ = {};
  return std::exchange(is_unreadable_, false) ? Result::kUnreadable : Result::kEnd;
}

void TableRecords::ResumeBehindFirstLine() {
  // Where the record had more lines, the first of them is still in the window: nothing was read
  // behind a record that was split, and after a fault reading continues there anyway.
  if (record_.empty() || next_line_ <= record_line_ + 1) return;
  rest_ = record_;
  next_line_ = record_line_;
  SkipLine();
}

TableRecords::Result TableRecords::Peek(char separator, std::vector<std::string>& fields) {
  while (true) {
    TableRecords window(rest_, line_break_);
    const Result result = window.Next(separator, fields);
    const bool is_cut =
        source_ != nullptr && (result == Result::kEnd || MayGoOn(result, window.rest_));
    if (!is_cut || !ReadMore()) return result;
  }
}

std::optional<char> FindSeparator(TableRecords& records, const std::vector<std::string>& known,
                                  bool decimal_comma) {
  // Found columns, whether it may be the decimal comma, separators.
  using Score = std::tuple<size_t, bool, size_t>;
  Score best = {0, false, 0};
  std::optional<char> found = ',';
  for (const char separator : kSeparators) {
    std::vector<std::string> fields;
    (void)records.Peek(separator, fields);
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

std::optional<char> SeparatorOfRows(const OpenRecords& open, size_t columns) {
  constexpr int kRecords = 100;
  std::optional<char> found;
  int most = 0;
  for (const char separator : kSeparators) {
    TableRecords records = open();
    if (records.TakeSeparatorLine().has_value()) return std::nullopt;
    std::vector<std::string> fields;
    int fitting = 0;
    for (int i = 0; i < kRecords; ++i) {
      const TableRecords::Result result = records.Next(separator, fields);
      if (result == TableRecords::Result::kEnd || result == TableRecords::Result::kTooLong ||
          result == TableRecords::Result::kUnreadable) {
        break;
      }
      if (result == TableRecords::Result::kRecord && fields.size() == columns) ++fitting;
    }
    if (fitting == most) found.reset();
    if (fitting <= most) continue;
    found = separator;
    most = fitting;
  }
  return found;
}

bool IsFaultOfField(TableRecords::Result result) {
  return result == TableRecords::Result::kUnclosedQuote ||
         result == TableRecords::Result::kTextAfterQuote;
}

std::optional<ValueFault> RecordFault(TableRecords::Result result, char separator) {
  switch (result) {
    case TableRecords::Result::kUnclosedQuote:
      return ValueFault{.what = "a quoted field does not end",
                        .remedy = "close the quote, or write a quote in a quoted field twice"};
    case TableRecords::Result::kTextAfterQuote:
      return ValueFault{.what = "text after a quoted field",
                        .remedy = fmt::format(
                            "the separator is {}; write a quote in a quoted field twice. Blanks "
                            "do not separate: in R give write.table sep = \",\"",
                            SeparatorName(separator))};
    case TableRecords::Result::kTooLong:
      return ValueFault{
          .what = fmt::format("a row of more than {} MiB", TableRecords::kMaxRecordBytes >> 20),
          .remedy = "the file may be no table, or its lines may end in another way"};
    case TableRecords::Result::kUnreadable:
      return ValueFault{.what = "the file cannot be read to its end, or it changed meanwhile",
                        .remedy = "try again when nobody writes to it"};
    case TableRecords::Result::kRecord:
    case TableRecords::Result::kEnd:
      break;
  }
  return std::nullopt;
}

}  // namespace tacet::table
