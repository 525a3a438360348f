#include "python/bindings/table_columns.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "fmt/core.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;
using table::ColumnBuilder;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
// Doubles hold every whole number up to it.
constexpr int64_t kWhole = int64_t{1} << 53;

// Memory of an array, held for as long as it is read.
class Buffer {
 public:
  explicit Buffer(nb::handle array) {
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_FULL_RO) != 0) throw nb::python_error();
    if (view_.ndim != 1 || view_.format == nullptr) {
      PyBuffer_Release(&view_);
      throw nb::type_error("wanted a one-dimensional array of numbers");
    }
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  size_t rows() const { return static_cast<size_t>(view_.shape[0]); }
  // Type of a value as the module `struct` writes it, in this processor's byte order.
  char format() const {
    std::string_view format(view_.format);
    if (format.starts_with('<') || format.starts_with('=') || format.starts_with('@') ||
        format.starts_with('^')) {
      format.remove_prefix(1);
    }
    return format.size() == 1 ? format.front() : '\0';
  }
  size_t value_bytes() const { return static_cast<size_t>(view_.itemsize); }
  template <typename T>
  T Value(size_t row) const {
    T value{};
    const auto place = static_cast<Py_ssize_t>(row) * view_.strides[0];
    std::memcpy(&value, static_cast<const char*>(view_.buf) + place, sizeof(T));
    return value;
  }

 private:
  Py_buffer view_{};
};

void AddWhole(int64_t value, ColumnBuilder& column) {
  if (value >= -kWhole && value <= kWhole) {
    column.AddNumber(static_cast<double>(value));
  } else {
    column.AddText(fmt::format("{}", value));
  }
}

// Any byte but 0 is true.
struct Truth {
  uint8_t byte;
};

template <typename T>
void Add(T value, ColumnBuilder& column) {
  if constexpr (std::is_same_v<T, Truth>) {
    column.AddNumber(value.byte != 0 ? 1 : 0);
  } else if constexpr (std::is_same_v<T, float>) {
    column.AddNumber(table::WidenedFloat(value));
  } else if constexpr (std::is_same_v<T, double>) {
    column.AddNumber(value);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    if (value > static_cast<uint64_t>(kWhole)) {
      column.AddText(fmt::format("{}", value));
    } else {
      column.AddNumber(static_cast<double>(value));
    }
  } else {
    AddWhole(static_cast<int64_t>(value), column);
  }
}

template <typename T>
void AddAll(const Buffer& array, const Buffer* mask, ColumnBuilder& column) {
  for (size_t row = 0; row < array.rows(); ++row) {
    if (mask != nullptr && mask->Value<Truth>(row).byte != 0) {
      column.AddNumber(kMissing);
    } else {
      Add(array.Value<T>(row), column);
    }
  }
}

template <typename Signed, typename Unsigned>
void AddAllWhole(bool is_signed, const Buffer& array, const Buffer* mask, ColumnBuilder& column) {
  if (is_signed) {
    AddAll<Signed>(array, mask, column);
  } else {
    AddAll<Unsigned>(array, mask, column);
  }
}

// Adds a value of Python; false for one of another type.
bool AddObject(PyObject* value, ColumnBuilder& column) {
  if (PyFloat_Check(value) != 0) {
    column.AddNumber(PyFloat_AsDouble(value));
    return true;
  }
  if (value == Py_None) {
    column.AddNumber(kMissing);
    return true;
  }
  if (PyUnicode_CheckExact(value) != 0) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == nullptr) throw nb::python_error();
    column.AddText({text, static_cast<size_t>(size)});
    return true;
  }
  if (PyLong_CheckExact(value) == 0 && PyBool_Check(value) == 0) return false;
  int beyond = 0;
  const long long whole = PyLong_AsLongLongAndOverflow(value, &beyond);
  if (beyond == 0) {
    AddWhole(whole, column);
  } else {
    column.AddText(nb::str(nb::handle(value)).c_str());
  }
  return true;
}

}  // namespace

table::Column ColumnOfNumbers(nb::handle object, nb::handle mask,
                              const std::vector<std::string>& missing) {
  const Buffer array(object);
  std::optional<Buffer> hidden;
  if (!mask.is_none()) {
    hidden.emplace(mask);
    if (hidden->rows() != array.rows() || hidden->format() != '?') {
      throw nb::type_error("the mask is not an array of truth values, one for each value");
    }
  }
  const Buffer* const masked = hidden.has_value() ? &*hidden : nullptr;
  ColumnBuilder column(table::NumbersAmong(missing));
  const std::string_view kinds("?fdbhilqBHILQ");
  const char format = array.format();
  if (format == '\0' || kinds.find(format) == std::string_view::npos) {
    throw nb::type_error("wanted an array of truth values, whole numbers, float32 or float64");
  }
  const bool is_signed = std::string_view("bhilq").find(format) != std::string_view::npos;
  if (format == '?') {
    AddAll<Truth>(array, masked, column);
  } else if (format == 'd') {
    AddAll<double>(array, masked, column);
  } else if (format == 'f') {
    AddAll<float>(array, masked, column);
  } else if (array.value_bytes() == 1) {
    AddAllWhole<int8_t, uint8_t>(is_signed, array, masked, column);
  } else if (array.value_bytes() == 2) {
    AddAllWhole<int16_t, uint16_t>(is_signed, array, masked, column);
  } else if (array.value_bytes() == 4) {
    AddAllWhole<int32_t, uint32_t>(is_signed, array, masked, column);
  } else {
    AddAllWhole<int64_t, uint64_t>(is_signed, array, masked, column);
  }
  return std::move(column).Finish();
}

table::Column ColumnOfValues(nb::iterable values, const nb::callable& plain,
                             const std::vector<std::string>& missing) {
  ColumnBuilder column(table::NumbersAmong(missing));
  for (const nb::handle value : values) {
    if (AddObject(value.ptr(), column)) continue;
    const nb::object simple = plain(value);
    if (!AddObject(simple.ptr(), column)) {
      throw nb::type_error("wanted a number, a text or None");
    }
  }
  return std::move(column).Finish();
}

}  // namespace tacet::python
