#include "tacet/host/readiness.h"

#include <utility>

#include "fmt/core.h"

namespace tacet::host {
namespace {

// By which the two clocks may differ from one tick to the next.
constexpr std::chrono::seconds kClockWasSet(5);

}  // namespace

void Readiness::SetListening(bool listening) {
  const base::MutexLock lock(mutex_);
  listening_ = listening;
}

void Readiness::SetDraining() {
  const base::MutexLock lock(mutex_);
  draining_ = true;
}

bool Readiness::IsDisturbed(uint64_t unix_now) const {
  if (!last_tick_.has_value()) return false;
  const auto passed = std::chrono::duration_cast<std::chrono::seconds>(clock_() - *last_tick_);
  const auto by_clock = std::chrono::seconds(static_cast<int64_t>(unix_now - last_unix_));
  const auto difference = by_clock - passed;
  return passed > kMaxTickAge || difference > kClockWasSet || difference < -kClockWasSet;
}

void Readiness::NoteTick(uint64_t unix_now) {
  const base::MutexLock lock(mutex_);
  const Time now = clock_();
  if (IsDisturbed(unix_now)) disturbed_ = now;
  last_tick_ = now;
  last_unix_ = unix_now;
}

bool Readiness::IsUnsettled(uint64_t unix_now) const {
  const base::MutexLock lock(mutex_);
  constexpr std::chrono::seconds kTimeToCall(tacet::server::kHereSeconds);
  return IsDisturbed(unix_now) || (disturbed_.has_value() && clock_() - *disturbed_ < kTimeToCall);
}

std::vector<Problem> Readiness::Problems() const {
  const base::MutexLock lock(mutex_);
  std::vector<Problem> problems;
  if (!listening_) problems.push_back({.code = ProblemCode::kNotListening});
  if (draining_) problems.push_back({.code = ProblemCode::kEnding});
  if (!last_tick_.has_value()) {
    problems.push_back({.code = ProblemCode::kNotStarted});
    return problems;
  }
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(clock_() - *last_tick_);
  if (age > kMaxTickAge) {
    problems.push_back(
        {.code = ProblemCode::kStandstill, .detail = fmt::format("for {} s", age.count())});
  }
  return problems;
}

}  // namespace tacet::host
