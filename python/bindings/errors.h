// Statuses of the library as Python exceptions.
#ifndef TACET_PYTHON_BINDINGS_ERRORS_H_
#define TACET_PYTHON_BINDINGS_ERRORS_H_

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fmt/core.h"

#include "nanobind/nanobind.h"

namespace tacet::python {

// A status on its way to Python, where it becomes the class of tacet.errors for its code.
class StatusError : public std::exception {
 public:
  explicit StatusError(absl::Status status)
      : status_(std::move(status)), text_(status_.message()) {}

  const absl::Status& status() const { return status_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  absl::Status status_;
  std::string text_;
};

inline void ThrowIfError(absl::Status status) {
  if (!status.ok()) throw StatusError(std::move(status));
}

// The same for a call that reads messages of others: what is damaged in them, and then `remedy`.
inline void ThrowIfError(absl::Status status, std::string_view remedy) {
  if (status.code() != absl::StatusCode::kDataLoss) return ThrowIfError(std::move(status));
  throw StatusError(
      absl::DataLossError(fmt::format("{}; {}", std::string(status.message()), remedy)));
}

template <typename T>
T ValueOrThrow(absl::StatusOr<T> value) {
  ThrowIfError(value.status());
  return *std::move(value);
}

template <typename T>
T ValueOrThrow(absl::StatusOr<T> value, std::string_view remedy) {
  ThrowIfError(value.status(), remedy);
  return *std::move(value);
}

// Makes every StatusError an exception of tacet.errors.
void BindErrors(nanobind::module_& module);

}  // namespace tacet::python

#endif  // TACET_PYTHON_BINDINGS_ERRORS_H_
