// Fixed pool of threads that waits for sockets and times.
#ifndef TACET_TRANSPORT_HTTP_EVENT_LOOP_H_
#define TACET_TRANSPORT_HTTP_EVENT_LOOP_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"

#include "tacet/transport/http/descriptor.h"

namespace tacet::transport::http {

// Event that a waiter waits for in addition to a time and a call.
enum class Direction : uint8_t { kNone, kRead, kWrite };

// Reason for which a wait ended.
enum class Wake : uint8_t {
  kReady,   // the descriptor can be read, or written
  kLate,    // the time has come
  kCalled,  // somebody called
};

// One descriptor and the single activity that waits for it. Callbacks run on threads of the loop,
// one at a time.
class Waiter {
 public:
  using Clock = std::chrono::steady_clock;
  using Callback = std::function<void(Wake)>;

  virtual ~Waiter() = default;  // closes the descriptor

  virtual int descriptor() const = 0;
  // Calls `then` once. To be called by a callback, which then returns.
  virtual void Await(Direction direction, Clock::time_point until, Callback then) = 0;
  // Calls `then` with kReady after everything else that is due now. The first callback comes from
  // here.
  virtual void Yield(Callback then) = 0;
  // Ends the wait in progress, otherwise the next one. Thread-safe.
  virtual void Call() = 0;
};

// Thread-safe.
class EventLoop {
 public:
  explicit EventLoop(size_t threads);
  // After the last waiter is gone.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Unavailable when the system cannot watch another descriptor.
  absl::StatusOr<std::shared_ptr<Waiter>> Watch(Descriptor descriptor);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_EVENT_LOOP_H_
