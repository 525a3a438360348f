// The extension module tacet._core.
#include "nanobind/nanobind.h"
#include "nanobind/stl/string_view.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/interpreter_lock.h"
#include "tacet/version.h"

NB_MODULE(_core, module) {
  module.doc() = "Classes and functions of the C++ library.";
  // Threads that still work when the interpreter exits keep their objects: that is not an error.
  nanobind::set_leak_warnings(false);
  tacet::python::BindExit(module);
  tacet::python::BindErrors(module);
  tacet::python::BindGuarantees(module);
  tacet::python::BindBudgets(module);
  tacet::python::BindKeys(module);
  tacet::python::BindAgreement(module);
  tacet::python::BindClient(module);
  tacet::python::BindAggregator(module);
  tacet::python::BindRuns(module);
  tacet::python::BindSimulation(module);
  tacet::python::BindStatistics(module);
#ifdef TACET_WITH_NETWORK
  tacet::python::BindMember(module);
  tacet::python::BindRelayServer(module);
#endif
  module.def("version", &tacet::Version);
}
