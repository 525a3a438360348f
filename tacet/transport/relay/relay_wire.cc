#include "tacet/transport/relay/relay_wire.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/protocol/member_request.h"
#include "tacet/transport/relay/bundle.h"

namespace tacet::transport::relay {

using std::chrono::steady_clock;

absl::StatusOr<base::Bytes> RelayWire::Call(std::span<const uint8_t> request,
                                            uint32_t most_seconds) {
  const std::optional<crypto::Digest> question = protocol::QuestionIn(request);
  std::list<Waiting>::iterator call;
  {
    const base::MutexLock lock(mutex_);
    if (question.has_value() && !stopped_) {
      if (auto pushed = pushed_.extract(*question); !pushed.empty()) {
        return std::move(pushed.mapped());
      }
    }
    call = Park({request.begin(), request.end()});
  }
  if (on_call_) on_call_();
  return AwaitAnswer(call, steady_clock::now() + std::chrono::seconds(most_seconds));
}

std::vector<absl::StatusOr<base::Bytes>> RelayWire::CallTogether(std::span<const Request> requests,
                                                                 uint32_t most_seconds) {
  std::vector<std::list<Waiting>::iterator> parked;
  {
    const base::MutexLock lock(mutex_);
    for (const Request& request : requests) {
      base::Bytes whole = request.head;
      whole.insert(whole.end(), request.content.begin(), request.content.end());
      parked.push_back(Park(std::move(whole)));
    }
  }
  if (on_call_) on_call_();
  const auto end = steady_clock::now() + std::chrono::seconds(most_seconds);
  std::vector<absl::StatusOr<base::Bytes>> answers;
  answers.reserve(parked.size());
  for (const auto& call : parked) answers.push_back(AwaitAnswer(call, end));
  return answers;
}

std::list<RelayWire::Waiting>::iterator RelayWire::Park(base::Bytes request) {
  const crypto::Digest digest = crypto::Sha256(request);
  return calls_.insert(calls_.end(), {.request = std::move(request), .digest = digest});
}

absl::StatusOr<base::Bytes> RelayWire::AwaitAnswer(std::list<Waiting>::iterator call,
                                                   steady_clock::time_point end) {
  const base::MutexLock lock(mutex_);
  while (!stopped_ && !call->answer.has_value() && steady_clock::now() < end) {
    changed_.WaitUntil(mutex_, end);
  }
  std::optional<absl::StatusOr<base::Bytes>> answer = std::move(call->answer);
  calls_.erase(call);
  if (answer.has_value()) return *std::move(answer);
  if (stopped_) return absl::CancelledError("the member is ending");
  return absl::DeadlineExceededError(
      "no answer came through the framework in time: its client at this site, or its server, may "
      "not be running");
}

void RelayWire::Stop() {
  const base::MutexLock lock(mutex_);
  stopped_ = true;
  changed_.SignalAll();
}

void RelayWire::Deliver(std::span<const uint8_t> bundle) {
  absl::StatusOr<AnswerBundle> read = ReadAnswers(bundle);
  const base::MutexLock lock(mutex_);
  for (Waiting& call : calls_) {
    call.taken = false;
    if (call.answer.has_value() || !read.ok()) continue;
    const auto found = std::ranges::find(read->answers, call.digest, &RelayedAnswer::request);
    if (found != read->answers.end()) call.answer = found->answer;
  }
  if (read.ok()) {
    pushed_.clear();
    for (PushedAnswer& pushed : read->pushed) {
      pushed_.emplace(pushed.question, std::move(pushed.answer));
    }
  }
  changed_.SignalAll();
}

std::optional<base::Bytes> RelayWire::Take() {
  std::vector<base::Bytes> requests;
  const base::MutexLock lock(mutex_);
  for (Waiting& call : calls_) {
    if (call.taken || call.answer.has_value() || requests.size() == kMaxCalls) continue;
    call.taken = true;
    requests.push_back(call.request);
  }
  if (requests.empty()) return std::nullopt;
  return WriteRequests(requests);
}

}  // namespace tacet::transport::relay
