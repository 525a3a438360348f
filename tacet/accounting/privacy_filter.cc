#include "tacet/accounting/privacy_filter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tacet/accounting/gaussian_mechanism.h"
#include "tacet/accounting/log_math.h"
#include "tacet/accounting/log_moments.h"
#include "tacet/accounting/loss_rounds.h"
#include "tacet/accounting/pure_releases.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

// Cheap ones first. Of equal bounds the first is the headline.
constexpr Accountant kCheapestFirst[] = {Accountant::kRdp, Accountant::kPld,
                                         Accountant::kFixedSizeTight, Accountant::kMoments};
// Integer orders 1 .. kOrders of the cheap bound.
constexpr int kOrders = 32;
// Relative, on the safe side, for a sum of squares.
constexpr double kRounding = 1e-9;
// Replaces a budget where there is none, to fix an order.
constexpr double kNominalBudget = 5;

double EpsilonAt(double log_moment, double l, double delta) {
  return std::max(EpsilonOfLogMoment(log_moment, l, std::log(delta)), 0.0);
}

// The l with the smallest epsilon for a Gaussian release that spends the budget exactly: with
// alpha(l) = l (l + 1) rho, epsilon = rho + 2 sqrt(rho L), L = log 1/delta, l = sqrt(L / rho).
double FixedL(double budget, double delta) {
  const double log_term = -std::log(delta);
  const double root_rho = std::sqrt(log_term + budget) - std::sqrt(log_term);
  return std::clamp(std::sqrt(log_term) / root_rho, 1e-3, 1e4);
}

uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max()
                                                      : a + b;
}

bool CostsNothing(const SamplingEvent& event) { return event.sampling_rate == 0; }

std::vector<RepeatedEvent> StreamOf(const std::vector<CountedEvent>& events) {
  std::vector<RepeatedEvent> stream;
  for (const CountedEvent& counted : events) {
    if (counted.count > 0 && !CostsNothing(counted.event)) {
      stream.push_back(Repeated(counted.event, counted.count).front());
    }
  }
  return stream;
}

}  // namespace

std::string_view CompositionName(Composition composition) {
  return composition == Composition::kOneEvent ? "one-event" : "any-events";
}

absl::StatusOr<Composition> ParseComposition(std::string_view name) {
  for (const Composition composition : {Composition::kOneEvent, Composition::kAnyEvents}) {
    if (name == CompositionName(composition)) return composition;
  }
  return base::InvalidArgument("unknown composition \"{}\": expected one-event or any-events",
                               name);
}

absl::Status CheckSpendingTerms(const SpendingTerms& terms) {
  if (!(terms.budget_epsilon >= 0 && std::isfinite(terms.budget_epsilon))) {
    return base::InvalidArgument("the budget is epsilon {}, expected a finite number >= 0",
                                 terms.budget_epsilon);
  }
  if (terms.composition != Composition::kOneEvent && terms.composition != Composition::kAnyEvents) {
    return base::InvalidArgument("the composition is number {}, expected 1 or 2",
                                 static_cast<int>(terms.composition));
  }
  return CheckDelta(terms.delta);
}

bool SameEvent(const SamplingEvent& a, const SamplingEvent& b) {
  return a.unit == b.unit && a.neighbouring == b.neighbouring && a.sampling == b.sampling &&
         a.sampling_rate == b.sampling_rate && a.noise_stddev == b.noise_stddev &&
         a.clip_norm == b.clip_norm && a.pool == b.pool && a.least == b.least &&
         a.pure_epsilon == b.pure_epsilon;
}

bool GuaranteesNothing(const SamplingEvent& event) {
  return event.noise_stddev == 0 && event.sampling_rate > 0;
}

PrivacyFilter::PrivacyFilter(const SpendingTerms& terms)
    : terms_(terms),
      judged_delta_(terms.composition == Composition::kAnyEvents ? terms.delta / 2 : terms.delta),
      fixed_l_(FixedL(terms.budget_epsilon > 0 ? terms.budget_epsilon : kNominalBudget,
                      judged_delta_)) {}

absl::StatusOr<PrivacyFilter> PrivacyFilter::Create(const SpendingTerms& terms) {
  TACET_RETURN_IF_ERROR(CheckSpendingTerms(terms));
  return PrivacyFilter(terms);
}

absl::StatusOr<size_t> PrivacyFilter::IndexOf(const SamplingEvent& event) {
  for (size_t i = 0; i < events_.size(); ++i) {
    if (SameEvent(events_[i].event, event)) return i;
  }
  TACET_RETURN_IF_ERROR(CheckEvent(event));
  if (terms_.composition == Composition::kOneEvent && !events_.empty() &&
      events_.front().count == 0) {
    // It was asked about and never charged.
    events_.clear();
    moments_.clear();
    last_that_fits_.reset();
  }
  if (terms_.composition == Composition::kOneEvent && !events_.empty()) {
    const SamplingEvent& known = events_.front().event;
    return base::FailedPrecondition(
        "the charge ({}) is not the event that this ledger counts ({}): it was made for one "
        "federation with fixed settings",
        EventText(event), EventText(known));
  }
  Moments moments;
  if (CostsNothing(event)) {
    moments.integer.assign(kOrders, 0);
  } else if (GuaranteesNothing(event)) {
    moments.integer.assign(kOrders, kInfinity);
    moments.fixed = kInfinity;
  } else {
    if (terms_.composition == Composition::kOneEvent) {
      for (int l = 1; l <= kOrders; ++l) {
        moments.integer.push_back(LogMomentReal(event, l));
      }
    }
    moments.fixed = LogMomentReal(event, fixed_l_);
    if (!(moments.fixed >= 0)) moments.fixed = kInfinity;
  }
  events_.push_back({.event = event, .count = 0});
  moments_.push_back(std::move(moments));
  return events_.size() - 1;
}

absl::Status PrivacyFilter::Add(const SamplingEvent& event, uint64_t count) {
  TACET_ASSIGN_OR_RETURN(const size_t index, IndexOf(event));
  events_[index].count = SaturatingAdd(events_[index].count, count);
  return absl::OkStatus();
}

absl::Status PrivacyFilter::Remove(const SamplingEvent& event, uint64_t count) {
  for (CountedEvent& counted : events_) {
    if (!SameEvent(counted.event, event) || counted.count < count) continue;
    counted.count -= count;
    return absl::OkStatus();
  }
  return base::FailedPrecondition("{} charges are to be taken back that were never added", count);
}

uint64_t PrivacyFilter::charges() const {
  uint64_t total = 0;
  for (const CountedEvent& counted : events_) total = SaturatingAdd(total, counted.count);
  return total;
}

double PrivacyFilter::FixedOrderEpsilon(size_t index, uint64_t more) const {
  double log_moment = 0;
  bool releases = false;
  for (size_t i = 0; i < events_.size(); ++i) {
    const uint64_t count = SaturatingAdd(events_[i].count, i == index ? more : 0);
    if (count == 0 || CostsNothing(events_[i].event)) continue;
    releases = true;
    log_moment += static_cast<double>(count) * moments_[i].fixed;
  }
  return releases ? EpsilonAt(log_moment, fixed_l_, judged_delta_) : 0;
}

double PrivacyFilter::GaussianFilterEpsilon(size_t index, uint64_t more) const {
  double squares = 0;
  for (size_t i = 0; i < events_.size(); ++i) {
    const SamplingEvent& event = events_[i].event;
    const uint64_t count = SaturatingAdd(events_[i].count, i == index ? more : 0);
    if (count == 0 || CostsNothing(event)) continue;
    if (GuaranteesNothing(event) || !IsUnsampled(event)) return kInfinity;
    const double mu = GaussianMu(event);
    squares += static_cast<double>(count) * mu * mu;
  }
  return GaussianEpsilon(std::sqrt(squares) * (1 + kRounding), judged_delta_);
}

double PrivacyFilter::CheapEpsilon(uint64_t count) const {
  double smallest = FixedOrderEpsilon(0, count - std::min(count, events_[0].count));
  for (int l = 1; l <= kOrders; ++l) {
    smallest = std::min(smallest, EpsilonAt(static_cast<double>(count) * moments_[0].integer[l - 1],
                                            l, terms_.delta));
  }
  return smallest;
}

bool PrivacyFilter::FitsByBestBound(uint64_t count) const {
  const double budget = terms_.budget_epsilon;
  if (CheapEpsilon(count) <= budget) return true;
  const std::vector<RepeatedEvent> stream = Repeated(events_[0].event, count);
  constexpr Accountant kFirst[] = {Accountant::kRdp, Accountant::kPld};
  constexpr Accountant kThen[] = {Accountant::kFixedSizeTight};
  // The arguments were checked when the event came; accountants that fail allow nothing.
  const absl::StatusOr<EpsilonBounds> first = BoundEpsilon(stream, terms_.delta, kFirst, budget);
  if (!first.ok()) return false;
  if (first->epsilon() <= budget) return true;
  const EpsilonBound* const pld = first->Of(Accountant::kPld);
  if (pld != nullptr && pld->epsilon_lower.value_or(0) > budget) return false;
  const absl::StatusOr<EpsilonBounds> then = BoundEpsilon(stream, terms_.delta, kThen);
  return then.ok() && then->epsilon() <= budget;
}

uint64_t PrivacyFilter::LastCountThatFits(uint64_t from) const {
  // Double the step while it fits, then halve the interval; ends below 2^62.
  uint64_t good = from;
  uint64_t step = std::max<uint64_t>(1, from / 16);
  while (good < uint64_t{1} << 61 && FitsByBestBound(good + step)) {
    good += step;
    step *= 2;
  }
  uint64_t bad = good + step;
  while (bad - good > 1) {
    const uint64_t middle = good + (bad - good) / 2;
    (FitsByBestBound(middle) ? good : bad) = middle;
  }
  return good;
}

bool PrivacyFilter::Fits(size_t index, uint64_t more) {
  if (terms_.budget_epsilon == 0 || more == 0 || CostsNothing(events_[index].event)) return true;
  if (GuaranteesNothing(events_[index].event)) return false;
  if (terms_.composition == Composition::kAnyEvents) {
    return FixedOrderEpsilon(index, more) <= terms_.budget_epsilon ||
           GaussianFilterEpsilon(index, more) <= terms_.budget_epsilon;
  }
  const uint64_t count = SaturatingAdd(events_[0].count, more);
  if (last_that_fits_.has_value()) return count <= *last_that_fits_;
  if (CheapEpsilon(count) <= terms_.budget_epsilon) return true;
  // Begins with the last count that the cheap bound allows: that takes few loss distributions.
  uint64_t good = 0;
  uint64_t bad = count;
  while (bad - good > 1) {
    const uint64_t middle = good + (bad - good) / 2;
    (CheapEpsilon(middle) <= terms_.budget_epsilon ? good : bad) = middle;
  }
  last_that_fits_ = LastCountThatFits(good);
  return count <= *last_that_fits_;
}

absl::Status PrivacyFilter::CheckRoomFor(const SamplingEvent& event, uint64_t count) {
  TACET_ASSIGN_OR_RETURN(const size_t index, IndexOf(event));
  if (Fits(index, count)) return absl::OkStatus();
  if (GuaranteesNothing(event)) {
    return base::ResourceExhausted(
        "a release without noise has no guarantee (epsilon is infinite), the budget is "
        "epsilon {} at delta {}",
        terms_.budget_epsilon, terms_.delta);
  }
  TACET_ASSIGN_OR_RETURN(const uint64_t fits, ChargesThatFit(event, count));
  TACET_ASSIGN_OR_RETURN(const EpsilonBounds spent, Epsilon());
  PrivacyFilter after = *this;
  after.events_[index].count = SaturatingAdd(after.events_[index].count, count);
  TACET_ASSIGN_OR_RETURN(const EpsilonBounds next, after.Epsilon());
  return base::ResourceExhausted(
      "epsilon would be {:.6g} ({}) after {} more, the budget is {} at delta {}: {} charges have "
      "spent {:.6g}, {} more of this kind fit",
      next.epsilon(), AccountantName(next.headline()->accountant), count, terms_.budget_epsilon,
      terms_.delta, charges(), spent.epsilon(), fits);
}

absl::StatusOr<uint64_t> PrivacyFilter::ChargesThatFit(const SamplingEvent& event, uint64_t most) {
  TACET_ASSIGN_OR_RETURN(const size_t index, IndexOf(event));
  if (Fits(index, most)) return most;
  uint64_t good = 0;
  uint64_t bad = most;
  while (bad - good > 1) {
    const uint64_t middle = good + (bad - good) / 2;
    (Fits(index, middle) ? good : bad) = middle;
  }
  return good;
}

absl::StatusOr<EpsilonBounds> PrivacyFilter::Epsilon() const {
  const std::vector<RepeatedEvent> stream = StreamOf(events_);
  TACET_ASSIGN_OR_RETURN(EpsilonBounds spent, BoundEpsilon(stream, terms_.delta, kCheapestFirst));
  if (terms_.composition == Composition::kAnyEvents && stream.size() > 1) {
    for (EpsilonBound& row : spent.rows) {
      row.is_proved = false;
      row.note = "only if all events had been fixed beforehand";
    }
  }
  spent.rows.push_back({.accountant = Accountant::kFixedOrderRdp,
                        .epsilon = FixedOrderEpsilon(0, 0),
                        .order = fixed_order()});
  if (terms_.composition == Composition::kAnyEvents) {
    const double gaussian = GaussianFilterEpsilon(0, 0);
    if (std::isfinite(gaussian)) {
      spent.rows.push_back({.accountant = Accountant::kGaussianFilter, .epsilon = gaussian});
    }
  }
  return spent;
}

EpsilonBound PrivacyFilter::JudgedBound() const {
  const double fixed = FixedOrderEpsilon(0, 0);
  const double gaussian =
      terms_.composition == Composition::kAnyEvents ? GaussianFilterEpsilon(0, 0) : kInfinity;
  if (gaussian <= fixed && std::isfinite(gaussian)) {
    return {.accountant = Accountant::kGaussianFilter, .epsilon = gaussian};
  }
  return {.accountant = Accountant::kFixedOrderRdp, .epsilon = fixed, .order = fixed_order()};
}

}  // namespace tacet::accounting
