// Renyi differential privacy: the moments of the privacy loss at many orders, converted to epsilon
// by the improved rule (Balle et al. 2020; Canonne, Kamath, Steinke 2020, proposition 12). With
// order a = l + 1 and T rounds of log-moment alpha(l),
//   epsilon = min over l > 0 of T alpha(l) / l + log(l / (l + 1)) - (log delta + log(l + 1)) / l.
#ifndef TACET_ACCOUNTING_RDP_ACCOUNTANT_H_
#define TACET_ACCOUNTING_RDP_ACCOUNTANT_H_

#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

struct RdpResult {
  double epsilon = 0;  // infinity without a guarantee; 0 only where delta(0) <= delta follows
  double order = 0;    // a = l + 1 of the minimum, above 1; 0 when epsilon is 0 or infinite
};

// The least of two answers. Integer orders 2 .. 16384: moments in closed form (quadrature for
// Poisson sampling with replace-one neighbours and for fixed-size sampling). Real orders
// 1.001 .. 1e5: quadrature and Brent's minimisation. Long mixtures are grouped on the safe side.
absl::StatusOr<RdpResult> RdpEpsilon(const std::vector<RepeatedEvent>& stream, double delta);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_RDP_ACCOUNTANT_H_
