#include "tacet/host/store_health.h"

namespace tacet::host {
namespace {

Problem ProblemOf(base::FailureCause cause) {
  switch (cause) {
    case base::FailureCause::kNoRoom:
      return {.code = ProblemCode::kDiskFull};
    case base::FailureCause::kNotConnected:
      return {.code = ProblemCode::kDatabaseAway};
    case base::FailureCause::kUnknown:
      break;
  }
  return {.code = ProblemCode::kStoreFailed};
}

}  // namespace

void StoreHealth::NoteTick(const absl::Status& done) {
  const base::MutexLock lock(mutex_);
  if (done.ok()) {
    tick_failed_.reset();
    return;
  }
  // After a call that failed the store is read again, and other errors follow.
  const base::FailureCause cause = base::CauseOf(done);
  if (!tick_failed_.has_value() || cause != base::FailureCause::kUnknown) tick_failed_ = cause;
}

void StoreHealth::NoteRequest(const absl::Status& status) {
  const base::FailureCause cause = base::CauseOf(status);
  if (status.ok() || cause == base::FailureCause::kUnknown) return;
  const base::MutexLock lock(mutex_);
  request_failed_ = Failure{.cause = cause, .at = clock_()};
}

std::optional<Problem> StoreHealth::Now() const {
  const base::MutexLock lock(mutex_);
  if (request_failed_.has_value() && clock_() - request_failed_->at < kRequestsFailure) {
    return ProblemOf(request_failed_->cause);
  }
  if (tick_failed_.has_value()) return ProblemOf(*tick_failed_);
  return std::nullopt;
}

}  // namespace tacet::host
