#include "tacet/table/problem_summary.h"

#include <algorithm>
#include <limits>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "tacet/base/utf8.h"

namespace tacet::table {

std::string FieldText(std::string_view field) {
  std::string text;
  while (!field.empty()) {
    const size_t bytes = field.front() == '\0' ? 0 : base::Utf8CharacterBytes(field);
    if (bytes == 0) {
      text += "\xEF\xBF\xBD";
    } else {
      text += field.substr(0, bytes);
    }
    field.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return text;
}

std::string ProblemGroup::What() const {
  const ValueFault& fault = first.fault;
  if (count == 1) return fault.what;
  if (fault.of_many.empty()) return fmt::format("{} ({} times)", fault.what, count);
  std::string text = fmt::format("{} values {}: ", count, fault.of_many);
  uint64_t listed = 0;
  for (const ValueCount& value : values) {
    text += fmt::format("{}\"{}\" ({})", listed == 0 ? "" : ", ", value.value, value.count);
    listed += value.count;
  }
  return listed < count ? text + ", ..." : text;
}

TableProblem ProblemGroup::Told() const {
  TableProblem problem = first;
  problem.fault = {.what = What(), .remedy = fmt::format("{}", fmt::join(remedies, "; "))};
  return problem;
}

void ProblemSummary::Add(TableProblem problem) {
  ++count_;
  problem.fault.what = FieldText(problem.fault.what);
  problem.fault.value = FieldText(problem.fault.value);
  const ValueFault& fault = problem.fault;
  Key key{problem.file, problem.column.value_or(std::numeric_limits<uint64_t>::max()),
          problem.column_name, fault.of_many.empty() ? fault.what : fault.of_many};
  const auto known = places_.find(key);
  if (known == places_.end()) {
    if (groups_.size() == kMaxGroups) return;
    places_.emplace(std::move(key), groups_.size());
    groups_.push_back({.group = {.first = problem}});
  }
  Counted& counted = known == places_.end() ? groups_.back() : groups_[known->second];
  ++counted.group.count;
  std::vector<std::string>& remedies = counted.group.remedies;
  if (!fault.remedy.empty() && remedies.size() < ProblemGroup::kMaxRemedies &&
      std::ranges::find(remedies, fault.remedy) == remedies.end()) {
    remedies.push_back(fault.remedy);
  }
  if (fault.of_many.empty()) return;
  const auto place = counted.places.find(fault.value);
  if (place != counted.places.end()) {
    ++counted.values[place->second].count;
  } else if (counted.values.size() < kMaxCounted) {
    counted.places.emplace(fault.value, counted.values.size());
    counted.values.push_back({.value = fault.value, .count = 1});
  }
}

std::vector<ProblemGroup> ProblemSummary::Groups() const {
  std::vector<ProblemGroup> groups;
  for (const Counted& counted : groups_) {
    ProblemGroup& group = groups.emplace_back(counted.group);
    group.values = counted.values;
    std::ranges::stable_sort(group.values, std::ranges::greater(), &ValueCount::count);
    if (group.values.size() > ProblemGroup::kMaxValues) {
      group.values.resize(ProblemGroup::kMaxValues);
    }
  }
  return groups;
}

}  // namespace tacet::table
