#include "tacet/statistics/query_text.h"

#include <chrono>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "fmt/ranges.h"

#include "tacet/base/status.h"
#include "tacet/table/agreed_numbers.h"
#include "tacet/table/calendar_day.h"

namespace tacet::statistics {
namespace {

absl::Status Get(const base::JsonValue& value, std::string& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsString());
  return absl::OkStatus();
}
absl::Status Get(const base::JsonValue& value, double& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsDouble());
  return absl::OkStatus();
}
absl::Status Get(const base::JsonValue& value, uint64_t& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsUint());
  return absl::OkStatus();
}
template <typename T>
absl::Status Get(const base::JsonValue& value, std::vector<T>& target) {
  if (!value.is_array()) return base::InvalidArgument("expected a list");
  target.clear();
  for (const base::JsonValue& item : value.items()) {
    TACET_RETURN_IF_ERROR(Get(item, target.emplace_back()));
  }
  return absl::OkStatus();
}
// Numbers, or dates as texts.
absl::Status GetEdges(const base::JsonValue& value, ColumnCellsSpec& cells) {
  cells.has_dates = value.is_array() && !value.items().empty() && value.items()[0].is_string();
  if (!cells.has_dates) return Get(value, cells.edges);
  std::vector<std::string> texts;
  TACET_RETURN_IF_ERROR(Get(value, texts));
  for (const std::string& text : texts) {
    const std::optional<std::chrono::sys_days> day = table::ParseDay(text);
    if (!day.has_value()) {
      return base::InvalidArgument("\"{}\": expected a number, or a date as 2025-01-31", text);
    }
    cells.edges.push_back(table::DayNumber(*day));
  }
  return absl::OkStatus();
}
// Categories and values may be written as text or as numbers.
absl::Status GetField(const base::JsonValue& value, std::string& target) {
  if (value.is_string()) return Get(value, target);
  if (!value.is_number()) return base::InvalidArgument("expected a text or a number");
  target = value.Dump();
  return absl::OkStatus();
}

absl::StatusOr<GlmFamily> ParseGlmFamily(std::string_view name) {
  if (name == "gaussian") return GlmFamily::kGaussian;
  if (name == "binomial") return GlmFamily::kBinomial;
  if (name == "poisson") return GlmFamily::kPoisson;
  return base::InvalidArgument("\"{}\": expected gaussian, binomial or poisson", name);
}

// Whether each site is a stratum.
absl::StatusOr<bool> ParseStrata(std::string_view name) {
  if (name == "sites") return true;
  return base::InvalidArgument("\"{}\": expected sites", name);
}

absl::StatusOr<bool> ParseHazardsCheck(std::string_view name) {
  if (name == "proportional-hazards") return true;
  return base::InvalidArgument("\"{}\": expected proportional-hazards", name);
}

// Members of a table of the file. Finish() refuses those that nothing read.
class Table {
 public:
  Table(const base::JsonValue& table, std::string name) : table_(table), name_(std::move(name)) {}

  bool Has(std::string_view key) const { return table_.Find(key) != nullptr; }
  template <typename T>
  void Take(std::string_view key, T& target) {
    Read(key, [&](const base::JsonValue& value) { return Get(value, target); });
  }
  void TakeField(std::string_view key, std::string& target) {
    Read(key, [&](const base::JsonValue& value) { return GetField(value, target); });
  }
  void TakeFields(std::string_view key, std::vector<std::string>& target) {
    Read(key, [&](const base::JsonValue& value) -> absl::Status {
      if (!value.is_array()) return base::InvalidArgument("expected a list");
      target.clear();
      for (const base::JsonValue& item : value.items()) {
        TACET_RETURN_IF_ERROR(GetField(item, target.emplace_back()));
      }
      return absl::OkStatus();
    });
  }
  template <typename T>
  void TakeWord(std::string_view key, absl::StatusOr<T> (*parse)(std::string_view), T& target) {
    Read(key, [&](const base::JsonValue& value) -> absl::Status {
      TACET_ASSIGN_OR_RETURN(const std::string word, value.AsString());
      TACET_ASSIGN_OR_RETURN(target, parse(word));
      return absl::OkStatus();
    });
  }
  template <typename Reader>
  void Read(std::string_view key, Reader&& reader) {
    known_.insert(std::string(key));
    const base::JsonValue* value = table_.Find(key);
    if (value == nullptr) return;
    status_.Update(base::Annotate(reader(*value), fmt::format("{}{}", name_, key)));
  }
  absl::Status Finish() {
    if (!table_.is_object()) {
      status_.Update(base::InvalidArgument("{}: expected a table", name_));
    }
    for (const auto& [key, value] : table_.members()) {
      if (known_.contains(key)) continue;
      std::string names;
      for (const std::string& name : known_) names += (names.empty() ? "" : ", ") + name;
      status_.Update(
          base::InvalidArgument("unknown key {}{}: expected one of {}", name_, key, names));
    }
    return status_;
  }

 private:
  const base::JsonValue& table_;
  std::string name_;  // with a point
  std::set<std::string> known_;
  absl::Status status_;
};

// Edges as a list, or from low, high and bins; or categories.
// Edges of a follow-up may be `high` alone.
void TakeCells(Table& table, ColumnCellsSpec& cells, double default_low, double default_high,
               bool is_follow_up = false) {
  table.Read("edges", [&cells](const base::JsonValue& value) { return GetEdges(value, cells); });
  table.TakeFields("categories", cells.categories);
  double low = default_low, high = default_high;
  uint64_t bins = 0;
  table.Take("low", low);
  table.Take("high", high);
  table.Read("bins", [&](const base::JsonValue& value) -> absl::Status {
    TACET_RETURN_IF_ERROR(Get(value, bins));
    if (bins < 1 || bins > kMaxCells) {
      return base::InvalidArgument("{}, expected from 1 to {}", bins, kMaxCells);
    }
    if (!cells.edges.empty() || !cells.categories.empty()) {
      return base::InvalidArgument("cells are given twice: by bins, and by edges or categories");
    }
    cells.edges = EqualEdges(low, high, bins);
    return absl::OkStatus();
  });
  if (is_follow_up && cells.edges.empty() && cells.categories.empty() && low == 0 && high > 0) {
    cells.edges = FollowUpEdges(high);
  }
}

// "COLUMN LOW..HIGH"
absl::StatusOr<BoundedColumn> ParseBounded(std::string_view text) {
  const size_t blank = text.rfind(' ');
  if (blank != std::string_view::npos) {
    const std::optional<table::NumberRange> bounds =
        table::ParseNumberRange(text.substr(blank + 1));
    if (bounds.has_value()) {
      return BoundedColumn{
          .column = std::string(text.substr(0, blank)), .low = bounds->low, .high = bounds->high};
    }
  }
  return base::InvalidArgument(
      "\"{}\": expected COLUMN LOW..HIGH with LOW below HIGH, as in \"age 0..120\"", text);
}

void TakeBounded(Table& table, std::vector<BoundedColumn>& columns) {
  table.Read("columns", [&](const base::JsonValue& list) -> absl::Status {
    std::vector<std::string> texts;
    TACET_RETURN_IF_ERROR(Get(list, texts));
    for (const std::string& text : texts) {
      TACET_ASSIGN_OR_RETURN(columns.emplace_back(), ParseBounded(text));
    }
    return absl::OkStatus();
  });
}

// "age 18..100", or "sex" of a column with agreed values.
void TakeVariables(Table& table, std::vector<TableVariable>& variables) {
  table.Read("columns", [&](const base::JsonValue& list) -> absl::Status {
    std::vector<std::string> texts;
    TACET_RETURN_IF_ERROR(Get(list, texts));
    for (const std::string& text : texts) {
      if (text.find("..") == std::string::npos) {
        variables.push_back({.column = text});
        continue;
      }
      TACET_ASSIGN_OR_RETURN(const BoundedColumn bounded, ParseBounded(text));
      variables.push_back({.column = bounded.column, .bounds = bounded});
    }
    return absl::OkStatus();
  });
}

void TakeAxis(Table& table, std::string_view key, ColumnCellsSpec& cells) {
  table.Read(key, [&](const base::JsonValue& child) -> absl::Status {
    Table axis(child, "");
    axis.Take("column", cells.column);
    TakeCells(axis, cells, 0, 0);
    return axis.Finish();
  });
}

// `terms` of risks: those of the formula as this query reads it, in the order of its coefficients.
absl::Status CheckTerms(const base::JsonValue& list, const QuestionSpec& spec,
                        const QuerySpec& query) {
  std::vector<std::string> terms;
  TACET_RETURN_IF_ERROR(Get(list, terms));
  TACET_ASSIGN_OR_RETURN(const Design design, Design::Create(spec, query));
  if (terms == design.labels()) return absl::OkStatus();
  return base::InvalidArgument(
      "the formula has the terms {} here, and the coefficients are those of {}: take formula, "
      "columns and agreed values as the model had them, in their order",
      fmt::join(design.labels(), ", "), fmt::join(terms, ", "));
}

void TakeKeysOfKind(const KindRow& kind, const QuerySpec& query, Table& table, QuestionSpec& spec) {
  if (kind.takes_variables) TakeVariables(table, spec.variables);
  if (kind.most_columns > 1) TakeBounded(table, spec.columns);
  if (kind.most_columns == 1) {
    BoundedColumn& bounded = spec.columns.emplace_back();
    table.Take("column", bounded.column);
    table.Take("low", bounded.low);
    table.Take("high", bounded.high);
  }
  if (!kind.across.empty()) {
    TakeAxis(table, kind.cells, spec.cells);
    TakeAxis(table, kind.across, spec.across);
  } else if (!kind.cells.empty()) {
    table.Take(kind.cells, spec.cells.column);
    TakeCells(table, spec.cells, 0, kind.is_share ? 1 : 0, kind.takes_hazards);
  }
  if (!kind.yes.empty()) {
    table.Take(kind.yes, spec.yes.column);
    table.TakeField(kind.yes_value, spec.yes.value);
  }
  if (kind.takes_quantiles) table.Take("quantiles", spec.quantiles);
  if (kind.takes_threshold) table.Take("threshold", spec.threshold);
  if (kind.takes_formula) {
    table.Take("formula", spec.formula);
  }
  if (kind.takes_hazards) {
    table.TakeWord("strata", ParseStrata, spec.by_site);
    table.Take("profiles", spec.profiles);
    table.TakeWord("check", ParseHazardsCheck, spec.checks_hazards);
  }
  if (kind.takes_risks) {
    TakeVariables(table, spec.variables);
    table.Take("formula", spec.formula);
    table.Take("coefficients", spec.coefficients);
    table.Read("terms", [&](const base::JsonValue& list) { return CheckTerms(list, spec, query); });
  }
  if (kind.takes_family) {
    table.TakeWord("family", ParseGlmFamily, spec.family);
    table.Take("exposure", spec.exposure);
  }
  if (kind.takes_groups) {
    table.Take("group", spec.groups.column);
    table.TakeFields("groups", spec.groups.categories);
  }
}

// `query` has the agreed values.
absl::StatusOr<QuestionSpec> ReadQuestion(const base::JsonValue& value, size_t place,
                                          const QuerySpec& query) {
  QuestionSpec spec;
  spec.name = fmt::format("question-{}", place + 1);
  Table table(value, fmt::format("question[{}].", place));
  table.Take("name", spec.name);
  if (!table.Has("kind")) {
    return base::InvalidArgument("question[{}].kind is missing", place);
  }
  table.TakeWord("kind", ParseQuestionKind, spec.kind);
  table.Take("share", spec.share);
  table.Take("sites", spec.sites);
  table.Read("where", [&](const base::JsonValue& list) -> absl::Status {
    std::vector<std::string> texts;
    TACET_RETURN_IF_ERROR(Get(list, texts));
    for (const std::string& text : texts) {
      TACET_ASSIGN_OR_RETURN(spec.where.emplace_back(), ParseRowCondition(text));
    }
    return absl::OkStatus();
  });
  TakeKeysOfKind(RowOf(spec.kind), query, table, spec);
  TACET_RETURN_IF_ERROR(table.Finish());
  if (!spec.coefficients.empty() && !table.Has("terms")) {
    return base::InvalidArgument(
        "question[{}].terms is missing: the term of each coefficient behind the intercept", place);
  }
  return spec;
}

}  // namespace

absl::StatusOr<QueryFile> ReadQueryFile(const base::JsonValue& file) {
  QueryFile result;
  QuerySpec& query = result.query;
  Table top(file, "");
  top.Take("name", query.name);
  top.Take("floor", query.floor);
  top.Take("confidence", query.confidence);
  top.Read("data", [&](const base::JsonValue& value) -> absl::Status {
    Table table(value, "data.");
    table.Take("site_column", result.site_column);
    table.Take("person_column", result.person_column);
    table.Take("columns", result.columns);
    table.Read("decimal", [&](const base::JsonValue& word) -> absl::Status {
      std::string decimal;
      TACET_RETURN_IF_ERROR(Get(word, decimal));
      if (decimal != "point" && decimal != "comma") {
        return base::InvalidArgument("\"{}\": expected point or comma", decimal);
      }
      result.decimal_comma = decimal == "comma";
      return absl::OkStatus();
    });
    table.Read("thousands", [&](const base::JsonValue& word) -> absl::Status {
      std::string thousands;
      TACET_RETURN_IF_ERROR(Get(word, thousands));
      TACET_ASSIGN_OR_RETURN(result.thousands, table::ThousandsOf(thousands));
      return table::CheckThousands(result.thousands, result.decimal_comma
                                                         ? table::DecimalMark::kComma
                                                         : table::DecimalMark::kPoint);
    });
    table.Take("missing", query.missing);
    table.Read("values", [&](const base::JsonValue& list) -> absl::Status {
      std::vector<std::string> texts;
      TACET_RETURN_IF_ERROR(Get(list, texts));
      for (const std::string& text : texts) {
        TACET_ASSIGN_OR_RETURN(const auto agreed, table::ParseAgreedColumn(text));
        if (const auto* values = std::get_if<table::AgreedValues>(&agreed); values != nullptr) {
          query.values.push_back(*values);
        } else {
          query.numbers.push_back(std::get<table::AgreedNumbers>(agreed));
        }
      }
      return absl::OkStatus();
    });
    table.Read("derived", [&](const base::JsonValue& list) -> absl::Status {
      std::vector<std::string> texts;
      TACET_RETURN_IF_ERROR(Get(list, texts));
      for (const std::string& text : texts) {
        TACET_ASSIGN_OR_RETURN(query.derived.emplace_back(), ParseDerivedColumn(text));
      }
      return absl::OkStatus();
    });
    return table.Finish();
  });
  top.Read("privacy", [&](const base::JsonValue& value) -> absl::Status {
    Table table(value, "privacy.");
    table.TakeWord("unit", accounting::ParseUnit, query.unit);
    table.TakeWord("neighbouring", accounting::ParseNeighbouring, query.neighbouring);
    table.Read("noise_law", [&](const base::JsonValue& word) -> absl::Status {
      TACET_ASSIGN_OR_RETURN(const std::string name, word.AsString());
      TACET_ASSIGN_OR_RETURN(query.noise_law, dp::ParseNoiseLaw(name));
      result.noise_law = query.noise_law;
      return absl::OkStatus();
    });
    table.Take("target_epsilon", result.privacy.target_epsilon);
    table.Take("budget_epsilon", result.privacy.budget_epsilon);
    table.Take("noise_multiplier", result.noise_multiplier);
    table.Take("noise_stddev", result.noise_stddev);
    table.Take("delta", result.privacy.delta);
    table.Take("colluders", result.privacy.colluders);
    table.Take("appearances", result.appearances);
    table.Take("spare_attempts", result.spare_attempts);
    table.Take("max_units", query.max_units);
    table.Take("rows_per_unit", query.rows_per_unit);
    return table.Finish();
  });
  top.Read("question", [&](const base::JsonValue& value) -> absl::Status {
    if (!value.is_array()) return base::InvalidArgument("expected [[question]] tables");
    for (size_t i = 0; i < value.items().size(); ++i) {
      TACET_ASSIGN_OR_RETURN(query.questions.emplace_back(),
                             ReadQuestion(value.items()[i], i, query));
    }
    return absl::OkStatus();
  });
  TACET_RETURN_IF_ERROR(top.Finish());
  if (result.spare_attempts > 1000) {
    return base::InvalidArgument("privacy.spare_attempts is {}, expected at most 1000",
                                 result.spare_attempts);
  }
  const double& target = result.privacy.target_epsilon;
  if ((target != 0) + (result.noise_multiplier != 0) + (result.noise_stddev != 0) != 1) {
    return base::InvalidArgument(
        "privacy.target_epsilon is {}, privacy.noise_multiplier {} and privacy.noise_stddev {}: "
        "give one of them, above 0",
        target, result.noise_multiplier, result.noise_stddev);
  }
  return result;
}

}  // namespace tacet::statistics
