#include "tacet/transport/grpc/call_desk.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "tacet/base/status.h"

namespace tacet::transport::grpc {
namespace {

using server::Waiting;

constexpr size_t kMaxWorkers = 8;
// How often the watching thread wakes up by itself: seldom, unless calls wait for slow ones.
constexpr auto kLongLook = std::chrono::seconds(3600);
constexpr auto kLookWhileWaiting = std::chrono::seconds(1);

size_t Workers() { return std::clamp<size_t>(std::thread::hardware_concurrency(), 2, kMaxWorkers); }

}  // namespace

CallDesk::CallDesk(const GrpcServerSpec& spec, server::RequestHandler& handler)
    : spec_(spec), handler_(handler) {
  for (size_t i = 0; i < Workers(); ++i) workers_.emplace_back([this] { Work(); });
  watcher_ = std::thread([this] { Watch(); });
}

CallDesk::~CallDesk() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    watch_.notify_one();
    work_comes_.notify_all();
  }
  for (std::thread& worker : workers_) worker.join();
  watcher_.join();
}

void CallDesk::Arrive(DeskCall* call) {
  absl::Status admitted;
  {
    const std::lock_guard lock(mutex_);
    ++calls_;
    if (call->certificate_name_.has_value()) ++calls_of_client_[*call->certificate_name_];
    admitted = Admit(*call);
    if (!admitted.ok()) {
      call->state_ = State::kAnswering;
    } else if (working_.size() < spec_.calls) {
      TakeTurn(call);
    } else {
      call->place_ = waiting_.insert(waiting_.end(), call);
      watch_.notify_one();
      return;
    }
  }
  admitted.ok() ? call->Read() : call->Answer(admitted);
}

absl::Status CallDesk::Admit(const DeskCall& call) {
  if (draining_) return base::Unavailable("the server is about to end");
  if (call.certificate_name_.has_value() &&
      calls_of_client_.at(*call.certificate_name_) > spec_.calls_of_client) {
    return absl::ResourceExhaustedError("too many calls at once with this certificate");
  }
  if (waiting_.size() >= spec_.waiting_calls) {
    return base::Unavailable("the server is busy: come back in a few seconds");
  }
  return absl::OkStatus();
}

void CallDesk::HasRead(DeskCall* call, bool ok) {
  {
    const std::lock_guard lock(mutex_);
    call->state_ = ok ? State::kHandling : State::kAnswering;
    if (ok) {
      to_handle_.push_back(call);
      work_comes_.notify_one();
      return;
    }
  }
  call->Answer(base::InvalidArgument("the call ended before its request"));
}

void CallDesk::Cancelled(DeskCall* call) {
  {
    const std::lock_guard lock(mutex_);
    call->cancelled_ = true;
    // Otherwise somebody has it in hand, and will notice.
    if (call->state_ != State::kWaiting && call->state_ != State::kParked) return;
    (call->state_ == State::kWaiting ? waiting_ : parked_).erase(call->place_);
    call->state_ = State::kAnswering;
  }
  call->Answer(absl::CancelledError());
}

void CallDesk::Done(DeskCall* call) {
  DeskCall* next = nullptr;
  {
    const std::lock_guard lock(mutex_);
    next = EndTurn(call);
    if (const auto& name = call->certificate_name_;
        name.has_value() && --calls_of_client_[*name] == 0) {
      calls_of_client_.erase(*name);
    }
    if (--calls_ == 0) none_left_.notify_all();
  }
  if (next != nullptr) next->Read();
}

void CallDesk::TakeTurn(DeskCall* call) {
  call->state_ = State::kReading;
  call->since_ = Clock::now();
  call->turn_ = working_.insert(working_.end(), call);
}

DeskCall* CallDesk::EndTurn(DeskCall* call) {
  if (!call->turn_.has_value()) return nullptr;
  working_.erase(*call->turn_);
  call->turn_.reset();
  if (waiting_.empty()) return nullptr;
  DeskCall* const next = waiting_.front();
  waiting_.pop_front();
  TakeTurn(next);
  return next;
}

void CallDesk::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_comes_.wait(lock, [this] { return ending_ || !to_handle_.empty(); });
    if (to_handle_.empty()) return;
    DeskCall* const call = to_handle_.front();
    to_handle_.pop_front();
    lock.unlock();
    Handle(call);
    lock.lock();
  }
}

void CallDesk::Handle(DeskCall* call) {
  uint64_t news_before = 0;
  {
    const std::lock_guard lock(mutex_);
    news_before = news_;
  }
  auto result = [&]() -> absl::StatusOr<std::variant<base::Bytes, Waiting>> {
    TACET_ASSIGN_OR_RETURN(const std::string request, call->TakeRequest());
    return handler_.Handle(base::AsBytes(request), call->certificate_name_);
  }();
  if (result.ok() && std::holds_alternative<Waiting>(*result)) {
    call->waits_for_ = std::get<Waiting>(*result);
    return Park(call, news_before);
  }
  {
    const std::lock_guard lock(mutex_);
    call->state_ = State::kAnswering;
    call->since_ = Clock::now();
  }
  if (!result.ok()) return call->Answer(result.status());
  call->Answer(std::get<base::Bytes>(*std::move(result)));
}

void CallDesk::Park(DeskCall* call, uint64_t news_before) {
  DeskCall* next = nullptr;
  bool parked = false;
  {
    const std::lock_guard lock(mutex_);
    next = EndTurn(call);
    parked = !call->cancelled_;
    call->state_ = parked ? State::kParked : State::kAnswering;
    if (parked) {
      call->since_ = Clock::now();
      call->place_ = parked_.insert(parked_.end(), call);
      // A notification that came while the handler said that there was none.
      if (news_ != news_before) looked_ = news_ - 1;
      watch_.notify_one();
    }
  }
  if (next != nullptr) next->Read();
  if (!parked) call->Answer(absl::CancelledError());
}

void CallDesk::News() {
  const std::lock_guard lock(mutex_);
  ++news_;
  watch_.notify_one();
}

void CallDesk::Drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
  watch_.notify_one();
}

void CallDesk::AwaitDone() {
  std::unique_lock lock(mutex_);
  none_left_.wait(lock, [this] { return calls_ == 0; });
}

GrpcServerLoad CallDesk::Load() const {
  const std::lock_guard lock(mutex_);
  return {.working = working_.size(), .waiting = waiting_.size(), .parked = parked_.size()};
}

void CallDesk::Watch() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    Calls due = TakeDue();
    const std::vector<std::function<void()>> cutters = CuttersOfSlow();
    if (due.empty() && cutters.empty()) {
      watch_.wait_until(lock, NextLook());
      continue;
    }
    const bool all = draining_;
    lock.unlock();
    for (const std::function<void()>& cut : cutters) cut();
    AnswerOrKeep(std::move(due), all);
    lock.lock();
  }
}

CallDesk::Calls CallDesk::TakeDue() {
  auto end = parked_.begin();
  if (looked_ != news_ || draining_) {
    end = parked_.end();
  } else {
    const Clock::time_point oldest = Clock::now() - spec_.patience;
    while (end != parked_.end() && (*end)->since_ <= oldest) ++end;
  }
  looked_ = news_;
  Calls due;
  due.splice(due.end(), parked_, parked_.begin(), end);
  for (DeskCall* const call : due) call->state_ = State::kLookedAt;
  return due;
}

void CallDesk::AnswerOrKeep(Calls due, bool all) {
  const Clock::time_point oldest = Clock::now() - spec_.patience;
  std::erase_if(due, [&](DeskCall* call) {
    if (!all && call->since_ > oldest && !handler_.IsNews(call->waits_for_)) return false;
    call->Answer(handler_.Answer(call->waits_for_));
    return true;
  });
  Calls cancelled;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = due.begin(); at != due.end();) {
      const auto call = at++;
      (*call)->state_ = (*call)->cancelled_ ? State::kAnswering : State::kParked;
      if ((*call)->cancelled_) cancelled.splice(cancelled.end(), due, call);
    }
    parked_.splice(parked_.begin(), due);  // they are older than what came meanwhile
  }
  for (DeskCall* const call : cancelled) call->Answer(absl::CancelledError());
}

std::vector<std::function<void()>> CallDesk::CuttersOfSlow() {
  std::vector<std::function<void()>> cutters;
  const Clock::time_point now = Clock::now();
  for (DeskCall* const call : working_) {
    if (cutters.size() == waiting_.size()) break;
    if (call->state_ == State::kHandling || now - call->since_ < spec_.slowness) continue;
    call->since_ = now;  // once is enough
    cutters.push_back(call->Cutter());
  }
  return cutters;
}

CallDesk::Clock::time_point CallDesk::NextLook() const {
  const Clock::time_point now = Clock::now();
  Clock::time_point next = now + (waiting_.empty() ? kLongLook : kLookWhileWaiting);
  if (!parked_.empty()) next = std::min(next, parked_.front()->since_ + spec_.patience);
  return next;
}

}  // namespace tacet::transport::grpc
