#include "python/bindings/interpreter_lock.h"

#include <chrono>
#include <mutex>
#include <thread>

#include <pthread.h>

namespace tacet::python {
namespace {

namespace nb = nanobind;

constexpr auto kLongestWait = std::chrono::seconds(10);

// Threads on their way to the lock, threads that compute without it, and whether the way is closed.
std::mutex door;
bool closed = false;
int on_the_way = 0;
int computing = 0;

bool Enter() {
  const std::lock_guard<std::mutex> lock(door);
  if (!closed) ++on_the_way;
  return !closed;
}

void Leave() {
  const std::lock_guard<std::mutex> lock(door);
  --on_the_way;
}

void CountComputing(int change) {
  const std::lock_guard<std::mutex> lock(door);
  computing += change;
}

// Whether this thread holds the lock. Needs an interpreter.
bool IsHeld() {
#ifdef Py_LIMITED_API
  // PyGILState_Check is not in the stable ABI. From Python 3.12 on, a thread has a current thread
  // state, and so a dictionary, exactly while it holds the lock.
  return PyThreadState_GetDict() != nullptr;
#else
  return PyGILState_Check() != 0;
#endif
}

void CloseDoor() {
  {
    const std::lock_guard<std::mutex> lock(door);
    closed = true;
  }
  PyThreadState* const state = PyEval_SaveThread();
  const auto latest = std::chrono::steady_clock::now() + kLongestWait;
  for (;;) {
    {
      const std::lock_guard<std::mutex> lock(door);
      const bool late = std::chrono::steady_clock::now() > latest;
      if (on_the_way == 0 && (computing <= 0 || late)) break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  PyEval_RestoreThread(state);
}

// A child of fork() has one thread: the others are neither on the way nor computing. The thread
// that forked may still return from a computation that was counted.
void CountAgainInChild() {
  on_the_way = 0;
  computing = 0;
  door.unlock();
}

}  // namespace

void BindExit(nb::module_& /*module*/) {
  pthread_atfork([] { door.lock(); }, [] { door.unlock(); }, &CountAgainInChild);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&CloseDoor));
}

bool InterpreterExits() {
  const std::lock_guard<std::mutex> lock(door);
  return closed;
}

ReleasedLock::ReleasedLock() : state_(nullptr) {
  if (InterpreterExits()) return;
  CountComputing(1);
  state_ = PyEval_SaveThread();
}

ReleasedLock::~ReleasedLock() {
  if (state_ == nullptr) return;
  CallOrWaitForExit([this] {
    const bool entered = Enter();
    CountComputing(-1);
    while (!entered) ::pause();
    PyEval_RestoreThread(state_);
    Leave();
  });
}

HeldLock::HeldLock() {
  // Without an interpreter nobody holds its lock.
  if (Py_IsInitialized() != 0 && IsHeld()) {
    state_ = PyGILState_Ensure();
    return;
  }
  taken_ = Enter();
  if (!taken_) return;
  CallOrWaitForExit([this] { state_ = PyGILState_Ensure(); });
  Leave();
}

}  // namespace tacet::python
