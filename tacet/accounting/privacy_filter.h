// Privacy filter: the cost of a stream of charges, updated after each charge, and the budget that
// is left.
#ifndef TACET_ACCOUNTING_PRIVACY_FILTER_H_
#define TACET_ACCOUNTING_PRIVACY_FILTER_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/accounting/epsilon_bounds.h"
#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

// Composition rule of charges against a budget, fixed before the first charge.
//   one-event   every charge is the same event, so the schedule cannot depend on what earlier
//               releases showed: any accountant may judge, and the smallest valid bound does.
//   any-events  noise, rate or clip norm may differ from charge to charge and may have been chosen
//               after earlier releases were seen. A minimum over orders or accountants is not a
//               valid filter then. Two are valid, and each judges at half of delta, so that either
//               may admit a charge (docs/security/privacy.md, "Filters"):
//                 gaussian-filter  where nothing is sampled: the sum of mu^2, mu = sensitivity /
//                                  noise, is that of one Gaussian release (Smith, Thakurta 2022),
//                 fixed-order-rdp  the sum of moments of one Renyi order, fixed beforehand
//                                  (Feldman, Zrnic 2021).
enum class Composition : uint8_t { kOneEvent = 1, kAnyEvents = 2 };

std::string_view CompositionName(Composition composition);
absl::StatusOr<Composition> ParseComposition(std::string_view name);

struct SpendingTerms {
  double budget_epsilon = 0;  // > 0, finite; 0: no budget
  double delta = 1e-5;        // in (0, 1)
  Composition composition = Composition::kOneEvent;

  friend bool operator==(const SpendingTerms&, const SpendingTerms&) = default;
};

// InvalidArgument names the field, its value and its range.
absl::Status CheckSpendingTerms(const SpendingTerms& terms);

bool SameEvent(const SamplingEvent& a, const SamplingEvent& b);
// True when such a release has no guarantee: no noise, somebody is sampled.
bool GuaranteesNothing(const SamplingEvent& event);

class PrivacyFilter {
 public:
  static absl::StatusOr<PrivacyFilter> Create(const SpendingTerms& terms);

  // Adds what has been spent, within the budget or not. InvalidArgument for an event out of range;
  // FailedPrecondition for a second kind of event under one-event composition. Counts saturate.
  absl::Status Add(const SamplingEvent& event, uint64_t count = 1);
  // Takes back what was added, for a budget of a period that these charges have left.
  // FailedPrecondition when so many were never added.
  absl::Status Remove(const SamplingEvent& event, uint64_t count = 1);

  // OK when the budget still holds after `count` more; ResourceExhausted with the numbers
  // otherwise. Without a budget always OK. Costs microseconds until the cheapest bound reaches the
  // budget; then, once, about ten loss distributions to find the last count that fits.
  absl::Status CheckRoomFor(const SamplingEvent& event, uint64_t count = 1);

  // Number of further charges of `event` that fit, at most `most`.
  absl::StatusOr<uint64_t> ChargesThatFit(const SamplingEvent& event, uint64_t most);

  // Upper bounds of what was spent, by all accountants and by the judges; infinite without a
  // guarantee, 0 when nothing was charged. Under any-events composition with several different
  // events only the judges' bounds are proved: the others hold only if all events were fixed before
  // the first release. 0.1 s at the paper's setting.
  absl::StatusOr<EpsilonBounds> Epsilon() const;

  // The smaller bound of the judges, 0 when nothing was charged: proved, whatever the events and
  // why they were chosen. Costs microseconds.
  EpsilonBound JudgedBound() const;

  const SpendingTerms& terms() const { return terms_; }
  const std::vector<CountedEvent>& events() const { return events_; }
  uint64_t charges() const;
  // a = l + 1 of the fixed order: the best one for a Gaussian whose whole budget is spent.
  double fixed_order() const { return fixed_l_ + 1; }

 private:
  // Log-moments of one event.
  struct Moments {
    std::vector<double> integer;  // of orders l = 1, 2, ...
    double fixed = 0;             // of fixed_l_
  };

  explicit PrivacyFilter(const SpendingTerms& terms);

  // The place of `event` in events_, added with count 0 if it is new.
  absl::StatusOr<size_t> IndexOf(const SamplingEvent& event);
  bool Fits(size_t index, uint64_t more);
  // After `more` charges of an event.
  double FixedOrderEpsilon(size_t index, uint64_t more) const;
  double GaussianFilterEpsilon(size_t index, uint64_t more) const;  // infinite where one is sampled
  double CheapEpsilon(uint64_t count) const;        // one-event, from integer orders
  bool FitsByBestBound(uint64_t count) const;       // one-event, all accountants
  uint64_t LastCountThatFits(uint64_t from) const;  // one-event

  SpendingTerms terms_;
  double judged_delta_;  // of each judge
  double fixed_l_;
  std::vector<CountedEvent> events_;
  std::vector<Moments> moments_;  // by event
  std::optional<uint64_t> last_that_fits_;
};

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_PRIVACY_FILTER_H_
