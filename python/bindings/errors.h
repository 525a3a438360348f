// Statuses of the library as Python exceptions.
#ifndef TACET_PYTHON_BINDINGS_ERRORS_H_
#define TACET_PYTHON_BINDINGS_ERRORS_H_

#include <exception>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

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

template <typename T>
T ValueOrThrow(absl::StatusOr<T> value) {
  ThrowIfError(value.status());
  return *std::move(value);
}

// Makes every StatusError an exception of tacet.errors.
void BindErrors(nanobind::module_& module);

}  // namespace tacet::python

#endif  // TACET_PYTHON_BINDINGS_ERRORS_H_
