// Budgets that several runs of a process share.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nanobind/nanobind.h"
#include "nanobind/stl/shared_ptr.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/interpreter_lock.h"
#include "tacet/accounting/epsilon_bounds.h"
#include "tacet/base/status.h"
#include "tacet/ledger/shared_budget.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using ledger::SharedBudget;

// A run as the history has it.
struct ToldRun {
  std::string name;
  uint64_t attempts = 0;
  double epsilon = 0;  // of these attempts alone, at the budget's delta
  bool ended = false;
};

absl::StatusOr<std::vector<ToldRun>> RunsOf(const SharedBudget& budget) {
  TACET_ASSIGN_OR_RETURN(const std::vector<ledger::BudgetedRun> runs, budget.Runs());
  std::vector<ToldRun> told;
  for (const ledger::BudgetedRun& run : runs) {
    ToldRun& one =
        told.emplace_back(ToldRun{.name = run.name, .attempts = run.attempts, .ended = run.ended});
    if (run.attempts == 0) continue;
    TACET_ASSIGN_OR_RETURN(const accounting::EpsilonBounds bounds,
                           accounting::BoundEpsilon(accounting::Repeated(run.event, run.attempts),
                                                    budget.terms().delta));
    one.epsilon = bounds.epsilon();
  }
  return told;
}

std::shared_ptr<SharedBudget> NewBudget(double epsilon, double delta, const std::string& unit,
                                        const std::string& neighbouring) {
  ledger::BudgetTerms terms{.epsilon = epsilon, .delta = delta};
  terms.unit = ValueOrThrow(accounting::ParseUnit(unit));
  terms.neighbouring = ValueOrThrow(accounting::ParseNeighbouring(neighbouring));
  return ValueOrThrow(SharedBudget::Create(terms));
}

}  // namespace

void BindBudgets(nb::module_& module) {
  nb::class_<ToldRun>(module, "BudgetedRun", "A run that was charged to a budget.")
      .def_ro("name", &ToldRun::name)
      .def_ro("attempts", &ToldRun::attempts)
      .def_ro("epsilon", &ToldRun::epsilon)
      .def_ro("ended", &ToldRun::ended);
  nb::class_<SharedBudget>(module, "SharedBudget", "One budget of several runs.")
      .def_static("create", &NewBudget, "epsilon"_a, "delta"_a, "unit"_a, "neighbouring"_a)
      .def("spent",
           [](const SharedBudget& budget) {
             return ValueOrThrow(WithoutLock([&] { return budget.Spent(); }));
           })
      .def("remaining",
           [](const SharedBudget& budget) {
             return ValueOrThrow(WithoutLock([&] { return budget.Remaining(); }));
           })
      .def("runs", [](const SharedBudget& budget) {
        return ValueOrThrow(WithoutLock([&] { return RunsOf(budget); }));
      });
}

}  // namespace tacet::python
