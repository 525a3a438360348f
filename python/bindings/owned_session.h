// A session of the library that several Python threads may reach.
#ifndef TACET_PYTHON_BINDINGS_OWNED_SESSION_H_
#define TACET_PYTHON_BINDINGS_OWNED_SESSION_H_

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/status/status.h"

#include "python/bindings/errors.h"
#include "python/bindings/interpreter_lock.h"

namespace tacet::python {

// Lets one thread at a time into a session that is not thread-safe. Waits without Python's lock, so
// a session that calls Python cannot wait for a thread that waits for the session.
template <typename Session>
class OwnedSession {
 public:
  explicit OwnedSession(Session session) : session_(std::move(session)) {}

  // The result of `call(session)`, without Python's lock. StatusError when a call of Python from
  // inside the session enters it a second time.
  template <typename Call>
  auto Run(const Call& call) {
    if (inside_.load() == std::this_thread::get_id()) {
      throw StatusError(absl::FailedPreconditionError(
          "the object was called from its own journal: let the journal only store and find"));
    }
    const ReleasedLock released;
    const std::lock_guard<std::mutex> lock(mutex_);
    const Inside inside(inside_);
    return call(session_);
  }

 private:
  class Inside {
   public:
    explicit Inside(std::atomic<std::thread::id>& inside) : inside_(inside) {
      inside_ = std::this_thread::get_id();
    }
    ~Inside() { inside_ = std::thread::id(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    std::atomic<std::thread::id>& inside_;
  };

  std::mutex mutex_;
  std::atomic<std::thread::id> inside_ = std::thread::id();
  Session session_;
};

}  // namespace tacet::python

#endif  // TACET_PYTHON_BINDINGS_OWNED_SESSION_H_
