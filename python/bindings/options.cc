#include "python/bindings/options.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/string_view.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;

constexpr std::array kAccountants = {Accountant::kMoments, Accountant::kRdp, Accountant::kPld,
                                     Accountant::kFixedSizeTight, Accountant::kFixedOrderRdp};

template <typename Word>
std::span<const Word> Words();
template <>
std::span<const Unit> Words() {
  return kUnits;
}
template <>
std::span<const Neighbouring> Words() {
  return kNeighbourings;
}
template <>
std::span<const Sampling> Words() {
  return kSamplings;
}

template <typename T>
const char* WantedType() {
  if constexpr (std::is_same_v<T, bool>) return "True or False";
  if constexpr (std::is_same_v<T, double>) return "a number";
  if constexpr (std::is_integral_v<T>) return "a whole number, not negative";
  return "a string";
}

template <typename T>
void Set(T& option, std::string_view name, nb::handle value);

// None is the option's default.
template <typename T>
void Set(std::optional<T>& option, std::string_view name, nb::handle value) {
  option.reset();
  if (!value.is_none()) Set(option.emplace(), name, value);
}

template <typename T>
void Set(T& option, std::string_view name, nb::handle value) {
  const bool is_bool = PyBool_Check(value.ptr()) != 0;
  if constexpr (std::is_enum_v<T>) {
    if (std::string word; nb::try_cast(value, word)) {
      option = WordOf(word, name, Words<T>());
      return;
    }
  } else if constexpr (std::is_same_v<T, bool>) {
    if (is_bool) {
      option = value.is(nb::handle(Py_True));
      return;
    }
  } else if (!is_bool && nb::try_cast(value, option)) {
    return;
  }
  throw nb::type_error(
      fmt::format("{} = {}: wanted {}", name, nb::repr(value).c_str(), WantedType<T>()).c_str());
}

template <typename T>
nb::object PythonOf(const T& option) {
  if constexpr (std::is_enum_v<T>) {
    return nb::cast(Name(option));
  } else {
    return nb::cast(option);
  }
}
template <typename T>
nb::object PythonOf(const std::optional<T>& option) {
  return option.has_value() ? PythonOf(*option) : nb::none();
}

}  // namespace

uint64_t WholeNumberOf(nb::handle value, std::string_view name, uint64_t max) {
  uint64_t number = 0;
  if (PyBool_Check(value.ptr()) == 0 && nb::try_cast(value, number) && number <= max) return number;
  throw nb::type_error(
      fmt::format("{} = {}: wanted a whole number from 0 to {}", name, nb::repr(value).c_str(), max)
          .c_str());
}

Observer ObserverOf(std::string_view name) {
  return WordOf(name, "observer", std::span<const Observer>(kObservers));
}

Accountant AccountantOf(std::string_view name) {
  return WordOf(name, "accountant", std::span<const Accountant>(kAccountants));
}

FederationOptions FederationOptionsOf(const nb::dict& keywords) {
  FederationOptions options;
  size_t known = 0;
  VisitOptions(options, [&](const char* name, auto& option) {
    if (!keywords.contains(name)) return;
    Set(option, name, keywords[name]);
    ++known;
  });
  if (known == keywords.size()) return options;
  std::string names;
  VisitOptions(options, [&](const char* name, const auto& /*option*/) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  });
  const nb::dict all = KeywordsOf(options);
  for (const auto& [name, value] : keywords) {
    if (all.contains(name)) continue;
    throw nb::type_error(
        fmt::format("there is no option {}. The options are {}", nb::repr(name).c_str(), names)
            .c_str());
  }
  return options;
}

nb::dict KeywordsOf(const FederationOptions& options) {
  nb::dict keywords;
  VisitOptions(options,
               [&](const char* name, const auto& option) { keywords[name] = PythonOf(option); });
  return keywords;
}

}  // namespace tacet::python
