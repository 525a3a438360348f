// The moments accountant (Abadi et al. 2016; Grivet Sebert et al., section 3.5): per-round
// log-moments add, and
//   epsilon = min over l = 1 .. max_order of (T alpha(l) + log(1/delta)) / l.
#ifndef TACET_ACCOUNTING_MOMENTS_ACCOUNTANT_H_
#define TACET_ACCOUNTING_MOMENTS_ACCOUNTANT_H_

#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

struct MomentsResult {
  double epsilon = 0;  // infinity without a guarantee; never NaN
  int order = 0;       // the l of the minimum; 0 when nothing was released or epsilon is infinite
};

inline constexpr int kPaperOrders = 20;
inline constexpr int kMaxMomentsOrders = 4096;

// epsilon of a stream at delta in (0, 1), by the orders 1 .. max_order. Of rounds whose form the
// observer learns, E[(P/Q)^l] is the weighted mean over the forms. 0 only where nobody is ever
// sampled. InvalidArgument when the stream, delta or max_order (1 .. kMaxMomentsOrders) is out of
// range.
absl::StatusOr<MomentsResult> MomentsEpsilon(const std::vector<RepeatedEvent>& stream, double delta,
                                             int max_order = kPaperOrders);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_MOMENTS_ACCOUNTANT_H_
