// Delay before a failed call is tried again.
#ifndef TACET_MEMBER_BACKOFF_H_
#define TACET_MEMBER_BACKOFF_H_

#include <functional>

#include "absl/status/status.h"

#include "tacet/crypto/random.h"

namespace tacet::member {

struct BackoffSpec {
  double first_seconds = 0.5;  // > 0
  double most_seconds = 30;    // >= first_seconds
};

// Wait before the next try: uniform between half and the whole of a span that doubles from try to
// try up to its bound, so that a thousand members do not come back at one moment.
class Backoff {
 public:
  Backoff(const BackoffSpec& spec, crypto::Entropy& entropy);
  // The span of this one is unchanged.
  static Backoff Steady(double seconds, crypto::Entropy& entropy) {
    return Backoff({.first_seconds = seconds, .most_seconds = seconds}, entropy);
  }

  double NextSeconds();
  void Reset() { span_ = spec_.first_seconds; }

 private:
  BackoffSpec spec_;
  crypto::Random random_;
  double span_;
};

// Number of times one call is repeated before the step that it belongs to fails. A step of many
// calls, such as fetching a large object part by part, so survives a line that breaks now and then.
// Not thread-safe.
class RetryPolicy {
 public:
  static constexpr int kMaxFailures = 8;  // with the default spans about a minute and a half

  // `wait` waits; false when everything is to end. `on_trouble` hears of the first failure in a
  // row, unless it is only that this member is over its limits: then the server has room again
  // soon, and the wait does not grow. It may be empty. What is Lasting (wire.h) is tried again
  // after the longest span.
  RetryPolicy(const BackoffSpec& spec, crypto::Entropy& entropy,
              std::function<bool(double seconds)> wait,
              std::function<void(const absl::Status& trouble)> on_trouble);

  // After the `failures`th failure in a row, from 1, with `why`: waits; false when the call is not
  // to be made again.
  bool operator()(const absl::Status& why, int failures);

 private:
  Backoff backoff_, pause_, longest_;
  std::function<bool(double)> wait_;
  std::function<void(const absl::Status&)> on_trouble_;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_BACKOFF_H_
