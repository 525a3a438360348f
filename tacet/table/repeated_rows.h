// Rows of a file that are exact copies of an earlier row.
#ifndef TACET_TABLE_REPEATED_ROWS_H_
#define TACET_TABLE_REPEATED_ROWS_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

namespace tacet::table {

struct RepeatedRow {
  uint64_t line = 0;     // of the copy, from 1
  uint64_t earlier = 0;  // of the first row that is equal
};

struct RepeatedRows {
  static constexpr size_t kMaxExamples = 3;

  uint64_t rows = 0;  // of the file that can be split
  uint64_t repeated = 0;
  std::vector<RepeatedRow> examples = {};  // the first ones
  // Whether so many copies are more than chance. In a table of few distinct rows copies are normal.
  bool beyond_chance = false;
};

// Counts the copies among rows that are added one by one. Rows are compared by 64 bits: of 10^6
// rows two different ones count as equal with probability 3e-8. A row takes up to 70 bytes.
//
// Two rows are equal by chance with probability prod_c s_c where the columns are independent. s_c
// is the share of pairs that agree in column c, among pairs that are not equal, of at most
// kSample rows. Copies are beyond chance where both hold:
// - They are more than kSlack times those that chance makes, since columns depend on each other.
// - At most a quarter of the rows are copies, and at least two columns tell rows apart: where
//   one column does it alone, its equal values are the copies. Or all rows come equally often,
//   which is a table that was appended to itself.
// Nobody can tell for fewer than kFewRows rows.
class RowComparison {
 public:
  void Add(const std::vector<std::string>& fields, uint64_t line);
  RepeatedRows Result() const;

 private:
  static constexpr uint64_t kFewRows = 20;
  static constexpr size_t kSample = 1024;
  static constexpr double kSlack = 100;

  struct Seen {
    uint32_t line = 0;
    uint32_t count = 0;
  };
  struct Sampled {
    uint64_t draw = 0;
    uint64_t row = 0;
    std::vector<uint64_t> fields = {};
  };
  // s_c of each column.
  std::vector<double> SharesThatAgree() const;
  bool ComeEquallyOften() const;

  RepeatedRows result_;
  absl::flat_hash_map<uint64_t, Seen> seen_;
  std::vector<Sampled> sample_;  // about one of `stride_` rows
  uint64_t stride_ = 1;          // a power of two
};

// The rule by which the records of a file become rows.
struct RowFormat {
  std::optional<char> separator = {};   // none: as ChooseSeparator finds it
  std::vector<std::string> known = {};  // columns to recognise the separator by
  bool has_decimal_comma = false;
  size_t columns = 0;  // of a file without a line of names; 0: its first line has them
};

// For a file, over its columns with a name of their own (IsNameless): the number of a row that
// software wrote in front of it tells nothing. Rows with a fault of their record do not count. A
// file that cannot be read as a table has no rows here. Errors of TableFile::Open.
absl::StatusOr<RepeatedRows> FindRepeatedRows(const std::filesystem::path& path,
                                              const RowFormat& format);

}  // namespace tacet::table

#endif  // TACET_TABLE_REPEATED_ROWS_H_
