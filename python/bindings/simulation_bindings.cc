// Simulation of a federation whose clients train in Python.
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "nanobind/nanobind.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/shared_ptr.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/options.h"
#include "python/bindings/python_calls.h"
#include "python/bindings/trained_values.h"
#include "tacet/base/json.h"
#include "tacet/base/status.h"
#include "tacet/config/run_config.h"
#include "tacet/run/configured_simulation.h"
#include "tacet/run/function_simulation.h"
#include "tacet/run/run_output.h"
#include "tacet/simulation/simulation.h"
#include "tacet/trainer/function_learner.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

config::RunConfig ConfigOf(const Keywords& settings) {
  config::RunConfig config;
  config.model.name = trainer::kExternalModel;
  for (const auto& [key, value] : settings) {
    ThrowIfError(config::SetKey(config, nb::cast<std::string>(key), SettingOf(value)));
  }
  return config;
}

// A share in [0, 1], or a loss.
double FigureOf(nb::handle value, std::string_view name) {
  double figure = 0;
  if (PyBool_Check(value.ptr()) || !nb::try_cast(value, figure)) {
    throw nb::type_error(
        fmt::format("evaluate(model): {} = {}: wanted a number", name, nb::repr(value).c_str())
            .c_str());
  }
  const bool is_loss = name == "loss";
  if (std::isfinite(figure) && (is_loss || (figure >= 0 && figure <= 1))) return figure;
  throw nb::value_error(
      fmt::format("evaluate(model): {} = {}: wanted {}; leave out what has no value", name, figure,
                  is_loss ? "a finite number" : "a share in [0, 1]")
          .c_str());
}

trainer::Evaluation EvaluationOf(const nb::object& returned) {
  if (!nb::isinstance<nb::dict>(returned)) {
    throw nb::type_error("evaluate(model) must return a dict with accuracy, loss and samples");
  }
  const auto found = nb::borrow<nb::dict>(returned);
  trainer::Evaluation evaluation;
  std::string figure;  // the name of one that was given
  for (const auto& [key, value] : found) {
    const std::string name = nb::str(key).c_str();
    if (name == "samples") {
      evaluation.samples =
          WholeNumberOf(value, "evaluate(model): samples", std::numeric_limits<int64_t>::max());
      continue;
    }
    if (name == "accuracy") {
      evaluation.accuracy = FigureOf(value, name);
    } else if (name == "loss") {
      evaluation.loss = FigureOf(value, name);
    } else if (name == "auc") {
      evaluation.auc = FigureOf(value, name);
    } else {
      throw nb::value_error(
          fmt::format("evaluate(model) returned \"{}\"; known are accuracy, loss, samples and auc",
                      name)
              .c_str());
    }
    figure = name;
  }
  if (!figure.empty() && evaluation.samples == 0) {
    throw nb::value_error(
        fmt::format("evaluate(model) returned {} without samples: add the number of samples that "
                    "it was measured on, above 0",
                    figure)
            .c_str());
  }
  return evaluation;
}

trainer::FunctionLearnerSpec LearnerOf(std::vector<float> initial, uint64_t clients,
                                       std::vector<uint64_t> units, accounting::Unit unit,
                                       const nb::object& train, const nb::object& evaluate,
                                       const PythonCalls& calls) {
  trainer::FunctionLearnerSpec spec{
      .initial = std::move(initial), .clients = clients, .unit = unit, .units = std::move(units)};
  const PythonObject trained(train);
  spec.train = [trained, calls](uint32_t round, uint64_t client, std::span<const float> model,
                                std::span<float> update) {
    return calls.Run([&] {
      CopyUpdate(CallFunction(trained.get(), ModelArray(model), client, round),
                 fmt::format("the update of client {}", client), update);
    });
  };
  spec.sum_clipped = [trained, calls](uint64_t client, std::span<const uint32_t> drawn,
                                      double clip_norm, std::span<const float> model,
                                      std::span<float> sum) {
    return calls.Run([&] {
      const std::vector<uint32_t> chosen(drawn.begin(), drawn.end());
      CopyUpdate(CallFunction(trained.get(), ModelArray(model), client, chosen, clip_norm),
                 fmt::format("the sum of client {}", client), sum);
    });
  };
  if (!evaluate.is_none()) {
    const PythonObject evaluated(evaluate);
    spec.evaluate = [evaluated, calls](std::span<const float> model) {
      trainer::Evaluation evaluation;
      const absl::Status done = calls.Run(
          [&] { evaluation = EvaluationOf(CallFunction(evaluated.get(), ModelArray(model))); });
      return done.ok() ? absl::StatusOr<trainer::Evaluation>(evaluation) : done;
    };
  }
  return spec;
}

struct Simulated {
  std::vector<float> model;
  std::string summary;  // JSON
};

// Control-C: Python's handler runs between rounds, and what it raises ends the run.
bool InterruptCame(const PythonCalls& calls) {
  return !calls
              .Run([] {
                int raised = 0;
                CallOrWaitForExit([&raised] { raised = PyErr_CheckSignals(); });
                if (raised != 0) throw nb::python_error();
              })
              .ok();
}

absl::StatusOr<Simulated> Simulate(run::FunctionSimulation call, const PythonCalls& calls,
                                   const std::optional<PythonObject>& on_round) {
  TACET_ASSIGN_OR_RETURN(const simulation::SimulationSpec spec, run::SimulationSpecOf(call.config));
  const std::vector<std::string> labels = simulation::SimulationLabels(spec);
  call.stop = [&calls] { return InterruptCame(calls); };
  bool ends = false;
  call.end = [&ends] { return ends; };
  if (on_round) {
    call.on_round = [&](const simulation::RoundRecord& record) {
      const std::string line = run::RoundJson(record, labels).Dump();
      return calls.Run([&] { ends = CallFunction(on_round->get(), line).is(nb::handle(Py_True)); });
    };
  }
  TACET_ASSIGN_OR_RETURN(run::TrainingEnd end, run::SimulateFunctions(std::move(call)));
  return Simulated{.model = std::move(end.result.model), .summary = end.summary.Dump()};
}

}  // namespace

void BindSimulation(nb::module_& module) {
  module.def(
      "simulate",
      [](const Keywords& settings, const nb::object& train, const nb::object& evaluate,
         const nb::object& on_round, nb::handle initial, uint64_t clients,
         std::vector<uint64_t> units, const std::string& data_name, const std::string& path,
         bool resume, std::shared_ptr<ledger::SharedBudget> budget) {
        if (InterpreterExits()) {
          throw StatusError(
              absl::FailedPreconditionError("the interpreter exits: no simulation begins"));
        }
        const PythonCalls calls;
        run::FunctionSimulation call{.config = ConfigOf(settings),
                                     .learner = {},
                                     .data_name = data_name,
                                     .out = path,
                                     .resume = resume,
                                     .stop = nullptr,
                                     .budget = {.budget = std::move(budget), .name = "simulate"},
                                     .on_round = nullptr};
        call.learner = LearnerOf(FloatsOf(initial, "initial"), clients, std::move(units),
                                 call.config.agreement.privacy.unit, train, evaluate, calls);
        std::optional<PythonObject> told;
        if (!on_round.is_none()) told.emplace(on_round);
        absl::StatusOr<Simulated> done =
            WithoutLock([&] { return Simulate(std::move(call), calls, told); });
        calls.ThrowIfOneRaised();
        Simulated simulated = ValueOrThrow(std::move(done));
        return nb::make_tuple(ArrayOf(std::move(simulated.model)), simulated.summary);
      },
      "settings"_a, "train"_a, "evaluate"_a.none(), "on_round"_a.none(), "initial"_a, "clients"_a,
      "units"_a, "data_name"_a, "path"_a, "resume"_a, "budget"_a.none(),
      nb::sig("def simulate(settings: dict[str, object], train: object, evaluate: object, "
              "on_round: object, initial: object, clients: int, units: list[int], data_name: str, "
              "path: str, resume: bool, budget: SharedBudget | None) -> "
              "tuple[numpy.typing.NDArray[numpy.float32], str]"));
}

}  // namespace tacet::python
