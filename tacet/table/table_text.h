// Text of a CSV file: encoding, separator, records and fields.
//
// A text is either in memory or comes in pieces (TextSource). Of a text in pieces, memory holds one
// piece, or one record where that is longer.
#ifndef TACET_TABLE_TABLE_TEXT_H_
#define TACET_TABLE_TABLE_TEXT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tacet/table/table_problem.h"

namespace tacet::table {

// Characters that may separate the fields of a table.
inline constexpr std::array<char, 4> kSeparators = {',', ';', '\t', '|'};

// "tab", or the character in backquotes.
std::string SeparatorName(char separator);

// Without blanks, tabs and no-break spaces (U+00A0) at both ends.
std::string_view TrimField(std::string_view text);

// The fault of a file that does not hold a table in UTF-8: UTF-16, UTF-32, a file of other
// software, an archive, another encoding, zero bytes. None where the text can be read. The line is
// that of the first wrong byte.
std::optional<TableProblem> EncodingProblem(std::string_view text, std::string_view file);

// The same for a text in pieces.
class EncodingCheck {
 public:
  // Checks the beginning of `text`, behind which the file continues unless `is_last`. Returns how
  // many bytes are done: the next `text` begins behind them.
  size_t Take(std::string_view text, bool is_last);
  bool is_wrong() const { return fault_.has_value(); }
  // After the last text, or as soon as it is wrong.
  std::optional<TableProblem> Problem(std::string_view file) const;
  // Also behind the wrong byte, as far as Take saw it.
  bool has_line_feed() const { return has_line_feed_; }

 private:
  bool has_line_feed_ = false;
  size_t done_ = 0;
  uint64_t line_ = 1;  // of the next byte
  std::optional<ValueFault> fault_;
  uint64_t fault_line_ = 0;  // 0: the whole file
};

// Bytes of a text in turn.
class TextSource {
 public:
  virtual ~TextSource() = default;
  // Fills `piece` from its beginning and returns how many bytes it wrote: fewer than its size only
  // at the end of the text. None where the text cannot be read.
  virtual std::optional<size_t> Read(std::span<char> piece) = 0;
};

// Records of a table: lines, except that a quoted field may hold line breaks and separators.
//
// Lines end with LF or CRLF, in a text without LF with CR. A UTF-8 byte order mark does not count.
// Blank lines are skipped, as are records of separators alone, which spreadsheets write below a
// table, and the character with which DOS ends a file (U+001A). In a field blanks at both ends do
// not count, "" within quotes is a quote, and a line break within quotes is one blank.
class TableRecords {
 public:
  enum class Result {
    kRecord,
    kEnd,
    // Faults of the last field. Reading continues behind the first line of the record: a quote that
    // is not meant as one hides nothing but its own line.
    kUnclosedQuote,
    kTextAfterQuote,
    kTooLong,     // of a text in pieces, longer than kMaxRecordBytes; reading ends
    kUnreadable,  // the source failed; reading ends
  };
  static constexpr size_t kMaxRecordBytes = size_t{1} << 26;
  static constexpr size_t kPieceBytes = size_t{1} << 18;

  // A text in memory, which must outlive the records.
  explicit TableRecords(std::string_view text);
  // A text in pieces. `has_line_feed`: somewhere in it (EncodingCheck).
  TableRecords(std::unique_ptr<TextSource> source, bool has_line_feed,
               size_t piece_bytes = kPieceBytes);

  // A first line "sep=X" gives the separator to spreadsheets. It is read and skipped.
  std::optional<char> TakeSeparatorLine();
  // The next record; `fields` keeps its memory.
  Result Next(char separator, std::vector<std::string>& fields);
  // The same, and the record stays the next one.
  Result Peek(char separator, std::vector<std::string>& fields);
  // Reads on behind the first line of the last record, where it had more: its quotes are not meant
  // as such. Once, before the next record.
  void ResumeBehindFirstLine();
  // Counted from 1: the line on which the last record began. Where a field was wrong, its own line.
  uint64_t line() const { return line_; }
  // Whether the first field of the last record was quoted.
  bool first_is_quoted() const { return first_is_quoted_; }

 private:
  TableRecords(std::string_view rest, char line_break) : rest_(rest), line_break_(line_break) {}
  void SkipByteOrderMark();
  // Puts more of the text behind rest_, which moves; false at its end and where rest_ is as long as
  // a record may be.
  bool ReadMore();
  // Whether the end of a record with this result could be another one with more of the text.
  bool MayGoOn(Result result, std::string_view rest) const;
  bool SkipBlankLines();
  bool AtLineEnd() const;
  void TakeLineEnd();
  void SkipLine();
  Result ReadRecord(char separator, std::vector<std::string>& fields);
  Result ReadQuoted(char separator, std::string& field);

  std::string_view rest_;
  char line_break_ = '\n';
  uint64_t next_line_ = 1;  // of the first character of rest_
  uint64_t line_ = 0;
  std::string_view record_;  // rest_ where the last record began
  uint64_t record_line_ = 0;
  std::unique_ptr<TextSource> source_;  // none: rest_ is all there is
  size_t piece_bytes_ = 0;
  std::vector<char> window_;  // holds rest_ of a text in pieces
  bool is_unreadable_ = false;
  bool first_is_quoted_ = false;
};

// The separator of a table whose option does not say it: of `,`, `;`, tab and `|` the one that
// finds most of the `known` columns in the first record, and among equals the one that occurs most
// often. With `decimal_comma`, a comma separates only where none of the others occurs. None where
// two fit equally well; comma where none occurs.
std::optional<char> FindSeparator(TableRecords& records, const std::vector<std::string>& known,
                                  bool decimal_comma);

// The same for a file: `agreed` where settings say it, else a first line sep=, which is read in any
// case, else a tab in a .tsv file.
std::optional<char> ChooseSeparator(TableRecords& records, std::string_view file,
                                    std::optional<char> agreed,
                                    const std::vector<std::string>& known, bool decimal_comma);

// The records of a text from its beginning, each time.
using OpenRecords = std::function<TableRecords()>;

// The separator of a file without a line of names: the one by which most of its first records have
// `columns` fields, at most 100 records. So a remark, or one record with a fault, does not decide
// it. None where the file has a line sep=, where no separator fits, and where two fit equally well.
std::optional<char> SeparatorOfRows(const OpenRecords& open, size_t columns);

// Fault of a record that cannot be split; none for other results.
std::optional<ValueFault> RecordFault(TableRecords::Result result, char separator);
// Whether the fault is one of the last field that was read.
bool IsFaultOfField(TableRecords::Result result);

}  // namespace tacet::table

#endif  // TACET_TABLE_TABLE_TEXT_H_
