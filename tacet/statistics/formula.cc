#include "tacet/statistics/formula.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tacet/base/status.h"

namespace tacet::statistics {
namespace {

constexpr size_t kMaxFormulaBytes = 4096;

bool IsOfName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || static_cast<unsigned char>(c) >= 0x80;
}

std::string TextOf(const FormulaTerm& term) {
  std::string text;
  for (const FormulaFactor& factor : term) {
    if (!text.empty()) text += ":";
    text += factor.Text();
  }
  return text;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), rest_(text) {}

  absl::StatusOr<Formula> Parse(bool has_response) {
    if (text_.size() > kMaxFormulaBytes) {
      return base::InvalidArgument("the formula has {} bytes, expected at most {}", text_.size(),
                                   kMaxFormulaBytes);
    }
    Formula formula;
    if (has_response) {
      TACET_ASSIGN_OR_RETURN(formula.response, ParseFactor());
      if (!Take('~')) return Wrong("expected ~ behind the response");
    } else if (Take('~'), rest_.empty()) {
      return Wrong("it has no terms");
    }
    do {
      TACET_RETURN_IF_ERROR(ParseTerms(formula.terms));
    } while (Take('+'));
    if (!rest_.empty()) {
      return Wrong(fmt::format(
          "\"{}\" is not understood: a formula has columns, log(column), +, : and *; write a "
          "column with other characters between backticks",
          rest_));
    }
    std::ranges::stable_sort(formula.terms, {}, &FormulaTerm::size);
    TACET_RETURN_IF_ERROR(Check(formula));
    return formula;
  }

 private:
  absl::Status Wrong(std::string_view what) const {
    return base::InvalidArgument("formula \"{}\": {}", text_, what);
  }
  void SkipBlanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) {
      rest_.remove_prefix(1);
    }
  }
  bool Take(char c) {
    SkipBlanks();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    SkipBlanks();
    return true;
  }

  absl::StatusOr<std::string> ParseName() {
    SkipBlanks();
    if (!rest_.empty() && rest_.front() == '`') {
      rest_.remove_prefix(1);
      const size_t end = rest_.find('`');
      if (end == std::string_view::npos) return Wrong("a backtick is not closed");
      const std::string name(rest_.substr(0, end));
      rest_.remove_prefix(end + 1);
      if (name.empty()) return Wrong("a column between backticks has no name");
      return name;
    }
    const size_t length = std::ranges::find_if_not(rest_, IsOfName) - rest_.begin();
    if (length == 0) {
      return Wrong(rest_.empty() ? "a column is missing at the end"
                                 : fmt::format("expected a column in front of \"{}\"", rest_));
    }
    const std::string name(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return name;
  }

  absl::StatusOr<FormulaFactor> ParseFactor() {
    FormulaFactor factor;
    SkipBlanks();
    const bool is_quoted = !rest_.empty() && rest_.front() == '`';
    TACET_ASSIGN_OR_RETURN(factor.column, ParseName());
    if (is_quoted || !Take('(')) return factor;
    if (factor.column != "log") {
      return Wrong(fmt::format("{}() is not known, expected log()", factor.column));
    }
    TACET_ASSIGN_OR_RETURN(factor.column, ParseName());
    if (!Take(')')) return Wrong("a bracket is not closed");
    factor.is_log = true;
    return factor;
  }

  // One product of factors, and all that `*` makes of it.
  absl::Status ParseTerms(std::vector<FormulaTerm>& terms) {
    std::vector<FormulaTerm> made = {{}};
    bool is_crossed = false;
    do {
      FormulaTerm product;
      do {
        TACET_ASSIGN_OR_RETURN(const FormulaFactor factor, ParseFactor());
        TACET_RETURN_IF_ERROR(Multiply(product, factor));
      } while (Take(':'));
      const size_t before = made.size();
      for (size_t i = 0; i < before; ++i) {
        FormulaTerm term = made[i];
        for (const FormulaFactor& factor : product) {
          TACET_RETURN_IF_ERROR(Multiply(term, factor));
        }
        // A factor that comes again makes nothing new: of three factors there are eight products.
        const auto is_same = [&term](const FormulaTerm& other) { return IsSameTerm(term, other); };
        if (std::ranges::none_of(made, is_same)) made.push_back(std::move(term));
      }
      is_crossed = Take('*');
    } while (is_crossed);
    for (FormulaTerm& term : made) {
      const auto is_same = [&term](const FormulaTerm& other) { return IsSameTerm(term, other); };
      if (term.empty() || std::ranges::any_of(terms, is_same)) continue;
      terms.push_back(std::move(term));
      if (terms.size() > kMaxFormulaTerms) {
        return Wrong(fmt::format("it has more than {} terms", kMaxFormulaTerms));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Multiply(FormulaTerm& term, const FormulaFactor& factor) const {
    if (std::ranges::find(term, factor) == term.end()) term.push_back(factor);
    if (term.size() <= kMaxFormulaFactors) return absl::OkStatus();
    return Wrong(
        fmt::format("a product of more than {} columns is not supported", kMaxFormulaFactors));
  }

  absl::Status Check(const Formula& formula) const {
    for (const FormulaTerm& term : formula.terms) {
      for (const FormulaFactor& factor : term) {
        if (factor.column == formula.response.column) {
          return Wrong(fmt::format("\"{}\" is the response and a term, too", factor.column));
        }
        // With its terms, each smaller product is there as well.
        FormulaTerm without = term;
        std::erase(without, factor);
        const auto is_same = [&](const FormulaTerm& other) { return IsSameTerm(without, other); };
        if (without.empty() || std::ranges::any_of(formula.terms, is_same)) continue;
        return Wrong(fmt::format(
            "the product {} needs the term {}, too: write * in place of :, or add the term",
            TextOf(term), TextOf(without)));
      }
    }
    return absl::OkStatus();
  }

  std::string_view text_;
  std::string_view rest_;
};

}  // namespace

bool IsSameTerm(const FormulaTerm& a, const FormulaTerm& b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&b](const FormulaFactor& factor) {
           return std::ranges::find(b, factor) != b.end();
         });
}

absl::StatusOr<Formula> ParseFormula(std::string_view text, bool has_response) {
  return Parser(text).Parse(has_response);
}

}  // namespace tacet::statistics
