// Decrypted sum of an attempt, and its plausibility under the agreed mechanism.
#ifndef TACET_SECAGG_AGGREGATE_H_
#define TACET_SECAGG_AGGREGATE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "tacet/dp/mechanism_plan.h"
#include "tacet/dp/sum_limits.h"

namespace tacet::secagg {

// Sums of counts and how many participants they are of.
struct Aggregate {
  uint32_t participants = 0;   // K'
  std::vector<uint64_t> sums;  // d values
};

// Check of a sum that every member makes. One modified client can send counts that no clipping
// bounds: a sum beyond dp::SumLimits is refused. The check is post-processing and free in epsilon.
// It refuses an honest sum with probability below 2^-40 (docs/security/committee.md).
class AggregateBound {
 public:
  AggregateBound(const dp::MechanismPlan& plan, uint32_t participants);

  // The next sums, in order.
  void Append(std::span<const uint64_t> sums);
  // After all of them. DataLoss names the bound that the sum exceeds.
  absl::Status Check() const;

 private:
  double scale_;
  int64_t centre_;  // K' m
  dp::SumLimits limits_;
  uint32_t participants_;
  bool counts_units_;  // N follows from an expected number of drawn units
  double seen_ = 0;
  double seen_square_ = 0;
};

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_AGGREGATE_H_
