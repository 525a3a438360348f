// Problems of tables in few lines: one for each kind of fault in a column of a file.
#ifndef TACET_TABLE_PROBLEM_SUMMARY_H_
#define TACET_TABLE_PROBLEM_SUMMARY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "tacet/table/table_problem.h"

namespace tacet::table {

// A field in UTF-8: each zero byte, and each byte of another encoding, becomes U+FFFD.
std::string FieldText(std::string_view field);

struct ValueCount {
  std::string value;
  uint64_t count = 0;
};

// The same fault, once or more, in one column of a file.
struct ProblemGroup {
  TableProblem first;  // whose line is the first
  uint64_t count = 0;
  // The most frequent values, at most kMaxValues; empty where the fault is not one of values.
  std::vector<ValueCount> values = {};
  std::vector<std::string> remedies = {};  // distinct, at most kMaxRemedies

  static constexpr size_t kMaxValues = 5;
  static constexpr size_t kMaxRemedies = 3;

  // For one: as ValueFault has it. Of more: "62 values are outside the bounds: "189" (40), ...".
  std::string What() const;
  // All of them as one problem, on the first line.
  TableProblem Told() const;
};

// Values are shown as FieldText. Memory grows with kinds of faults and distinct values, not with
// rows, and is bounded.
class ProblemSummary {
 public:
  void Add(TableProblem problem);

  uint64_t count() const { return count_; }  // of all problems
  bool empty() const { return count_ == 0; }
  // In the order of their first problems. Problems of more than kMaxGroups kinds are only counted.
  std::vector<ProblemGroup> Groups() const;

 private:
  static constexpr size_t kMaxGroups = 10'000;
  // Distinct values of a group that are counted one by one.
  static constexpr size_t kMaxCounted = 1'000;
  // File, place and name of the column, kind of fault.
  using Key = std::tuple<std::string, uint64_t, std::string, std::string>;
  struct Counted {
    ProblemGroup group;
    std::vector<ValueCount> values = {};  // in the order of their first problems
    absl::flat_hash_map<std::string, size_t> places = {};
  };

  uint64_t count_ = 0;
  std::vector<Counted> groups_;
  absl::flat_hash_map<Key, size_t> places_;
};

}  // namespace tacet::table

#endif  // TACET_TABLE_PROBLEM_SUMMARY_H_
