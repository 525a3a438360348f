// Text of a CSV file: encoding, separator, records and fields.
#ifndef TACET_DATA_TABLE_TEXT_H_
#define TACET_DATA_TABLE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tacet/data/table_problem.h"

namespace tacet::data {

// Without blanks, tabs and no-break spaces (U+00A0) at both ends.
std::string_view TrimField(std::string_view text);

// The fault of a file that does not hold a table in UTF-8: UTF-16, UTF-32, a workbook, an archive,
// another encoding, zero bytes. None where the text can be read. The line is that of the first
// wrong byte.
std::optional<TableProblem> EncodingProblem(std::string_view text, std::string_view file);

// Records of a table: lines, except that a quoted field may hold line breaks and separators.
//
// Lines end with LF or CRLF, in a text without LF with CR. A UTF-8 byte order mark does not count.
// Blank lines are skipped, as are records of separators alone, which spreadsheets write below a
// table. In a field blanks at both ends do not count, "" within quotes is a quote, and a line break
// within quotes is one blank.
class TableRecords {
 public:
  enum class Result {
    kRecord,
    kEnd,
    kUnclosedQuote,   // of the last field; reading goes on behind the first line of the record
    kTextAfterQuote,  // in the last field; reading goes on at the next line
  };

  explicit TableRecords(std::string_view text);

  // A first line "sep=X" gives the separator to spreadsheets. It is read and skipped.
  std::optional<char> TakeSeparatorLine();
  // The next record; `fields` keeps its memory.
  Result Next(char separator, std::vector<std::string>& fields);
  // From 1: the line on which the last record began. Where a field was wrong, its own line.
  uint64_t line() const { return line_; }

  // The same records again from where this one is.
  TableRecords Copy() const { return *this; }

 private:
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
};

// The separator of a table whose option does not say it: of `,`, `;`, tab and `|` the one that
// finds most of the `known` columns in the first record, and among equals the one that occurs most
// often. With `decimal_comma`, a comma separates only where none of the others occurs. None where
// two fit equally well; comma where none occurs.
std::optional<char> FindSeparator(const TableRecords& records,
                                  const std::vector<std::string>& known, bool decimal_comma);

// The same for a file: `agreed` where settings say it, else a first line sep=, which is read in any
// case, else a tab in a .tsv file.
std::optional<char> ChooseSeparator(TableRecords& records, std::string_view file,
                                    std::optional<char> agreed,
                                    const std::vector<std::string>& known, bool decimal_comma);

// Of the last field of a record that cannot be split; none for other results.
std::optional<ValueFault> RecordFault(TableRecords::Result result, char separator);

}  // namespace tacet::data

#endif  // TACET_DATA_TABLE_TEXT_H_
