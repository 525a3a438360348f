// Separators of thousands, which sites agree on and nobody guesses.
#ifndef TACET_TABLE_THOUSANDS_H_
#define TACET_TABLE_THOUSANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/table/number_text.h"
#include "tacet/table/table_problem.h"

namespace tacet::table {

enum class Thousands {
  kUnsaid,      // nobody said anything: numbers have none
  kNone,        // somebody said that numbers have none
  kComma,       // 1,234.5
  kPoint,       // 1.234,5
  kBlank,       // 1 234,5; also with a no-break or a thin space
  kApostrophe,  // 1'234.5; also with U+2019
};

// "" (unsaid), "none", "comma", "point", "blank" or "apostrophe".
absl::StatusOr<Thousands> ThousandsOf(std::string_view word);
// InvalidArgument where one character would be both.
absl::Status CheckThousands(Thousands thousands, DecimalMark decimal);

// Takes the separators out of a number that has one before every three digits of its whole part:
// 1,234,567.25 becomes 1234567.25. Another text is left unchanged, such as
// 1,23 and 12,34,567.
void RemoveThousands(Thousands thousands, DecimalMark decimal, std::string& field);

// Numbers of one column of a file whose decimal marks may be separators of thousands.
//
// A number that reads 2.150 may be 2150. Where nobody said anything about thousands, the column is
// in doubt if each of its numbers with a decimal mark has one to three digits before it, none of
// them a leading zero, and three behind it.
class DoubtfulNumbers {
 public:
  // A field that is a number with this decimal mark.
  void Add(std::string_view field, DecimalMark decimal);
  // For ten such numbers or more, without another one.
  std::optional<ValueFault> Doubt() const;

 private:
  uint64_t in_doubt_ = 0;
  bool is_certain_ = false;
  std::string example_;
};

}  // namespace tacet::table

#endif  // TACET_TABLE_THOUSANDS_H_
