#include "tacet/server/request_limits.h"

#include <algorithm>
#include <utility>

#include "tacet/base/status.h"

namespace tacet::server {

RequestLimits::RequestLimits(const RequestLimitsSpec& spec, uint64_t members, Seconds clock)
    : spec_(spec),
      clock_(std::move(clock)),
      buckets_(members, {.requests = spec.burst, .bytes = spec.burst_bytes, .filled = clock_()}) {}

void RequestLimits::Fill(Bucket& bucket) {
  const double now = clock_();
  const double seconds = std::max(0.0, now - bucket.filled);
  bucket.filled = now;
  bucket.requests = std::min(spec_.burst, bucket.requests + seconds * spec_.requests_a_second);
  bucket.bytes = std::min(spec_.burst_bytes, bucket.bytes + seconds * spec_.bytes_a_second);
}

absl::Status RequestLimits::Admit(uint64_t member, size_t bytes) {
  const base::MutexLock lock(mutex_);
  Bucket& bucket = buckets_[member];
  Fill(bucket);
  const auto wanted = static_cast<double>(bytes);
  if (bucket.requests >= 1 && bucket.bytes >= wanted) {
    bucket.requests -= 1;
    bucket.bytes -= wanted;
    return absl::OkStatus();
  }
  const double seconds = std::max((1 - bucket.requests) / spec_.requests_a_second,
                                  (wanted - bucket.bytes) / spec_.bytes_a_second);
  return base::ResourceExhausted("request: too many of this member at once; again in {:.1f} s",
                                 seconds);
}

void RequestLimits::Charge(uint64_t member, size_t bytes) {
  const base::MutexLock lock(mutex_);
  Bucket& bucket = buckets_[member];
  Fill(bucket);
  bucket.bytes -= static_cast<double>(bytes);
}

}  // namespace tacet::server
