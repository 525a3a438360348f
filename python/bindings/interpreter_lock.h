// Python's global lock (GIL), released while the library computes and taken for calls of Python.
#ifndef TACET_PYTHON_BINDINGS_INTERPRETER_LOCK_H_
#define TACET_PYTHON_BINDINGS_INTERPRETER_LOCK_H_

#include <cxxabi.h>
#include <unistd.h>

#include "nanobind/nanobind.h"

namespace tacet::python {

// Python up to 3.13 ends a thread that asks for its lock after the interpreter began to exit, by
// unwinding its stack. That stack holds frames of C++ that must not be unwound so; such a thread
// waits here until the process is gone.
template <typename Call>
void CallOrWaitForExit(const Call& call) noexcept {
  try {
    call();
  } catch (const abi::__forced_unwind&) {
    for (;;) ::pause();
  }
}

// Releases the lock for its lifetime. The thread must hold it.
class ReleasedLock {
 public:
  ReleasedLock() : state_(PyEval_SaveThread()) {}
  ~ReleasedLock() {
    CallOrWaitForExit([this] { PyEval_RestoreThread(state_); });
  }
  ReleasedLock(const ReleasedLock&) = delete;
  ReleasedLock& operator=(const ReleasedLock&) = delete;

 private:
  PyThreadState* state_;
};

// Holds the lock for its lifetime, on any thread.
class HeldLock {
 public:
  HeldLock() noexcept {
    CallOrWaitForExit([this] { state_ = PyGILState_Ensure(); });
  }
  ~HeldLock() { PyGILState_Release(state_); }
  HeldLock(const HeldLock&) = delete;
  HeldLock& operator=(const HeldLock&) = delete;

 private:
  PyGILState_STATE state_ = PyGILState_UNLOCKED;
};

// The result of `call`, computed without the lock.
template <typename Call>
auto WithoutLock(const Call& call) {
  const ReleasedLock released;
  return call();
}

}  // namespace tacet::python

#endif  // TACET_PYTHON_BINDINGS_INTERPRETER_LOCK_H_
