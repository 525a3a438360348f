// Python's global lock (GIL), released while the library computes and taken for calls of Python.
#ifndef TACET_PYTHON_BINDINGS_INTERPRETER_LOCK_H_
#define TACET_PYTHON_BINDINGS_INTERPRETER_LOCK_H_

#include <cxxabi.h>
#include <unistd.h>

#include "nanobind/nanobind.h"

namespace tacet::python {

// Python up to 3.13 ends a thread that asks for its lock after the interpreter began to exit, by
// unwinding its stack, and crashes when the interpreter is gone. The stack holds frames of C++ that
// must not be unwound so. A thread that comes too late waits until the process is gone.

// Registers with `atexit` what must happen before the interpreter goes. Calls of Python are refused
// from then on, so that simulations end. No thread is on its way to the lock afterwards, and none
// computes, unless it takes longer than ten seconds: libcrypto is gone when the process exits.
void BindExit(nanobind::module_& module);

// Whether the interpreter has begun to exit.
bool InterpreterExits();

// Runs `call`, which Python may unwind.
template <typename Call>
void CallOrWaitForExit(const Call& call) noexcept {
  try {
    call();
  } catch (const abi::__forced_unwind&) {
    for (;;) ::pause();
  }
}

// Releases the lock for its lifetime. The thread must hold it. While the interpreter exits, the
// lock is kept: no other thread would take it.
class ReleasedLock {
 public:
  ReleasedLock();
  ~ReleasedLock();
  ReleasedLock(const ReleasedLock&) = delete;
  ReleasedLock& operator=(const ReleasedLock&) = delete;

 private:
  PyThreadState* state_;
};

// Holds the lock for its lifetime, on any thread; also on one that holds it. Does not take it once
// the interpreter exits.
class HeldLock {
 public:
  HeldLock();
  ~HeldLock() {
    if (taken_) PyGILState_Release(state_);
  }
  HeldLock(const HeldLock&) = delete;
  HeldLock& operator=(const HeldLock&) = delete;

  bool taken() const { return taken_; }

 private:
  bool taken_ = true;
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
