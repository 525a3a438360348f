#include "tacet/statistics/column_use.h"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/statistics/site_table.h"
#include "tacet/table/calendar_day.h"

namespace tacet::statistics {
namespace {

// A column as a line of `data.values` names it.
std::string InAList(const std::string& column) {
  return column.find(' ') == std::string::npos ? column : fmt::format("'{}'", column);
}

std::set<std::string> ColumnsOfQuestions(const Query& query) {
  std::set<std::string> columns;
  for (const QuestionPlan& plan : query.questions()) {
    for (std::string& column : plan.columns()) columns.insert(std::move(column));
  }
  return columns;
}

absl::Status CheckAgreements(const Query& query) {
  const QuerySpec& spec = query.spec();
  std::set<std::string> known;
  const auto check = [&](const std::string& column) -> absl::Status {
    if (!known.insert(column).second) {
      return base::InvalidArgument("`data.values` has column \"{}\" twice", column);
    }
    if (std::ranges::binary_search(query.columns(), column)) return absl::OkStatus();
    return base::InvalidArgument("`data.values` has column \"{}\", which no question reads",
                                 column);
  };
  for (const table::AgreedNumbers& numbers : spec.numbers) {
    TACET_RETURN_IF_ERROR(check(numbers.column));
  }
  for (const table::AgreedValues& agreed : spec.values) {
    TACET_RETURN_IF_ERROR(check(agreed.column));
    for (const std::string& missing : spec.missing) {
      if (!agreed.values.Find(missing, table::DecimalMark::kPoint).has_value()) continue;
      return base::InvalidArgument(
          "`data.values` has \"{}\" for column \"{}\", and `data.missing` as well: remove one of "
          "them",
          missing, agreed.column);
    }
  }
  return absl::OkStatus();
}

// A number that a limit leaves open: a field "at least N" counts as N, so only a comparison that is
// the same for N and for all beyond can be made. "" where it can be.
std::string Undecided(const table::AgreedNumbers& agreed, Comparison comparison, double number) {
  const bool at_edge = comparison == Comparison::kAtLeast || comparison == Comparison::kBelow;
  for (const double least : agreed.at_least) {
    if (at_edge ? number <= least : number < least) continue;
    return fmt::format("a field of at least {} leaves open how it compares with {}", least, number);
  }
  const bool below_edge = comparison == Comparison::kAtMost || comparison == Comparison::kAbove;
  for (const double most : agreed.at_most) {
    if (below_edge ? number >= most : number > most) continue;
    return fmt::format("a field of at most {} leaves open how it compares with {}", most, number);
  }
  return "";
}

// The same of the edges between cells: a field in [a, b) is at least a and below b.
std::string Undecided(const table::AgreedNumbers& agreed, std::span<const double> edges) {
  for (const double edge : edges.subspan(1, edges.size() - 2)) {
    std::string fault = Undecided(agreed, Comparison::kAtLeast, edge);
    if (!fault.empty()) return fault;
  }
  return "";
}

// The fault of the value that a condition compares; "" where there is none.
std::string FaultOf(const RowCondition& condition, const QuerySpec& spec) {
  const std::string& column = condition.column;
  const table::CategoryList* values = spec.ValuesOf(column);
  if (values != nullptr) {
    if (!condition.is_equality()) {
      return "a column with agreed values in `data.values` is compared by = or !=";
    }
    if (values->Find(condition.value, table::DecimalMark::kPoint).has_value()) return "";
    return fmt::format("{} of `data.values`", values->NotAmong(condition.value).what);
  }
  if (spec.HoldsDates(column)) {
    if (table::ParseDay(condition.value).has_value()) return "";
    return fmt::format("column \"{}\" holds dates: compare it with one, as 2025-01-31", column);
  }
  if (const auto number = spec.NumberIn(column, condition.value); number.has_value()) {
    const table::AgreedNumbers* agreed = spec.NumbersOf(column);
    return agreed == nullptr ? "" : Undecided(*agreed, condition.comparison, *number);
  }
  if (NumberOf(condition.value).has_value()) {
    return fmt::format("column \"{}\" holds no such number: see its range in `data.values`",
                       column);
  }
  if (table::ParseDay(condition.value).has_value()) {
    return fmt::format(
        "the query does not say that column \"{}\" holds dates: say so under [data], as in values "
        "= [\"{} date\"]",
        column, InAList(column));
  }
  return fmt::format(
      "the query does not say which other values column \"{}\" has; list all with their spellings "
      "under [data], as in values = [\"{} one-of={},...\"]",
      column, InAList(column), condition.value);
}

// The use of one column by a question.
struct ColumnUse {
  std::string_view column;
  std::string_view what;
  bool has_categories = false;
  bool has_edges_of_dates = false;
};

absl::Status CheckUse(const QuestionPlan& plan, const ColumnUse& use, const QuerySpec& spec) {
  const auto wrong = [&](std::string_view what) {
    return base::InvalidArgument("question \"{}\": column \"{}\" has {}, {}", plan.spec.name,
                                 use.column, use.what, what);
  };
  const bool has_list = spec.ValuesOf(use.column) != nullptr;
  if (has_list && !use.has_categories) {
    return wrong("and agreed values in `data.values`: remove one of them");
  }
  if (use.has_categories && spec.NumbersOf(use.column) != nullptr) {
    return wrong("and `data.values` has it as numbers or dates: remove one of them");
  }
  const bool is_date = spec.HoldsDates(use.column);
  if (is_date && !plan.kind().may_have_dates) {
    return wrong(
        "and it holds dates: make a number of them in `data.derived`, as in \"stay = days from "
        "admitted to discharged\"");
  }
  if (is_date && !use.has_edges_of_dates) {
    return wrong("and it holds dates: write the edges as dates, as in [\"2024-01-01\", ...]");
  }
  if (use.has_edges_of_dates && !is_date) {
    return wrong(fmt::format(
        "and the query does not say that it holds dates: say so under [data], as in values = [\"{} "
        "date\"]",
        InAList(std::string(use.column))));
  }
  return absl::OkStatus();
}

absl::Status CheckQuestion(const QuestionPlan& plan, const QuerySpec& spec) {
  for (const RowCondition& condition : plan.conditions()) {
    const std::string fault = FaultOf(condition, spec);
    if (fault.empty()) continue;
    return base::InvalidArgument("question \"{}\": condition \"{}\": {}", plan.spec.name,
                                 condition.Text(), fault);
  }
  for (const auto* cells : {&plan.cells, &plan.across, &plan.groups}) {
    if (!cells->has_value() || (cells == &plan.cells && plan.has_risks())) continue;
    const bool is_ordered = (*cells)->is_ordered();
    const table::AgreedNumbers* agreed = spec.NumbersOf((*cells)->column());
    if (is_ordered && agreed != nullptr) {
      const std::string fault = Undecided(*agreed, (*cells)->edges());
      if (!fault.empty()) {
        return base::InvalidArgument("question \"{}\": column \"{}\": {}", plan.spec.name,
                                     (*cells)->column(), fault);
      }
    }
    TACET_RETURN_IF_ERROR(CheckUse(plan,
                                   {.column = (*cells)->column(),
                                    .what = is_ordered ? "edges" : "categories",
                                    .has_categories = !is_ordered,
                                    .has_edges_of_dates = (*cells)->has_dates()},
                                   spec));
  }
  if (plan.design.has_value()) {
    for (const DesignFactor& factor : plan.design->factors()) {
      TACET_RETURN_IF_ERROR(CheckUse(plan,
                                     {.column = factor.factor.column,
                                      .what = factor.is_number() ? "bounds" : "categories",
                                      .has_categories = !factor.is_number()},
                                     spec));
    }
  }
  if (!plan.is_moments()) return absl::OkStatus();
  for (const BoundedColumn& bounded : plan.spec.columns) {
    TACET_RETURN_IF_ERROR(CheckUse(plan, {.column = bounded.column, .what = "bounds"}, spec));
  }
  return absl::OkStatus();
}

absl::Status CheckDerived(const Query& query) {
  const QuerySpec& spec = query.spec();
  const std::set<std::string> read = ColumnsOfQuestions(query);
  std::set<std::string> names;
  for (const DerivedColumn& derived : spec.derived) {
    const auto wrong = [&derived](std::string_view what) {
      return base::InvalidArgument("`data.derived` makes column \"{}\", {}", derived.name, what);
    };
    if (derived.name.empty() || !names.insert(derived.name).second) {
      return wrong("but each needs a name of its own");
    }
    if (spec.ValuesOf(derived.name) != nullptr || spec.NumbersOf(derived.name) != nullptr) {
      return wrong("and `data.values` has it, too: it is a number already");
    }
    if (std::ranges::binary_search(query.columns(), derived.name)) {
      return wrong("and another one follows from it: only columns of tables have dates");
    }
    if (!read.contains(derived.name)) return wrong("which no question reads");
    for (const std::string& base : {derived.from, derived.to}) {
      if (base.empty() || spec.HoldsDates(base)) continue;
      return wrong(fmt::format(
          "and the query does not say that column \"{}\" holds dates: say so under [data], as in "
          "values = [\"{} date\"]",
          base, InAList(base)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> ColumnsToRead(const Query& query) {
  std::set<std::string> columns = ColumnsOfQuestions(query);
  for (const DerivedColumn& derived : query.spec().derived) columns.erase(derived.name);
  for (const DerivedColumn& derived : query.spec().derived) {
    columns.insert(derived.from);
    if (!derived.to.empty()) columns.insert(derived.to);
  }
  return {columns.begin(), columns.end()};
}

absl::Status CheckColumns(const Query& query) {
  TACET_RETURN_IF_ERROR(CheckDerived(query));
  TACET_RETURN_IF_ERROR(CheckAgreements(query));
  for (const QuestionPlan& plan : query.questions()) {
    TACET_RETURN_IF_ERROR(CheckQuestion(plan, query.spec()));
  }
  return absl::OkStatus();
}

}  // namespace tacet::statistics
