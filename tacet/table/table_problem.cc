#include "tacet/table/table_problem.h"

#include "fmt/format.h"

namespace tacet::table {

std::string ProblemText(const TableProblem& problem) {
  std::string text = problem.file;
  if (problem.line != 0) text += fmt::format(":{}", problem.line);
  if (problem.column.has_value()) {
    text += fmt::format(": column {}", *problem.column);
    if (!problem.column_name.empty()) text += fmt::format(" (\"{}\")", problem.column_name);
  }
  text += fmt::format(": {}", problem.fault.what);
  if (!problem.fault.remedy.empty()) text += fmt::format("; {}", problem.fault.remedy);
  return text;
}

}  // namespace tacet::table
