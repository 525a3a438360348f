// Scheduler of a server's calls, independent of the transport: decides when each call is read,
// handled, parked and answered.
#ifndef TACET_TRANSPORT_GRPC_CALL_DESK_H_
#define TACET_TRANSPORT_GRPC_CALL_DESK_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
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

  // Under the desk's mutex. Who sets kAnswering answers.
  State state_ = State::kWaiting;
  bool cancelled_ = false;
  std::list<DeskCall*>::iterator place_;                // of kWaiting and kParked in their lists
  std::optional<std::list<DeskCall*>::iterator> turn_;  // in `working_`
  Clock::time_point since_;                             // it is read, parked, answered
};

// Thread-safe. Calls of DeskCall's functions are made without any lock.
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
  void AnswerOrKeep(Calls due, bool all);

  // Under mutex_.
  absl::Status Admit(const DeskCall& call);
  void TakeTurn(DeskCall* call);
  DeskCall* EndTurn(DeskCall* call);  // returns whose turn it is now, if anybody's: to be read
  Calls TakeDue();
  std::vector<std::function<void()>> CuttersOfSlow();
  Clock::time_point NextLook() const;

  const GrpcServerSpec spec_;
  server::RequestHandler& handler_;

  mutable std::mutex mutex_;
  std::condition_variable work_comes_, watch_, none_left_;
  size_t calls_ = 0;
  std::unordered_map<std::string, size_t> calls_of_client_;
  Calls waiting_, working_, parked_;  // each in the order in which they came there
  std::deque<DeskCall*> to_handle_;
  uint64_t news_ = 0;    // how often there was some
  uint64_t looked_ = 0;  // up to which of it parked calls were looked at
  bool draining_ = false;
  bool ending_ = false;

  std::vector<std::thread> workers_;
  std::thread watcher_;
};

}  // namespace tacet::transport::grpc

#endif  // TACET_TRANSPORT_GRPC_CALL_DESK_H_
