// Options of a federation, from the keywords of a Python call.
#ifndef TACET_PYTHON_BINDINGS_OPTIONS_H_
#define TACET_PYTHON_BINDINGS_OPTIONS_H_

#include <span>
#include <string_view>

#include "fmt/core.h"

#include "nanobind/nanobind.h"
#include "python/bindings/errors.h"
#include "tacet/federation_options.h"
#include "tacet/privacy_model.h"

namespace tacet::python {

// The value among `values` that tables and Python know by `name`. StatusError lists the names.
template <typename Word>
Word WordOf(std::string_view name, std::string_view option, std::span<const Word> values) {
  std::string names;
  for (const Word value : values) {
    if (Name(value) == name) return value;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", Name(value));
  }
  throw StatusError(
      absl::InvalidArgumentError(fmt::format("{} = \"{}\" is not one of {}", option, name, names)));
}

// The keywords of a call, by name.
using Keywords = nanobind::typed<nanobind::dict, nanobind::str, nanobind::object>;

// A whole number from 0 to `max`. TypeError names the argument, its value and the range.
uint64_t WholeNumberOf(nanobind::handle value, std::string_view name, uint64_t max);

Observer ObserverOf(std::string_view name);
Accountant AccountantOf(std::string_view name);

// Keys are the names in FederationOptions. TypeError names a key that does not exist, or whose
// value has another type.
FederationOptions FederationOptionsOf(const nanobind::dict& keywords);

// The same keys, with the values of `options`.
nanobind::dict KeywordsOf(const FederationOptions& options);

}  // namespace tacet::python

#endif  // TACET_PYTHON_BINDINGS_OPTIONS_H_
