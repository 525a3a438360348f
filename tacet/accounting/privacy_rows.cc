#include "tacet/accounting/privacy_rows.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "fmt/core.h"

#include "tacet/accounting/log_math.h"
#include "tacet/accounting/loss_rounds.h"
#include "tacet/accounting/privacy_filter.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

// The fields that all rows of one observer share.
PrivacyRow RowOf(const ObservedRounds& observed, const FederationPrivacySpec& federation) {
  PrivacyRow row{.observer = observed.observer,
                 .unit = federation.privacy.unit,
                 .neighbouring = federation.privacy.neighbouring,
                 .sampling = federation.privacy.unit == Unit::kClient
                                 ? *Resolved(federation).sampling.method
                                 : Sampling::kPoisson,
                 .standing = observed.standing,
                 .hypothetical = observed.hypothetical,
                 .delta = federation.privacy.delta,
                 .noise_law = federation.mechanism.noise_law,
                 .releases = observed.releases,
                 .note = observed.note};
  if (!observed.round.empty()) row.sampling = observed.round.front().event.sampling;
  for (const WeightedEvent& part : observed.round) {
    row.noise_stddev += part.probability * part.event.noise_stddev;
    row.sampling_rate += part.probability * part.event.sampling_rate;
  }
  return row;
}

void SetBound(const EpsilonBound& bound, PrivacyRow& row) {
  row.accountant = bound.accountant;
  if (!std::isfinite(bound.epsilon)) {
    row.standing = Standing::kNone;
    row.note = row.noise_stddev > 0
                   ? "no finite bound: some round leaves no noise that this observer "
                     "does not know"
                   : "no noise that this observer does not know";
    return;
  }
  row.epsilon = bound.epsilon;
  row.epsilon_lower = bound.epsilon_lower;
  row.order = bound.order;
  if (row.standing != Standing::kGuarantee) return;
  if (!bound.note.empty()) row.note += "; " + bound.note;
  if (!bound.is_proved) {
    row.standing = Standing::kConvention;
  } else if (bound.epsilon > kLargestCarriedEpsilon) {
    row.note += fmt::format("; above {:g} it holds for exact arithmetic only and protects nobody",
                            kLargestCarriedEpsilon);
  }
}

// The bound, of those with a number of clients that are always here, that shows most.
const EpsilonBound* LargestAttained(const EpsilonBounds& bounds) {
  const EpsilonBound* largest = nullptr;
  for (const EpsilonBound& bound : bounds.rows) {
    if (!bound.attained_here || !(bound.epsilon_lower > 0.0)) continue;
    if (largest == nullptr || bound.epsilon_lower > largest->epsilon_lower) largest = &bound;
  }
  return largest;
}

// Notes the distance of a row from what an adversary attains that lets clients be absent.
void NoteAttained(const EpsilonBound& attained, PrivacyRow& row) {
  if (row.standing != Standing::kGuarantee || !row.epsilon) return;
  row.note += fmt::format(
      "; any number of clients may be absent: with always {} here {:.3f} is attained, {:.1f} % "
      "less",
      *attained.attained_here, *attained.epsilon_lower,
      100 * (1 - *attained.epsilon_lower / *row.epsilon));
}

// Each plan's terms are for all attempts that it permits.
void AddImplementationTerms(std::span<const dp::MechanismPlan* const> plans,
                            std::vector<PrivacyRow>& rows) {
  if (plans.empty()) return;
  for (PrivacyRow& row : rows) {
    if (row.standing != Standing::kGuarantee || !row.epsilon) continue;
    row.implementation.emplace();
    for (const dp::MechanismPlan* plan : plans) {
      const dp::ImplementationTerms terms = plan->TermsAt(*row.epsilon, row.delta);
      row.implementation->epsilon += terms.epsilon;
      row.implementation->delta = std::min(1.0, row.implementation->delta + terms.delta);
    }
  }
}

// Under the terms of each round.
absl::StatusOr<PrivacyRow> JudgedRow(const ObservedRounds& observed,
                                     const FederationPrivacySpec& federation) {
  TACET_ASSIGN_OR_RETURN(PrivacyFilter filter,
                         PrivacyFilter::Create({.budget_epsilon = federation.privacy.budget_epsilon,
                                                .delta = federation.privacy.delta,
                                                .composition = Composition::kAnyEvents}));
  for (const auto& [event, count] : observed.by_terms) {
    TACET_RETURN_IF_ERROR(filter.Add(event, count));
  }
  PrivacyRow row = RowOf(observed, federation);
  row.note += "; terms changed, and each attempt counts under its own";
  SetBound(filter.JudgedBound(), row);
  return row;
}

bool IsGuaranteed(const ObservedRounds& observed) {
  return observed.standing == Standing::kGuarantee && !observed.hypothetical;
}

bool IsSampled(const ObservedRounds& observed) {
  return observed.round.size() != 1 || !IsUnsampled(observed.round.front().event);
}

// True when `other` loses at least as much in every round and has at least as many rounds.
bool IsDominated(const ObservedRounds& observed, const ObservedRounds& other) {
  if (observed.round.size() != 1 || other.round.size() != 1 || other.releases < observed.releases) {
    return false;
  }
  // Bounds of a mixed kind: the worst rounds do not say which is larger.
  if (!observed.by_terms.empty() || !other.by_terms.empty()) return false;
  const SamplingEvent& a = observed.round.front().event;
  const SamplingEvent& b = other.round.front().event;
  if (a.pure_epsilon > 0 || b.pure_epsilon > 0) {
    return a.pure_epsilon > 0 && b.pure_epsilon >= a.pure_epsilon;
  }
  if (b.noise_stddev > a.noise_stddev || b.clip_norm < a.clip_norm) return false;
  if (IsUnsampled(b)) return true;
  return a.sampling == b.sampling && a.pool == b.pool && a.least == b.least &&
         (b.pool > 0 ? b.sampling_rate == a.sampling_rate : b.sampling_rate >= a.sampling_rate);
}

// The guaranteed observers of which one is the worst.
std::vector<const ObservedRounds*> CandidatesAmong(
    const std::vector<ObservedRounds>& all_observed) {
  std::vector<const ObservedRounds*> candidates;
  for (const ObservedRounds& observed : all_observed) {
    if (!IsGuaranteed(observed)) continue;
    if (std::ranges::any_of(candidates, [&](const ObservedRounds* other) {
          return IsDominated(observed, *other);
        })) {
      continue;
    }
    std::erase_if(candidates,
                  [&](const ObservedRounds* other) { return IsDominated(*other, observed); });
    candidates.push_back(&observed);
  }
  return candidates;
}

// The smallest guaranteed bound of one observer's rows; a row without a number when there is none.
size_t SmallestOf(std::span<const PrivacyRow> rows) {
  std::optional<size_t> smallest;
  size_t without_number = 0;
  for (size_t i = rows.size(); i-- > 0;) {
    if (!rows[i].epsilon) without_number = i;
    if (rows[i].standing != Standing::kGuarantee || !rows[i].epsilon) continue;
    if (!smallest || *rows[i].epsilon <= *rows[*smallest].epsilon) smallest = i;
  }
  return smallest.value_or(without_number);
}

// The observers without sampling first: their closed form is cheap and usually the largest. An
// observer whose cheap bound is below what was found needs no loss distribution.
absl::StatusOr<Guarantees> HeadlineAmong(const std::vector<ObservedRounds>& all_observed,
                                         const FederationPrivacySpec& federation) {
  constexpr Accountant kByRisingCost[] = {Accountant::kRdp, Accountant::kMoments, Accountant::kPld,
                                          Accountant::kFixedSizeTight};
  const std::vector<const ObservedRounds*> candidates = CandidatesAmong(all_observed);
  Guarantees found;
  for (const bool sampled : {false, true}) {
    for (const ObservedRounds* observed : candidates) {
      if (IsSampled(*observed) != sampled) continue;
      const double enough = found.worst ? found.epsilon() : -1;
      TACET_ASSIGN_OR_RETURN(std::vector<PrivacyRow> rows,
                             RowsOfObserver(*observed, federation, kByRisingCost, enough));
      const size_t smallest = SmallestOf(rows);
      if (!found.worst || rows[smallest].epsilon.value_or(kInfinity) > found.epsilon()) {
        found.worst = found.rows.size() + smallest;
        found.worst_observed = *observed;
      }
      std::ranges::move(rows, std::back_inserter(found.rows));
    }
  }
  return found;
}

absl::StatusOr<Guarantees> AllRows(const std::vector<ObservedRounds>& all_observed,
                                   const FederationPrivacySpec& federation) {
  Guarantees all;
  for (const ObservedRounds& observed : all_observed) {
    TACET_ASSIGN_OR_RETURN(std::vector<PrivacyRow> rows, RowsOfObserver(observed, federation));
    const size_t smallest = all.rows.size() + SmallestOf(rows);
    std::ranges::move(rows, std::back_inserter(all.rows));
    if (!IsGuaranteed(observed)) continue;
    if (!all.worst || all.rows[smallest].epsilon.value_or(kInfinity) > all.epsilon()) {
      all.worst = smallest;
      all.worst_observed = observed;
    }
  }
  return all;
}

}  // namespace

absl::StatusOr<std::vector<PrivacyRow>> RowsOfObserver(const ObservedRounds& observed,
                                                       const FederationPrivacySpec& federation,
                                                       std::span<const Accountant> accountants,
                                                       double enough) {
  std::vector<PrivacyRow> rows;
  if (observed.standing == Standing::kNone) {
    rows.push_back(RowOf(observed, federation));
    return rows;
  }
  constexpr Accountant kConvention[] = {Accountant::kMoments};
  if (observed.standing == Standing::kConvention) {
    if (std::ranges::find(accountants, Accountant::kMoments) == accountants.end()) return rows;
    accountants = kConvention;
  }
  TACET_ASSIGN_OR_RETURN(const EpsilonBounds bounds,
                         BoundEpsilon({{.round = observed.round, .count = observed.releases}},
                                      federation.privacy.delta, accountants, enough));
  const EpsilonBound* const attained = LargestAttained(bounds);
  for (const EpsilonBound& bound : bounds.rows) {
    PrivacyRow& row = rows.emplace_back(RowOf(observed, federation));
    if (observed.terms_changed) {
      row.note += "; terms changed, and all attempts count under the worst of them";
    }
    SetBound(bound, row);
    if (attained != nullptr) NoteAttained(*attained, row);
  }
  if (observed.standing == Standing::kGuarantee && !observed.by_terms.empty()) {
    TACET_ASSIGN_OR_RETURN(rows.emplace_back(), JudgedRow(observed, federation));
  }
  return rows;
}

const PrivacyRow* Guarantees::headline() const { return worst ? &rows[*worst] : nullptr; }

double Guarantees::epsilon() const {
  return worst ? rows[*worst].epsilon.value_or(kInfinity) : kInfinity;
}

const PrivacyRow* Guarantees::HeadlineOf(Observer observer) const {
  const PrivacyRow* best = nullptr;
  for (const PrivacyRow& row : rows) {
    if (row.observer != observer || row.standing != Standing::kGuarantee || !row.epsilon) {
      continue;
    }
    // The same observer may stand for several numbers of participations: the most releases count.
    if (best == nullptr || row.releases > best->releases ||
        (row.releases == best->releases && *row.epsilon < *best->epsilon)) {
      best = &row;
    }
  }
  return best;
}

absl::StatusOr<Guarantees> GuaranteesOf(const FederationPrivacySpec& federation, Extent extent,
                                        const dp::MechanismPlan* plan) {
  return GuaranteesOfTraining({&federation, 1}, extent, {&plan, plan == nullptr ? 0u : 1u});
}

absl::StatusOr<Guarantees> GuaranteesOfTraining(TermsInTurn terms, Extent extent,
                                                std::span<const dp::MechanismPlan* const> plans) {
  const FederationPrivacySpec& present = terms.back();
  if (!present.mechanism.makes_guarantee()) return Guarantees();
  TACET_ASSIGN_OR_RETURN(const std::vector<ObservedRounds> all_observed, ObserveTraining(terms));
  TACET_ASSIGN_OR_RETURN(Guarantees guarantees, extent == Extent::kAllRows
                                                    ? AllRows(all_observed, present)
                                                    : HeadlineAmong(all_observed, present));
  AddImplementationTerms(plans, guarantees.rows);
  return guarantees;
}

void StopAtBudget(double budget_epsilon, Guarantees& guarantees) {
  const PrivacyRow* const before = guarantees.headline();
  if (before == nullptr || !before->epsilon || *before->epsilon <= budget_epsilon) return;
  // Rows of one observer stand together, and so do those of its hypothetical form.
  const auto same = [](const PrivacyRow& a, const PrivacyRow& b) {
    return a.observer == b.observer && a.hypothetical == b.hypothetical;
  };
  std::vector<PrivacyRow> rows;
  std::optional<size_t> worst;
  for (size_t first = 0, end = 0; first < guarantees.rows.size(); first = end) {
    while (end < guarantees.rows.size() && same(guarantees.rows[end], guarantees.rows[first]))
      ++end;
    const std::span<const PrivacyRow> group(&guarantees.rows[first], end - first);
    size_t smallest = rows.size() + SmallestOf(group);
    rows.insert(rows.end(), group.begin(), group.end());
    const bool is_guaranteed = std::ranges::any_of(group, [](const PrivacyRow& row) {
      return row.standing == Standing::kGuarantee && !row.hypothetical;
    });
    if (!is_guaranteed) continue;
    if (rows[smallest].epsilon.value_or(kInfinity) > budget_epsilon) {
      PrivacyRow row = rows[smallest];
      row.accountant = Accountant::kBudget;
      row.standing = Standing::kGuarantee;
      row.epsilon = budget_epsilon;
      row.epsilon_lower.reset();
      row.order = 0;
      row.note += "; members stop at the budget of their agreement";
      smallest = rows.size();
      rows.push_back(std::move(row));
    }
    if (!worst || *rows[smallest].epsilon > *rows[*worst].epsilon) worst = smallest;
  }
  guarantees.rows = std::move(rows);
  guarantees.worst = worst;
}

absl::StatusOr<std::optional<SamplingEvent>> WorstRound(const FederationPrivacySpec& federation) {
  TACET_ASSIGN_OR_RETURN(const std::vector<ObservedRounds> all, ObserveFederation(federation));
  std::vector<CountedEvent> rounds;
  for (const ObservedRounds& observed : all) {
    if (IsGuaranteed(observed)) rounds.push_back({.event = WorstForm(observed.round), .count = 1});
  }
  if (rounds.empty()) return std::nullopt;
  return WorstEvent(rounds);
}

absl::StatusOr<double> LargestCarriedEpsilon(const FederationPrivacySpec& federation) {
  constexpr Accountant kQuick[] = {Accountant::kRdp, Accountant::kPld};
  TACET_ASSIGN_OR_RETURN(const std::vector<ObservedRounds> all_observed,
                         ObserveFederation(federation));
  double largest = -kInfinity;
  double least_beyond = kInfinity;
  for (const bool sampled : {false, true}) {
    for (const ObservedRounds& observed : all_observed) {
      if (observed.standing != Standing::kGuarantee || IsSampled(observed) != sampled) continue;
      TACET_ASSIGN_OR_RETURN(const std::vector<PrivacyRow> rows,
                             RowsOfObserver(observed, federation, kQuick, largest));
      double bound = kInfinity;
      for (const PrivacyRow& row : rows) bound = std::min(bound, row.epsilon.value_or(kInfinity));
      if (bound <= kLargestCarriedEpsilon) {
        largest = std::max(largest, bound);
      } else {
        least_beyond = std::min(least_beyond, bound);
      }
    }
  }
  if (largest >= 0) return largest;
  if (!std::isfinite(least_beyond)) {
    return base::FailedPrecondition(
        "no observer of this federation has a privacy guarantee: its noise "
        "is {} for a clip norm of {}",
        federation.mechanism.noise_stddev, federation.mechanism.clip_norm);
  }
  return least_beyond;
}

}  // namespace tacet::accounting
