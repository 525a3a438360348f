#include "tacet/member/backoff.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tacet/protocol/wire.h"

namespace tacet::member {

Backoff::Backoff(const BackoffSpec& spec, crypto::Entropy& entropy)
    : spec_(spec), random_(crypto::Random::FromEntropy(entropy)), span_(spec.first_seconds) {}

double Backoff::NextSeconds() {
  const double uniform = std::ldexp(static_cast<double>(random_.NextU64() >> 11), -53);
  const double seconds = span_ * (0.5 + 0.5 * uniform);
  span_ = std::min(2 * span_, spec_.most_seconds);
  return seconds;
}

RetryPolicy::RetryPolicy(const BackoffSpec& spec, crypto::Entropy& entropy,
                         std::function<bool(double seconds)> wait,
                         std::function<void(const absl::Status& trouble)> on_trouble)
    : backoff_(spec, entropy),
      pause_(Backoff::Steady(spec.first_seconds, entropy)),
      longest_(Backoff::Steady(spec.most_seconds, entropy)),
      wait_(std::move(wait)),
      on_trouble_(std::move(on_trouble)) {}

bool RetryPolicy::operator()(const absl::Status& why, int failures) {
  if (failures == 1) backoff_.Reset();
  if (failures > kMaxFailures) return false;
  if (why.code() == absl::StatusCode::kResourceExhausted) return wait_(pause_.NextSeconds());
  if (failures == 1 && on_trouble_) on_trouble_(why);
  return wait_(protocol::IsLasting(why) ? longest_.NextSeconds() : backoff_.NextSeconds());
}

}  // namespace tacet::member
