// Values between the library and training code in Python: settings, models, updates.
#ifndef TACET_PYTHON_BINDINGS_TRAINED_VALUES_H_
#define TACET_PYTHON_BINDINGS_TRAINED_VALUES_H_

#include <span>
#include <string_view>

#include "nanobind/nanobind.h"
#include "tacet/base/json.h"

namespace tacet::python {

// A setting as a line of a configuration would have it. TypeError for a value of another type.
base::JsonValue SettingOf(nanobind::handle value);

// A read-only array of the model, which the caller may keep.
nanobind::object ModelArray(std::span<const float> model);

// Copies an array of `update`'s size into it. TypeError and ValueError name `name`.
void CopyUpdate(nanobind::handle returned, std::string_view name, std::span<float> update);

}  // namespace tacet::python

#endif  // TACET_PYTHON_BINDINGS_TRAINED_VALUES_H_
