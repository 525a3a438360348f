#include "apps/tacet/privacy/privacy_output.h"

#include <algorithm>
#include <limits>

#include "fmt/format.h"

namespace tacet::app::privacy {

using accounting::PrivacyRow;

namespace {

std::string WorstLine(const PrivacyRow* worst) {
  if (worst == nullptr || !worst->epsilon)
    return "No guarantee: an observer has no finite bound.\n";
  return fmt::format("epsilon {:.3f} at delta {:.3g} per {}, against {} ({})\n", *worst->epsilon,
                     worst->delta, accounting::UnitName(worst->unit),
                     accounting::ObserverName(worst->observer),
                     accounting::AccountantName(worst->accountant));
}

}  // namespace

std::string GuaranteesTable(const accounting::Guarantees& guarantees) {
  std::string out = fmt::format("  {:<26}{:<17}{:<8}{:<13}{:<19}{:>10}{:>10}{:>8}  {}\n",
                                "observer", "accountant", "unit", "neighbours", "sampling",
                                "epsilon", "delta", "rounds", "what the figure assumes");
  for (const PrivacyRow& row : guarantees.rows) {
    const bool number = row.epsilon.has_value();
    std::string note = row.note;
    if (number && row.order > 0) {
      note += fmt::format(" (order {:.4g})", row.order);
    }
    out += fmt::format(
        "{} {:<26}{:<17}{:<8}{:<13}{:<19}{:>10}{:>10}{:>8}  {}\n",
        &row == guarantees.headline()                 ? "="
        : &row == guarantees.HeadlineOf(row.observer) ? "*"
                                                      : " ",
        accounting::ObserverName(row.observer),
        number ? accounting::AccountantName(row.accountant) : "-", accounting::UnitName(row.unit),
        accounting::NeighbouringName(row.neighbouring), accounting::SamplingName(row.sampling),
        number ? fmt::format("{:.3f}", *row.epsilon) : "none",
        number ? fmt::format("{:.3g}", row.delta) : "-",
        number ? fmt::format("{}", row.releases) : "-", note);
  }
  out +=
      "* the smallest valid bound of an observer; = the one that counts, of the worst observer "
      "that has a guarantee\n";
  return out + GuaranteesSummary(guarantees);
}

std::string GuaranteesSummary(const accounting::Guarantees& guarantees) {
  std::string out = WorstLine(guarantees.headline());
  dp::ImplementationTerms most;
  bool any = false;
  int spent = 0;  // rows whose terms are more than delta, and the least epsilon among them
  double least_spent = std::numeric_limits<double>::infinity();
  for (const PrivacyRow& row : guarantees.rows) {
    if (!row.implementation) continue;
    any = true;
    most.epsilon = std::max(most.epsilon, row.implementation->epsilon);
    most.delta = std::max(most.delta, row.implementation->delta);
    if (row.implementation->delta > row.delta) {
      ++spent;
      least_spent = std::min(least_spent, *row.epsilon);
    }
  }
  if (any) {
    out += fmt::format(
        "Finite arithmetic and noise that ends add at most {:.2g} to epsilon and {:.2g} to delta "
        "of any row with a guarantee.\n",
        most.epsilon, most.delta);
    if (spent > 0) {
      out += fmt::format(
          "In {} of them, epsilon {:.3f} and above, that is more than delta: these guarantees hold "
          "for exact arithmetic only.\n",
          spent, least_spent);
    }
  }
  return out;
}

}  // namespace tacet::app::privacy
