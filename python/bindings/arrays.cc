#include "python/bindings/arrays.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "fmt/core.h"

#include "python/bindings/interpreter_lock.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;

// Below it, about 1 ms of copying, the hand-over of the lock costs more than it gives.
constexpr size_t kLargeCopy = 1'000'000;

template <typename Copy>
auto Copied(size_t size, const Copy& copy) {
  return size < kLargeCopy ? copy() : WithoutLock(copy);
}

template <typename T>
void Copy(const nb::ndarray<nb::ro>& array, std::span<float> values) {
  const T* const first = static_cast<const T*>(array.data());
  const int64_t stride = array.stride(0);
  Copied(values.size(), [&] {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(first[static_cast<int64_t>(i) * stride]);
    }
  });
}

template <typename T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> Owned(std::vector<T> values) {
  auto owner = std::make_unique<std::vector<T>>(std::move(values));
  std::vector<T>* const kept = owner.get();
  const nb::capsule capsule(owner.release(),
                            [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, capsule);
}

}  // namespace

nb::ndarray<nb::ro> ArrayOfFloats(nb::handle object, std::string_view name) {
  if (nb::hasattr(object, "mask") && nb::hasattr(object, "filled")) {
    throw nb::type_error(
        fmt::format("{} is a masked array, and the values below its mask would be taken: fill them "
                    "in with .filled(0)",
                    name)
            .c_str());
  }
  nb::ndarray<nb::ro> array;
  if (!nb::try_cast(object, array, false)) {
    // An array of another byte order, or of something else than numbers.
    const std::string found = nb::hasattr(object, "dtype")
                                  ? fmt::format("one of {}", nb::repr(object.attr("dtype")).c_str())
                                  : nb::type_name(object.type()).c_str();
    throw nb::type_error(fmt::format("{}: wanted a one-dimensional array of float32, got {}; "
                                     "numpy.asarray(..., dtype=\"float32\") makes one",
                                     name, found)
                             .c_str());
  }
  if (array.device_type() != nb::device::cpu::value) {
    throw nb::value_error(
        fmt::format("{} is in the memory of an accelerator: copy it to the processor's first", name)
            .c_str());
  }
  if (array.ndim() != 1) {
    throw nb::value_error(
        fmt::format("{} has {} dimensions: wanted one. Flatten it", name, array.ndim()).c_str());
  }
  const bool is_double = array.dtype() == nb::dtype<double>();
  const size_t alignment = is_double ? alignof(double) : alignof(float);
  if (reinterpret_cast<uintptr_t>(array.data()) % alignment != 0) {
    throw nb::value_error(
        fmt::format("{} is not aligned in memory: copy it with .copy()", name).c_str());
  }
  if (is_double || array.dtype() == nb::dtype<float>()) return array;
  throw nb::type_error(
      fmt::format("{} holds values that are not float32 or float64: convert it with "
                  ".astype(\"float32\") if that is meant",
                  name)
          .c_str());
}

void CopyFloats(const nb::ndarray<nb::ro>& array, std::span<float> values) {
  if (array.dtype() == nb::dtype<float>()) return Copy<float>(array, values);
  Copy<double>(array, values);
}

std::vector<float> FloatsOf(nb::handle object, std::string_view name) {
  const nb::ndarray<nb::ro> array = ArrayOfFloats(object, name);
  const size_t size = array.shape(0);
  if (array.dtype() == nb::dtype<float>() && array.stride(0) == 1) {
    // Not filled with zeros first.
    const float* const first = static_cast<const float*>(array.data());
    return Copied(size, [&] { return std::vector<float>(first, first + size); });
  }
  std::vector<float> values(size);
  CopyFloats(array, values);
  return values;
}

nb::ndarray<nb::numpy, double, nb::ndim<1>> ArrayOf(std::vector<double> values) {
  return Owned(std::move(values));
}

nb::ndarray<nb::numpy, float, nb::ndim<1>> ArrayOf(std::vector<float> values) {
  return Owned(std::move(values));
}

nb::bytes BytesOf(std::span<const uint8_t> bytes) { return nb::bytes(bytes.data(), bytes.size()); }

template <size_t kLength>
std::array<uint8_t, kLength> FixedBytesOf(const nb::bytes& bytes, std::string_view name) {
  if (bytes.size() != kLength) {
    throw nb::value_error(
        fmt::format("{} has {} bytes: wanted {}, give it unchanged", name, bytes.size(), kLength)
            .c_str());
  }
  std::array<uint8_t, kLength> fixed{};
  std::ranges::copy(SpanOf(bytes), fixed.begin());
  return fixed;
}

template std::array<uint8_t, 16> FixedBytesOf<16>(const nb::bytes&, std::string_view);
template std::array<uint8_t, 32> FixedBytesOf<32>(const nb::bytes&, std::string_view);

}  // namespace tacet::python
