// Decrypted sum of an attempt, and its plausibility under the agreed mechanism.
#ifndef TACET_SECAGG_AGGREGATE_H_
#define TACET_SECAGG_AGGREGATE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "tacet/dp/mechanism_plan.h"

namespace tacet::secagg {

// Sums of counts and how many participants they are of.
struct Aggregate {
  uint32_t participants = 0;   // K'
  std::vector<uint64_t> sums;  // d values
};

// Bound on a sum, which every member checks. One modified client can send counts that no clipping
// bounds. With x = s (sums - K' m) and v the largest planned variance of a coordinate, a sum is
// refused when a coordinate is beyond K' b + 10 sqrt(v), or, where every update is clipped to norm
// S, when
//   |x|^2 > d v + 8 v sqrt(2 d) + 16 sqrt(v) K' S + (K' S)^2.
// The check is post-processing and free in epsilon. It refuses an honest sum with probability below
// 2^-40 (docs/security/committee.md).
class AggregateBound {
 public:
  AggregateBound(const dp::MechanismPlan& plan, uint32_t participants);

  // The next sums, in order.
  void Append(std::span<const uint64_t> sums);
  // After all of them. DataLoss names the bound that the sum exceeds.
  absl::Status Check() const;

 private:
  double scale_;
  int64_t centre_;         // K' m
  double largest_;         // allowed |coordinate|
  double largest_square_;  // allowed |x|^2; infinite where updates are not clipped
  uint32_t participants_;
  double seen_ = 0;
  double seen_square_ = 0;
};

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_AGGREGATE_H_
