// Arrays and byte strings between Python and the library.
#ifndef TACET_PYTHON_BINDINGS_ARRAYS_H_
#define TACET_PYTHON_BINDINGS_ARRAYS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "nanobind/nanobind.h"
#include "nanobind/ndarray.h"
#include "tacet/types.h"

namespace tacet::python {

// A one-dimensional array of float32 or float64 in the processor's memory: of NumPy, or of anything
// that speaks DLPack. TypeError and ValueError name `name`, and the type or shape that was found.
nanobind::ndarray<nanobind::ro> ArrayOfFloats(nanobind::handle array, std::string_view name);

// Copies such an array of `values`' size, before anything is done with it: another thread may write
// to the array while the library reads it, and a value that was clipped must be the one sealed.
void CopyFloats(const nanobind::ndarray<nanobind::ro>& array, std::span<float> values);

// Copy of such an array, with the errors of ArrayOfFloats.
std::vector<float> FloatsOf(nanobind::handle array, std::string_view name);

// A NumPy array that owns `values`, without a copy.
nanobind::ndarray<nanobind::numpy, double, nanobind::ndim<1>> ArrayOf(std::vector<double> values);
nanobind::ndarray<nanobind::numpy, float, nanobind::ndim<1>> ArrayOf(std::vector<float> values);

nanobind::bytes BytesOf(std::span<const uint8_t> bytes);

// The bytes of a Python object, which is immutable; valid as long as the object.
inline std::span<const uint8_t> SpanOf(const nanobind::bytes& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.c_str()), bytes.size()};
}

inline Bytes CopyOf(const nanobind::bytes& bytes) {
  const std::span<const uint8_t> span = SpanOf(bytes);
  return Bytes(span.begin(), span.end());
}
inline std::vector<Bytes> CopiesOf(const std::vector<nanobind::bytes>& messages) {
  std::vector<Bytes> copies;
  copies.reserve(messages.size());
  for (const nanobind::bytes& message : messages) copies.push_back(CopyOf(message));
  return copies;
}

// ValueError for another length.
template <size_t kLength>
std::array<uint8_t, kLength> FixedBytesOf(const nanobind::bytes& bytes, std::string_view name);

}  // namespace tacet::python

#endif  // TACET_PYTHON_BINDINGS_ARRAYS_H_
