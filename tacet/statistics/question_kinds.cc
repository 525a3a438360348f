#include "tacet/statistics/question_kinds.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/statistics/answer_parts.h"

namespace tacet::statistics {
namespace {

constexpr size_t kMaxColumns = 256;
constexpr size_t kMaxRegressionColumns = 32;
constexpr size_t kMaxBaselines = 64;
constexpr size_t kMaxProfiles = 16;

absl::Status CheckQuantiles(const QuestionPlan& plan) {
  for (const double quantile : plan.spec.quantiles) {
    if (!(quantile > 0 && quantile < 1)) {
      return base::InvalidArgument("quantile {}, expected above 0 and below 1", quantile);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSurvival(const QuestionPlan& plan) {
  const double first = plan.cells->edges().front();
  if (first == 0) return absl::OkStatus();
  return base::InvalidArgument("times begin at {}, expected 0", first);
}

absl::Status CheckCox(const QuestionPlan& plan) {
  TACET_RETURN_IF_ERROR(CheckSurvival(plan));
  if (plan.spec.by_site && plan.spec.sites.empty()) {
    return base::InvalidArgument("strata of sites need `sites`, the names of all that are asked");
  }
  const size_t baselines =
      plan.cells->size() * (plan.spec.by_site ? plan.spec.sites.size() : size_t{1});
  if (baselines > kMaxBaselines) {
    return base::InvalidArgument("{} intervals of all sites, expected at most {}", baselines,
                                 kMaxBaselines);
  }
  if (plan.spec.profiles.size() > kMaxProfiles) {
    return base::InvalidArgument("{} profiles, expected at most {}", plan.spec.profiles.size(),
                                 kMaxProfiles);
  }
  if (plan.spec.checks_hazards && plan.cells->size() < 2) {
    return base::InvalidArgument(
        "a check of proportional hazards compares intervals, and there is one: choose more edges");
  }
  for (const TableVariable& variable : plan.spec.variables) {
    if (variable.column != plan.cells->column() && variable.column != plan.spec.yes.column) {
      continue;
    }
    return base::InvalidArgument("column \"{}\" is the time or the event, and explains it, too",
                                 variable.column);
  }
  return absl::OkStatus();
}

absl::Status CheckEvaluation(const QuestionPlan& plan) {
  const std::vector<double>& edges = plan.cells->edges();
  if (edges.front() != 0 || edges.back() != 1) {
    return base::InvalidArgument("scores have the bounds {} and {}, expected 0 and 1",
                                 edges.front(), edges.back());
  }
  if (std::ranges::find(edges, plan.spec.threshold) != edges.end()) return absl::OkStatus();
  return base::InvalidArgument(
      "threshold {} is not an edge of the score's cells; choose one of them", plan.spec.threshold);
}

absl::Status CheckRegression(const QuestionPlan& plan) {
  const std::string& label = plan.spec.yes.column;
  std::set<std::string> names = {label};
  for (const BoundedColumn& bounded : plan.spec.columns) {
    if (names.insert(bounded.column).second) continue;
    return base::InvalidArgument("column \"{}\" is {}", bounded.column,
                                 bounded.column == label ? "the label, too" : "given twice");
  }
  return absl::OkStatus();
}

// In the order of QuestionKind.
constexpr std::array kRows = {
    KindRow{
        .kind = QuestionKind::kCount, .name = "count", .answer = AnswerCells, .is_one_hot = true},
    KindRow{.kind = QuestionKind::kSum,
            .name = "sum",
            .answer = AnswerMoments,
            .form = PartForm::kMoments,
            .moments = 1,
            .keeps_floor = false,
            .most_columns = 1,
            .takes_groups = true},
    KindRow{.kind = QuestionKind::kMean,
            .name = "mean",
            .answer = AnswerMoments,
            .form = PartForm::kMoments,
            .moments = 3,
            .most_columns = 1,
            .takes_groups = true},
    KindRow{.kind = QuestionKind::kVariance,
            .name = "variance",
            .answer = AnswerMoments,
            .form = PartForm::kMoments,
            .moments = 5,
            .most_columns = 1,
            .takes_groups = true},
    KindRow{.kind = QuestionKind::kNormalise,
            .name = "normalise",
            .answer = AnswerMoments,
            .form = PartForm::kMoments,
            .moments = 5,
            .most_columns = kMaxColumns},
    KindRow{.kind = QuestionKind::kHistogram,
            .name = "histogram",
            .answer = AnswerCells,
            .is_one_hot = true,
            .may_have_dates = true,
            .cells = "column",
            .takes_groups = true},
    KindRow{.kind = QuestionKind::kCrosstab,
            .name = "crosstab",
            .answer = AnswerCells,
            .is_one_hot = true,
            .may_have_dates = true,
            .cells = "rows",
            .across = "columns"},
    KindRow{.kind = QuestionKind::kQuantiles,
            .name = "quantiles",
            .answer = AnswerQuantiles,
            .measured = Measured::kSuffixes,
            .cells = "column",
            .needs_order = true,
            .takes_groups = true,
            .takes_quantiles = true,
            .check = CheckQuantiles},
    KindRow{.kind = QuestionKind::kSurvival,
            .name = "survival",
            .answer = AnswerSurvival,
            .measured = Measured::kSuffixes,
            .is_one_hot = true,
            .has_cell_beyond = true,
            .cells = "time",
            .needs_order = true,
            .yes = "event",
            .yes_value = "event_value",
            .takes_groups = true,
            .check = CheckSurvival},
    KindRow{.kind = QuestionKind::kEvaluation,
            .name = "evaluation",
            .answer = AnswerEvaluation,
            .measured = Measured::kSuffixes,
            .is_one_hot = true,
            .cells = "score",
            .needs_order = true,
            .is_share = true,
            .yes = "label",
            .yes_value = "positive",
            .takes_groups = true,
            .takes_threshold = true,
            .takes_risks = true,
            .check = CheckEvaluation},
    KindRow{.kind = QuestionKind::kRegression,
            .name = "regression",
            .answer = AnswerRegression,
            .form = PartForm::kRegression,
            .most_columns = kMaxRegressionColumns,
            .yes = "label",
            .yes_value = "positive",
            .check = CheckRegression},
    KindRow{.kind = QuestionKind::kProportion,
            .name = "proportion",
            .answer = AnswerProportion,
            .is_one_hot = true,
            .yes = "column",
            .yes_value = "positive",
            .takes_groups = true},
    KindRow{.kind = QuestionKind::kMedian,
            .name = "median",
            .answer = AnswerMedian,
            .measured = Measured::kSuffixes,
            .cells = "column",
            .needs_order = true,
            .takes_groups = true},
    KindRow{.kind = QuestionKind::kTable1,
            .name = "table1",
            .answer = nullptr,
            .takes_variables = true,
            .takes_groups = true},
    KindRow{.kind = QuestionKind::kGlm,
            .name = "glm",
            .answer = AnswerGlm,
            .form = PartForm::kGlm,
            .takes_variables = true,
            .takes_formula = true,
            .takes_family = true},
    KindRow{.kind = QuestionKind::kCox,
            .name = "cox",
            .answer = AnswerLikelihood,
            .form = PartForm::kGlm,
            .cells = "time",
            .needs_order = true,
            .yes = "event",
            .yes_value = "event_value",
            .takes_variables = true,
            .takes_formula = true,
            .takes_hazards = true,
            .check = CheckCox},
};

constexpr bool IsInOrder() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].kind != static_cast<QuestionKind>(i)) return false;
  }
  return true;
}
static_assert(IsInOrder());

// The names of the kinds that `is_listed` chooses.
template <typename Chooser>
std::string Names(Chooser is_listed) {
  std::string names;
  for (const KindRow& row : kRows) {
    if (is_listed(row)) names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return names;
}

}  // namespace

const KindRow& RowOf(QuestionKind kind) { return kRows[static_cast<size_t>(kind)]; }

std::string_view QuestionKindName(QuestionKind kind) { return RowOf(kind).name; }

absl::StatusOr<QuestionKind> ParseQuestionKind(std::string_view name) {
  const auto* const row = std::ranges::find(kRows, name, &KindRow::name);
  if (row != kRows.end()) return row->kind;
  return base::InvalidArgument("unknown kind \"{}\": expected one of {}", name,
                               Names([](const KindRow&) { return true; }));
}

std::string OneHotKindNames() {
  return Names([](const KindRow& row) { return row.is_one_hot; });
}

}  // namespace tacet::statistics
