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
    const base::MutexLock lock(mutex_);
    ending_ = true;
    watch_.Signal();
    work_comes_.SignalAll();
  }
  for (std::thread& worker : workers_) worker.join();
  watcher_.join();
}

void CallDesk::Arrive(DeskCall* call) {
  absl::Status admitted;
  {
    const base::MutexLock lock(mutex_);
    ++calls_;
    if (call->certificate_name_.has_value()) ++calls_of_client_[*call->certificate_name_];
    admitted = Admit(*call);
    if (!admitted.ok()) {
      Of(call).state = State::kAnswering;
    } else if (working_.size() < spec_.calls) {
      TakeTurn(call);
    } else {
      Of(call).place = waiting_.insert(waiting_.end(), call);
      watch_.Signal();
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
    const base::MutexLock lock(mutex_);
    Of(call).state = ok ? State::kHandling : State::kAnswering;
    if (ok) {
      to_handle_.push_back(call);
      work_comes_.Signal();
      return;
    }
  }
  call->Answer(base::InvalidArgument("the call ended before its request"));
}

void CallDesk::Cancelled(DeskCall* call) {
  {
    const base::MutexLock lock(mutex_);
    Of(call).cancelled = true;
    // Otherwise somebody has it in hand, and will notice.
    if (Of(call).state != State::kWaiting && Of(call).state != State::kParked) return;
    (Of(call).state == State::kWaiting ? waiting_ : parked_).erase(Of(call).place);
    Of(call).state = State::kAnswering;
  }
  call->Answer(absl::CancelledError());
}

void CallDesk::Done(DeskCall* call) {
  DeskCall* next = nullptr;
  {
    const base::MutexLock lock(mutex_);
    next = EndTurn(call);
    if (const auto& name = call->certificate_name_;
        name.has_value() && --calls_of_client_[*name] == 0) {
      calls_of_client_.erase(*name);
    }
    if (--calls_ == 0) none_left_.SignalAll();
  }
  if (next != nullptr) next->Read();
}

void CallDesk::TakeTurn(DeskCall* call) {
  Of(call).state = State::kReading;
  Of(call).since = Clock::now();
  Of(call).turn = working_.insert(working_.end(), call);
}

DeskCall* CallDesk::EndTurn(DeskCall* call) {
  if (!Of(call).turn.has_value()) return nullptr;
  working_.erase(*Of(call).turn);
  Of(call).turn.reset();
  if (waiting_.empty()) return nullptr;
  DeskCall* const next = waiting_.front();
  waiting_.pop_front();
  TakeTurn(next);
  return next;
}

void CallDesk::Work() {
  base::MutexLock lock(mutex_);
  while (true) {
    while (!ending_ && to_handle_.empty()) work_comes_.Wait(mutex_);
    if (to_handle_.empty()) return;
    DeskCall* const call = to_handle_.front();
    to_handle_.pop_front();
    lock.Unlock();
    Handle(call);
    lock.Lock();
  }
}

void CallDesk::Handle(DeskCall* call) {
  uint64_t news_before = 0;
  {
    const base::MutexLock lock(mutex_);
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
    const base::MutexLock lock(mutex_);
    Of(call).state = State::kAnswering;
    Of(call).since = Clock::now();
  }
  if (!result.ok()) return call->Answer(result.status());
  call->Answer(std::get<base::Bytes>(*std::move(result)));
}

void CallDesk::Park(DeskCall* call, uint64_t news_before) {
  DeskCall* next = nullptr;
  bool parked = false;
  {
    const base::MutexLock lock(mutex_);
    next = EndTurn(call);
    parked = !Of(call).cancelled;
    Of(call).state = parked ? State::kParked : State::kAnswering;
    if (parked) {
      Of(call).since = Clock::now();
      Of(call).place = parked_.insert(parked_.end(), call);
      // A notification that came while the handler said that there was none.
      if (news_ != news_before) looked_ = news_ - 1;
      watch_.Signal();
    }
  }
  if (next != nullptr) next->Read();
  if (!parked) call->Answer(absl::CancelledError());
}

void CallDesk::News() {
  const base::MutexLock lock(mutex_);
  ++news_;
  watch_.Signal();
}

void CallDesk::Drain() {
  const base::MutexLock lock(mutex_);
  draining_ = true;
  watch_.Signal();
}

void CallDesk::AwaitDone() {
  const base::MutexLock lock(mutex_);
  while (calls_ > 0) none_left_.Wait(mutex_);
}

GrpcServerLoad CallDesk::Load() const {
  const base::MutexLock lock(mutex_);
  return {.working = working_.size(), .waiting = waiting_.size(), .parked = parked_.size()};
}

void CallDesk::Watch() {
  base::MutexLock lock(mutex_);
  while (!ending_) {
    Due due = TakeDue();
    const std::vector<std::function<void()>> cutters = CuttersOfSlow();
    if (due.calls.empty() && cutters.empty()) {
      watch_.WaitUntil(mutex_, NextLook());
      continue;
    }
    lock.Unlock();
    for (const std::function<void()>& cut : cutters) cut();
    AnswerOrKeep(std::move(due.calls), due.late);
    lock.Lock();
  }
}

CallDesk::Due CallDesk::TakeDue() {
  Due due;
  auto end = parked_.begin();
  const Clock::time_point oldest = Clock::now() - spec_.patience;
  for (; end != parked_.end() && (draining_ || Of(*end).since <= oldest); ++end) ++due.late;
  if (looked_ != news_) end = parked_.end();
  looked_ = news_;
  due.calls.splice(due.calls.end(), parked_, parked_.begin(), end);
  for (DeskCall* const call : due.calls) Of(call).state = State::kLookedAt;
  return due;
}

void CallDesk::AnswerOrKeep(Calls due, size_t late) {
  std::erase_if(due, [&](DeskCall* call) {
    const bool is_late = late > 0;
    if (is_late) --late;
    if (!is_late && !handler_.IsNews(call->waits_for_)) return false;
    call->Answer(handler_.Answer(call->waits_for_));
    return true;
  });
  Calls cancelled;
  {
    const base::MutexLock lock(mutex_);
    for (auto at = due.begin(); at != due.end();) {
      const auto call = at++;
      DeskCall::Progress& progress = Of(*call);
      progress.state = progress.cancelled ? State::kAnswering : State::kParked;
      if (progress.cancelled) cancelled.splice(cancelled.end(), due, call);
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
    if (Of(call).state == State::kHandling || now - Of(call).since < spec_.slowness) continue;
    Of(call).since = now;  // once is enough
    cutters.push_back(call->Cutter());
  }
  return cutters;
}

CallDesk::Clock::time_point CallDesk::NextLook() const {
  const Clock::time_point now = Clock::now();
  Clock::time_point next = now + (waiting_.empty() ? kLongLook : kLookWhileWaiting);
  if (!parked_.empty()) next = std::min(next, Of(parked_.front()).since + spec_.patience);
  return next;
}

}  // namespace tacet::transport::grpc
