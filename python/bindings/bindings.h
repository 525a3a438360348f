// Parts of the extension module; each adds its classes and functions.
#ifndef TACET_PYTHON_BINDINGS_BINDINGS_H_
#define TACET_PYTHON_BINDINGS_BINDINGS_H_

#include "nanobind/nanobind.h"

namespace tacet::python {

void BindGuarantees(nanobind::module_& module);
void BindBudgets(nanobind::module_& module);
void BindKeys(nanobind::module_& module);
void BindAgreement(nanobind::module_& module);
void BindClient(nanobind::module_& module);
void BindAggregator(nanobind::module_& module);
void BindRuns(nanobind::module_& module);
void BindSimulation(nanobind::module_& module);
void BindMember(nanobind::module_& module);
void BindRelayServer(nanobind::module_& module);
void BindStatistics(nanobind::module_& module);

}  // namespace tacet::python

#endif  // TACET_PYTHON_BINDINGS_BINDINGS_H_
