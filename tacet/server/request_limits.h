// Token-bucket rate limiter per member.
#ifndef TACET_SERVER_REQUEST_LIMITS_H_
#define TACET_SERVER_REQUEST_LIMITS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"

#include "tacet/base/mutex.h"

namespace tacet::server {

struct RequestLimitsSpec {
  double requests_a_second = 50;     // of one member, on average; > 0
  double burst = 200;                // requests at once; >= 1
  double bytes_a_second = 64 << 20;  // of one member, sent and fetched, on average; > 0
  double burst_bytes = 64 << 20;     // >= kMaxRequestBytes
};

// Token buckets, one pair a member: 32 bytes each. Thread-safe.
class RequestLimits {
 public:
  using Seconds = std::function<double()>;  // a steady clock

  RequestLimits(const RequestLimitsSpec& spec, uint64_t members, Seconds clock);

  // ResourceExhausted, saying when to come back, when the member has used up what is its own.
  absl::Status Admit(uint64_t member, size_t bytes);
  // Bytes that were sent as an answer; they count against later requests.
  void Charge(uint64_t member, size_t bytes);

 private:
  struct Bucket {
    double requests;
    double bytes;
    double filled;  // when
  };
  void Fill(Bucket& bucket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  RequestLimitsSpec spec_;
  Seconds clock_;
  base::Mutex mutex_;
  std::vector<Bucket> buckets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::server

#endif  // TACET_SERVER_REQUEST_LIMITS_H_
