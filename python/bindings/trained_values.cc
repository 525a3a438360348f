#include "python/bindings/trained_values.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "nanobind/ndarray.h"
#include "nanobind/stl/string.h"
#include "python/bindings/arrays.h"

namespace tacet::python {

namespace nb = nanobind;

base::JsonValue SettingOf(nb::handle value) {
  if (PyBool_Check(value.ptr())) return base::JsonValue(nb::cast<bool>(value));
  if (uint64_t number = 0; nb::try_cast(value, number, false)) return base::JsonValue(number);
  if (double number = 0; nb::try_cast(value, number)) return base::JsonValue(number);
  if (std::string text; nb::try_cast(value, text)) return base::JsonValue(text);
  throw nb::type_error(
      fmt::format("{}: wanted a number, a string, True or False", nb::repr(value).c_str()).c_str());
}

nb::object ModelArray(std::span<const float> model) {
  auto kept = std::make_unique<std::vector<float>>(model.begin(), model.end());
  std::vector<float>* const values = kept.get();
  const nb::capsule owner(kept.release(),
                          [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  return nb::cast(
      nb::ndarray<nb::numpy, const float, nb::ndim<1>>(values->data(), {values->size()}, owner));
}

void CopyUpdate(nb::handle returned, std::string_view name, std::span<float> update) {
  const nb::ndarray<nb::ro> values = ArrayOfFloats(returned, name);
  if (values.shape(0) != update.size()) {
    throw nb::value_error(
        fmt::format("{} has {} values, the model has {}: return new minus old parameters, one for "
                    "each of the model",
                    name, values.shape(0), update.size())
            .c_str());
  }
  CopyFloats(values, update);
}

}  // namespace tacet::python
