// The moments accountant (Abadi et al. 2016; Grivet Sebert et al., section 3.5): per-round
// log-moments add, and
//   epsilon = min over l = 1 .. max_order of (T alpha(l) + log(1/delta)) / l.
#ifndef TACET_ACCOUNTING_MOMENTS_ACCOUNTANT_H_
#define TACET_ACCOUNTING_MOMENTS_ACCOUNTANT_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

struct MomentsResult {
  double epsilon = 0;  // infinity without a guarantee; never NaN
  int order = 0;       // the l of the minimum; 0 when nothing was released or epsilon is infinite
};

// Holds alpha(1..max_order) of one kind of round; the answer for any number of rounds is then a
// minimum of max_order numbers.
class MomentsAccountant {
 public:
  static constexpr int kPaperOrders = 20;
  static constexpr int kMaxOrders = 4096;

  // InvalidArgument when a field of the event or max_order (1 .. kMaxOrders) is out of range.
  static absl::StatusOr<MomentsAccountant> Create(const SamplingEvent& event,
                                                  int max_order = kPaperOrders);
  // Rounds whose form the observer learns: E[(P/Q)^l] is the weighted mean over the forms.
  static absl::StatusOr<MomentsAccountant> CreateForMixture(
      const std::vector<WeightedEvent>& mixture, int max_order = kPaperOrders);

  // epsilon after `rounds` such rounds at delta in (0, 1).
  absl::StatusOr<MomentsResult> Epsilon(uint64_t rounds, double delta) const;

  int max_order() const { return static_cast<int>(log_moments_.size()); }
  // alpha(order), 1 <= order <= max_order().
  double LogMomentOfOrder(int order) const { return log_moments_[order - 1]; }

 private:
  MomentsAccountant(std::vector<double> log_moments, bool releases_nothing)
      : log_moments_(std::move(log_moments)), releases_nothing_(releases_nothing) {}

  std::vector<double> log_moments_;
  bool releases_nothing_;  // nobody is ever sampled: the only way to an epsilon of 0
};

// One answer without keeping the moments.
absl::StatusOr<MomentsResult> MomentsEpsilon(const SamplingEvent& event, uint64_t rounds,
                                             double delta);

// InvalidArgument unless delta is in (0, 1).
absl::Status CheckDelta(double delta);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_MOMENTS_ACCOUNTANT_H_
