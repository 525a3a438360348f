// Calls of Python from threads of the library, and what they raised.
#ifndef TACET_PYTHON_BINDINGS_PYTHON_CALLS_H_
#define TACET_PYTHON_BINDINGS_PYTHON_CALLS_H_

#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"

#include "nanobind/nanobind.h"
#include "python/bindings/errors.h"
#include "python/bindings/interpreter_lock.h"

namespace tacet::python {

// Objects that the library calls. The last copy may go away on any thread.
class PythonObject {
 public:
  explicit PythonObject(nanobind::object object)
      : object_(new nanobind::object(std::move(object)), [](nanobind::object* kept) {
          const HeldLock held;
          if (held.taken()) delete kept;
        }) {}

  // Needs Python's lock.
  const nanobind::object& get() const { return *object_; }

 private:
  std::shared_ptr<nanobind::object> object_;
};

// `function(arguments)`. Where Python ends this thread inside of it, since the interpreter exits,
// the thread waits: unwinding further would release Python objects without the lock.
template <typename... Arguments>
nanobind::object CallFunction(nanobind::handle function, Arguments&&... arguments) {
  const nanobind::tuple all = nanobind::make_tuple(std::forward<Arguments>(arguments)...);
  PyObject* result = nullptr;
  CallOrWaitForExit([&result, called = function.ptr(), passed = all.ptr()] {
    result = PyObject_CallObject(called, passed);
  });
  if (result == nullptr) throw nanobind::python_error();
  return nanobind::steal(result);
}

// The calls of one use of the library. Thread-safe; copies share what was raised.
class PythonCalls {
 public:
  // Runs `call` under Python's lock; it calls functions by CallFunction. The first exception is
  // kept for the thread that called the library; the library sees an error.
  template <typename Call>
  absl::Status Run(const Call& call) const {
    const HeldLock held;
    if (!held.taken()) return absl::CancelledError("the Python interpreter exits");
    try {
      call();
    } catch (const StatusError& failed) {
      Keep();
      return failed.status();
    } catch (const std::exception& failed) {
      Keep();
      return absl::UnknownError(failed.what());
    }
    return absl::OkStatus();
  }

  // Needs Python's lock.
  void ThrowIfOneRaised() const {
    std::exception_ptr raised;
    {
      const std::lock_guard<std::mutex> lock(kept_->mutex);
      raised = std::exchange(kept_->raised, nullptr);
    }
    if (raised) std::rethrow_exception(raised);
  }

 private:
  struct Kept {
    std::mutex mutex;
    std::exception_ptr raised;
    ~Kept() {
      if (!raised) return;
      const HeldLock held;
      if (!held.taken())
        new std::exception_ptr(std::move(raised));  // its object has no interpreter
      raised = nullptr;
    }
  };

  void Keep() const {
    const std::lock_guard<std::mutex> lock(kept_->mutex);
    if (!kept_->raised) kept_->raised = std::current_exception();
  }

  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

}  // namespace tacet::python

#endif  // TACET_PYTHON_BINDINGS_PYTHON_CALLS_H_
