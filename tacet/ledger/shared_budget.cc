#include "tacet/ledger/shared_budget.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "fmt/core.h"
#include <unistd.h>

#include "tacet/accounting/epsilon_bounds.h"
#include "tacet/base/status.h"
#include "tacet/ledger/attempt_cost.h"

namespace tacet::ledger {
namespace {

using accounting::PrivacyFilter;
using accounting::SamplingEvent;

constexpr double kMostNoise = 1e6;   // over the event's own, or over its clip norm
constexpr double kPrecision = 1e-4;  // relative, of a noise that is looked for

// The event with `factor` times the noise.
SamplingEvent WithNoise(SamplingEvent event, double factor) {
  event.noise_stddev *= factor;
  event.pure_epsilon /= factor;
  return event;
}

bool Fits(PrivacyFilter filter, const SamplingEvent& event, uint64_t count) {
  const absl::StatusOr<uint64_t> fits = filter.ChargesThatFit(event, count);
  return fits.ok() && *fits == count;
}

// The least factor on the event's noise, at least `low`, with which `count` of it fit.
std::optional<double> LeastNoiseFactor(const PrivacyFilter& filter, const SamplingEvent& event,
                                       uint64_t count, double low) {
  double high = kMostNoise;
  if (!Fits(filter, WithNoise(event, high), count)) return std::nullopt;
  while (high > low * (1 + kPrecision)) {
    const double middle = std::sqrt(low * high);
    (Fits(filter, WithNoise(event, middle), count) ? high : low) = middle;
  }
  return high;
}

// The next step of somebody whose run was refused.
std::string Advice(const PrivacyFilter& filter, const SamplingEvent& event, uint64_t count,
                   const agreement::ManifestSpec& agreed) {
  const std::optional<double> factor = LeastNoiseFactor(filter, event, count, 1);
  if (!factor.has_value()) return "no noise makes this run fit: nothing is left";
  if (event.pure_epsilon > 0) {
    return fmt::format("it would fit with a target_epsilon of {:.3g} or less",
                       std::floor(event.pure_epsilon / *factor * 1e3) / 1e3);
  }
  const double multiplier = agreed.mechanism.noise_stddev / agreed.mechanism.clip_norm * *factor;
  return fmt::format("it would fit with a noise_multiplier of {:.4g} or more (now {:.4g})",
                     multiplier * (1 + 1e-3),
                     agreed.mechanism.noise_stddev / agreed.mechanism.clip_norm);
}

}  // namespace

RunCharge::~RunCharge() { budget_->End(run_, permitted_ - std::min(made_, permitted_)); }

SharedBudget::SharedBudget(const BudgetTerms& terms, PrivacyFilter filter)
    : terms_(terms), process_(::getpid()), filter_(std::move(filter)) {}

absl::StatusOr<std::shared_ptr<SharedBudget>> SharedBudget::Create(const BudgetTerms& terms) {
  if (!(terms.epsilon > 0 && std::isfinite(terms.epsilon))) {
    return base::InvalidArgument("budget_epsilon = {}: wanted a finite number above 0",
                                 terms.epsilon);
  }
  TACET_ASSIGN_OR_RETURN(
      PrivacyFilter filter,
      PrivacyFilter::Create({.budget_epsilon = terms.epsilon,
                             .delta = terms.delta,
                             .composition = accounting::Composition::kAnyEvents}));
  return std::shared_ptr<SharedBudget>(new SharedBudget(terms, std::move(filter)));
}

absl::StatusOr<std::unique_ptr<RunCharge>> SharedBudget::Charge(
    std::string_view name, const agreement::ManifestSpec& agreed) {
  TACET_RETURN_IF_ERROR(CheckProcess());
  if (agreed.privacy.unit != terms_.unit) {
    return base::InvalidArgument(
        "unit is {} in this run and {} in the session: epsilons of different units do not add up. "
        "Give the run the session's unit, or make a session for unit {}",
        accounting::UnitName(agreed.privacy.unit), accounting::UnitName(terms_.unit),
        accounting::UnitName(agreed.privacy.unit));
  }
  if (agreed.privacy.neighbouring != terms_.neighbouring) {
    return base::InvalidArgument(
        "neighbouring is {} in this run and {} in the session: give the run the session's, or make "
        "a session with neighbouring {}",
        accounting::NeighbouringName(agreed.privacy.neighbouring),
        accounting::NeighbouringName(terms_.neighbouring),
        accounting::NeighbouringName(agreed.privacy.neighbouring));
  }
  const SamplingEvent event = AttemptEvent(agreed, ChargingRule::kAnnouncedAttempts);
  const uint64_t permitted = uint64_t{agreed.rounds} + agreed.spare_attempts;
  const base::MutexLock lock(mutex_);
  const absl::Status room = filter_.CheckRoomFor(event, permitted);
  if (room.code() == absl::StatusCode::kResourceExhausted) {
    return base::ResourceExhausted(
        "the session's budget refuses this run, before it spends: {}; {}", base::Message(room),
        Advice(filter_, event, permitted, agreed));
  }
  TACET_RETURN_IF_ERROR(room);
  TACET_RETURN_IF_ERROR(filter_.Add(event, permitted));
  runs_.push_back({.name = std::string(name), .event = event, .attempts = permitted});
  return std::make_unique<RunCharge>(shared_from_this(), runs_.size() - 1, permitted);
}

void SharedBudget::End(size_t run, uint64_t unmade) {
  const base::MutexLock lock(mutex_);
  BudgetedRun& ended = runs_[run];
  ended.ended = true;
  if (unmade > 0 && filter_.Remove(ended.event, unmade).ok()) ended.attempts -= unmade;
}

absl::Status SharedBudget::CheckProcess() const {
  if (::getpid() == process_) return absl::OkStatus();
  return base::FailedPrecondition(
      "the session is of process {}: what this process spends would not be counted there. Use "
      "threads, or let process {} make the calls",
      process_, process_);
}

absl::StatusOr<PrivacyFilter> SharedBudget::Filter() const {
  TACET_RETURN_IF_ERROR(CheckProcess());
  const base::MutexLock lock(mutex_);
  return filter_;
}

absl::StatusOr<double> SharedBudget::Spent() const {
  TACET_ASSIGN_OR_RETURN(const PrivacyFilter filter, Filter());
  TACET_ASSIGN_OR_RETURN(const accounting::EpsilonBounds bounds, filter.Epsilon());
  return bounds.epsilon();
}

absl::StatusOr<double> SharedBudget::Remaining() const {
  TACET_ASSIGN_OR_RETURN(const PrivacyFilter filter, Filter());
  SamplingEvent release{.unit = terms_.unit,
                        .neighbouring = terms_.neighbouring,
                        .sampling = accounting::Sampling::kNone,
                        .noise_stddev = 1};
  const std::optional<double> noise = LeastNoiseFactor(filter, release, 1, 1 / kMostNoise);
  if (!noise.has_value()) return 0;
  release.noise_stddev = *noise;
  TACET_ASSIGN_OR_RETURN(const accounting::EpsilonBounds bounds,
                         accounting::BoundEpsilon(accounting::Repeated(release, 1), terms_.delta));
  return bounds.epsilon();
}

absl::StatusOr<std::vector<BudgetedRun>> SharedBudget::Runs() const {
  TACET_RETURN_IF_ERROR(CheckProcess());
  const base::MutexLock lock(mutex_);
  return runs_;
}

}  // namespace tacet::ledger
