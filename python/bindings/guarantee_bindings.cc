// Guarantees and calibration in Python.
#include <optional>
#include <string>

#include "fmt/core.h"

#include "nanobind/nanobind.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/string_view.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/interpreter_lock.h"
#include "python/bindings/options.h"
#include "tacet/calibrate.h"
#include "tacet/guarantee.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

CalibrationTarget TargetOf(double epsilon, const std::optional<std::string>& observer,
                           const std::optional<std::string>& accountant) {
  CalibrationTarget target{.epsilon = epsilon};
  if (observer) target.observer = ObserverOf(*observer);
  if (accountant) target.accountant = AccountantOf(*accountant);
  return target;
}

// One of the three calibrations as a function of Python.
template <auto kCalibrate>
auto Calibration(const Keywords& federation, double epsilon,
                 const std::optional<std::string>& observer,
                 const std::optional<std::string>& accountant) {
  const FederationOptions options = FederationOptionsOf(federation);
  const CalibrationTarget target = TargetOf(epsilon, observer, accountant);
  return ValueOrThrow(WithoutLock([&] { return kCalibrate(options, target); }));
}

template <auto kCalibrate>
void DefCalibration(nb::module_& module, const char* name) {
  module.def(name, &Calibration<kCalibrate>, "federation"_a, "epsilon"_a, "observer"_a = nb::none(),
             "accountant"_a = nb::none());
}

std::string RowText(const GuaranteeRow& row) {
  return fmt::format("<GuaranteeRow {}, {}, {}: epsilon {}>", Name(row.observer),
                     Name(row.accountant), Name(row.standing),
                     row.epsilon ? fmt::format("{:.3g}", *row.epsilon) : "none");
}

void BindRows(nb::module_& module) {
  nb::class_<GuaranteeRow>(module, "GuaranteeRow", "One observer, one accountant.")
      .def_prop_ro("observer", [](const GuaranteeRow& row) { return Name(row.observer); })
      .def_prop_ro("accountant", [](const GuaranteeRow& row) { return Name(row.accountant); })
      .def_prop_ro(
          "standing", [](const GuaranteeRow& row) { return Name(row.standing); },
          "\"guarantee\", \"convention\" (shown, not proved) or \"none\".")
      .def_ro("hypothetical", &GuaranteeRow::hypothetical,
              "True for a row that is never the headline.")
      .def_ro("epsilon", &GuaranteeRow::epsilon,
              "Upper bound of epsilon; None exactly when there is none.")
      .def_ro("epsilon_lower", &GuaranteeRow::epsilon_lower,
              "The true epsilon is at least this, where known.")
      .def_ro("delta", &GuaranteeRow::delta)
      .def_ro("order", &GuaranteeRow::order, "Renyi order of the bound; 0 without orders.")
      .def_prop_ro(
          "noise_law", [](const GuaranteeRow& row) { return Name(row.noise_law); },
          "\"gaussian\", or \"discrete-laplace\" for queries that count rows.")
      .def_ro("noise_stddev", &GuaranteeRow::noise_stddev,
              "Standard deviation of the noise in the sum that the observer does not know.")
      .def_ro("sampling_rate", &GuaranteeRow::sampling_rate)
      .def_ro("releases", &GuaranteeRow::releases, "Rounds that are counted.")
      .def_ro("added_epsilon", &GuaranteeRow::added_epsilon,
              "What finite arithmetic adds, known for an Agreement.")
      .def_ro("added_delta", &GuaranteeRow::added_delta)
      .def_ro("note", &GuaranteeRow::note, "Assumptions of the figure.")
      .def("__repr__", &RowText);
}

void BindGuaranteeClass(nb::module_& module) {
  nb::class_<Guarantee>(module, "Guarantee",
                        "Epsilon for every observer and accountant, and the headline.")
      .def_ro("epsilon", &Guarantee::epsilon,
              "Smallest valid bound for the worst observer that has a guarantee; infinite when "
              "there is none.")
      .def_ro("delta", &Guarantee::delta)
      .def_prop_ro(
          "headline",
          [](const Guarantee& guarantee) -> std::optional<GuaranteeRow> {
            if (!guarantee.headline) return std::nullopt;
            return guarantee.rows[*guarantee.headline];
          },
          "The row that gives epsilon; None when it is infinite.")
      .def_ro("rows", &Guarantee::rows)
      .def("__repr__", [](const Guarantee& guarantee) {
        return fmt::format("<Guarantee epsilon {:.3g} at delta {:.3g}, {} rows>", guarantee.epsilon,
                           guarantee.delta, guarantee.rows.size());
      });
}

}  // namespace

void BindGuarantees(nb::module_& module) {
  BindRows(module);
  BindGuaranteeClass(module);
  module.def(
      "guarantee",
      [](const Keywords& federation) {
        const FederationOptions options = FederationOptionsOf(federation);
        return ValueOrThrow(WithoutLock([&] { return ComputeGuarantee(options); }));
      },
      "federation"_a);
  module.def(
      "explain",
      [](const Keywords& federation, double false_positive_rate) {
        const FederationOptions options = FederationOptionsOf(federation);
        return ValueOrThrow(
            WithoutLock([&] { return ExplainGuarantee(options, false_positive_rate); }));
      },
      "federation"_a, "false_positive_rate"_a);
  DefCalibration<&CalibrateNoise>(module, "calibrate_noise");
  DefCalibration<&CalibrateRounds>(module, "calibrate_rounds");
  DefCalibration<&CalibrateCohort>(module, "calibrate_cohort");
}

}  // namespace tacet::python
