#include "python/bindings/errors.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;

const char* ClassOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return "InvalidArgumentError";
    case absl::StatusCode::kNotFound:
      return "NotFoundError";
    case absl::StatusCode::kAlreadyExists:
      return "AlreadyExistsError";
    case absl::StatusCode::kFailedPrecondition:
      return "FailedPreconditionError";
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return "PermissionDeniedError";
    case absl::StatusCode::kDataLoss:
      return "DataLossError";
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return "UnavailableError";
    case absl::StatusCode::kResourceExhausted:
      return "BudgetError";
    case absl::StatusCode::kCancelled:
      return "CancelledError";
    default:
      return "InternalError";
  }
}

}  // namespace

void BindErrors(nb::module_& /*module*/) {
  nb::register_exception_translator([](const std::exception_ptr& error, void* /*payload*/) {
    try {
      std::rethrow_exception(error);
    } catch (const StatusError& failed) {
      try {
        // Looked up here and kept nowhere: no Python object outlives the interpreter.
        const nb::object type =
            nb::module_::import_("tacet.errors").attr(ClassOf(failed.status().code()));
        PyErr_SetString(type.ptr(), failed.what());
      } catch (nb::python_error& missing) {
        missing.restore();
      }
    }
  });
}

}  // namespace tacet::python
