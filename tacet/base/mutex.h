// Mutex, scoped lock and condition variable that clang checks while it compiles.
//
// A member marked ABSL_GUARDED_BY(mutex_) can be used only where the compiler sees that the thread
// holds mutex_. A function marked ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) can be called only there.
// Clang reports everything else under -Wthread-safety (cmake/TacetToolchain.cmake); other compilers
// ignore the marks. docs/design/structure.md says why these are not Abseil's classes.
#ifndef TACET_BASE_MUTEX_H_
#define TACET_BASE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"  // IWYU pragma: export

namespace tacet::base {

// A std::mutex.
class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

  // Tells the analysis that the calling thread holds the mutex, without checking it. For a lambda
  // that is called under the lock by a function that does not name the lock.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {}

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a mutex until the end of the scope.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  [[nodiscard]] explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() {
    if (held_) mutex_.Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  // Releases it for a part of the scope, and takes it again.
  void Unlock() ABSL_UNLOCK_FUNCTION() {
    held_ = false;
    mutex_.Unlock();
  }
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    mutex_.Lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// A std::condition_variable. A wait may end without a signal, so the caller loops:
//   while (!ready_) changed_.Wait(mutex_);
class CondVar {
 public:
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    changed_.wait(lock);
    lock.release();
  }
  // Until `time` at the latest. A change of the wall clock does not move that time.
  void WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point time)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    changed_.wait_until(lock, time);
    lock.release();
  }
  void SignalOne() { changed_.notify_one(); }
  void SignalAll() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace tacet::base

#endif  // TACET_BASE_MUTEX_H_
