// Fault of a table, as its owner finds it in an editor or a spreadsheet.
#ifndef TACET_TABLE_TABLE_PROBLEM_H_
#define TACET_TABLE_TABLE_PROBLEM_H_

#include <cstdint>
#include <optional>
#include <string>

namespace tacet::table {

// Fault of one value: "712 is outside the agreed bounds 50..650".
struct ValueFault {
  std::string what;
  std::string remedy;  // what to change; empty: `what` says it
  // Where many values may have the fault: the value, and "are outside the agreed bounds 50..650".
  std::string value = {};
  std::string of_many = {};
};

struct TableProblem {
  std::string file;
  uint64_t line = 0;                              // from 1; 0: the whole file
  std::optional<uint64_t> column = std::nullopt;  // from 0
  std::string column_name = {};                   // of the header; empty: without
  ValueFault fault;
};

// "FILE:LINE: column 4 ("chol"): WHAT; REMEDY", with the parts that are known.
std::string ProblemText(const TableProblem& problem);

}  // namespace tacet::table

#endif  // TACET_TABLE_TABLE_PROBLEM_H_
