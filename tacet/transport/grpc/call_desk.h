// Scheduler of a server's calls, independent of the transport: decides when each call is read,
// handled, parked and answered.
#ifndef TACET_TRANSPORT_GRPC_CALL_DESK_H_
#define TACET_TRANSPORT_GRPC_CALL_DESK_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/mutex.h"
#include "tacet/server/request_handler.h"
#include "tacet/transport/grpc/grpc_server.h"

namespace tacet::transport::grpc {

// A call. It waits until it is its turn, is read, is handled by a worker and answered. A turn is
// one of GrpcServerSpec::calls and ends with the call, or when it is parked: without a notification
// it is answered later, and that needs little memory.
class DeskCall {
 public:
  // `certificate_name` as for RequestHandler::Handle.
  explicit DeskCall(std::optional<std::string> certificate_name)
      : certificate_name_(std::move(certificate_name)) {}
  virtual ~DeskCall() = default;
  DeskCall(const DeskCall&) = delete;
  DeskCall& operator=(const DeskCall&) = delete;

 protected:
  // Reads the request. CallDesk::HasRead follows.
  virtual void Read() = 0;
  // The request that was read.
  virtual absl::StatusOr<std::string> TakeRequest() = 0;
  // Called once. CallDesk::Done follows; until then the call exists.
  virtual void Answer(absl::StatusOr<base::Bytes> answer) = 0;
  // Function that cuts the call off, whether it still exists or not.
  virtual std::function<void()> Cutter() = 0;

 private:
  friend class CallDesk;
  enum class State { kWaiting, kReading, kHandling, kParked, kLookedAt, kAnswering };
  using Clock = std::chrono::steady_clock;

  const std::optional<std::string> certificate_name_;
  server::Waiting waits_for_;

  // Who sets kAnswering answers.
  struct Progress {
    State state = State::kWaiting;
    bool cancelled = false;
    std::list<DeskCall*>::iterator place;                // of kWaiting and kParked in their lists
    std::optional<std::list<DeskCall*>::iterator> turn;  // in `working_`
    Clock::time_point since;                             // it is read, parked, answered
  };
  Progress progress_;  // through CallDesk::Of only
};

// Thread-safe. Calls of DeskCall's functions but Cutter are made without any lock.
class CallDesk {
 public:
  // `handler` must outlive it.
  CallDesk(const GrpcServerSpec& spec, server::RequestHandler& handler);
  ~CallDesk();  // after the last Done
  CallDesk(const CallDesk&) = delete;
  CallDesk& operator=(const CallDesk&) = delete;

  // Events of a call, in this order; Cancelled at any time between Arrive and Done.
  void Arrive(DeskCall* call);
  void HasRead(DeskCall* call, bool ok);
  void Cancelled(DeskCall* call);
  void Done(DeskCall* call);

  void News();
  void Drain();      // refuses what comes, answers what is parked
  void AwaitDone();  // until there is no call
  GrpcServerLoad Load() const;

 private:
  using Clock = DeskCall::Clock;
  using State = DeskCall::State;
  using Calls = std::list<DeskCall*>;

  // Of the workers.
  void Work();
  void Handle(DeskCall* call);
  void Park(DeskCall* call, uint64_t news_before);

  // Of the thread that looks after the calls that nobody has in hand.
  void Watch();
  // Answers the first `late` of them, and of the others those for which there is news.
  void AnswerOrKeep(Calls due, size_t late);

  // Under mutex_.
  DeskCall::Progress& Of(DeskCall* call) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return call->progress_;
  }
  absl::Status Admit(const DeskCall& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeTurn(DeskCall* call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whose turn it is now, if anybody's: to be read.
  DeskCall* EndTurn(DeskCall* call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Parked calls to look at, and how many of them, the first ones, are answered in any case.
  struct Due {
    Calls calls;
    size_t late = 0;
  };
  Due TakeDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::function<void()>> CuttersOfSlow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Clock::time_point NextLook() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const GrpcServerSpec spec_;
  server::RequestHandler& handler_;

  mutable base::Mutex mutex_;
  base::CondVar work_comes_, watch_, none_left_;
  size_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, size_t> calls_of_client_ ABSL_GUARDED_BY(mutex_);
  // Each in the order in which they came there.
  Calls waiting_ ABSL_GUARDED_BY(mutex_);
  Calls working_ ABSL_GUARDED_BY(mutex_);
  Calls parked_ ABSL_GUARDED_BY(mutex_);
  std::deque<DeskCall*> to_handle_ ABSL_GUARDED_BY(mutex_);
  uint64_t news_ ABSL_GUARDED_BY(mutex_) = 0;    // how often there was some
  uint64_t looked_ ABSL_GUARDED_BY(mutex_) = 0;  // up to which of it parked calls were looked at
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;

  std::vector<std::thread> workers_;
  std::thread watcher_;
};

}  // namespace tacet::transport::grpc

#endif  // TACET_TRANSPORT_GRPC_CALL_DESK_H_
