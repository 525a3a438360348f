#include "tacet/accounting/privacy_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fmt/core.h"

#include "tacet/accounting/fixed_size_accountant.h"
#include "tacet/accounting/log_math.h"
#include "tacet/accounting/loss_rounds.h"
#include "tacet/accounting/moments_accountant.h"
#include "tacet/accounting/pld_accountant.h"
#include "tacet/accounting/rdp_accountant.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

// What all rows of one view share.
PrivacyRow RowOf(const ObservedRounds& observer, const FederationPrivacySpec& spec) {
  PrivacyRow row{.observer = observer.observer,
                 .unit = spec.unit,
                 .neighbouring = spec.neighbouring,
                 .sampling = spec.unit == Unit::kClient ? spec.sampling : Sampling::kPoisson,
                 .standing = observer.standing,
                 .hypothetical = observer.hypothetical,
                 .delta = spec.delta,
                 .releases = observer.releases,
                 .note = observer.note};
  if (!observer.round.empty()) {
    row.sampling = observer.round.front().event.sampling;
  }
  for (const WeightedEvent& part : observer.round) {
    row.noise_stddev += part.probability * part.event.noise_stddev;
    row.sampling_rate += part.probability * part.event.sampling_rate;
  }
  return row;
}

bool SamplesFixedSize(const ObservedRounds& observer) {
  return std::any_of(observer.round.begin(), observer.round.end(), [](const WeightedEvent& part) {
    return part.event.sampling == Sampling::kPoissonKnownSize ||
           (part.event.sampling == Sampling::kFixedSize && !IsUnsampled(part.event));
  });
}

}  // namespace

std::string_view AccountantName(Accountant accountant) {
  switch (accountant) {
    case Accountant::kMoments:
      return "moments";
    case Accountant::kRdp:
      return "rdp";
    case Accountant::kPld:
      return "pld";
    case Accountant::kFixedSizeTight:
      return "fixed-size-tight";
  }
  return "unknown";
}

absl::StatusOr<std::optional<PrivacyRow>> PrivacyRowOf(const ObservedRounds& observer,
                                                       const FederationPrivacySpec& spec,
                                                       Accountant accountant) {
  PrivacyRow row = RowOf(observer, spec);
  row.accountant = accountant;
  // Without a guarantee one row says why; a convention is the moments accountant's.
  if (observer.standing != Standing::kGuarantee && accountant != Accountant::kMoments) {
    return std::nullopt;
  }
  if (observer.standing == Standing::kNone) {
    return row;
  }
  const std::vector<RepeatedEvent> stream = {{.round = observer.round, .count = observer.releases}};
  double epsilon = kInfinity;
  switch (accountant) {
    case Accountant::kMoments: {
      TACET_ASSIGN_OR_RETURN(const MomentsAccountant moments,
                             MomentsAccountant::CreateForMixture(observer.round));
      TACET_ASSIGN_OR_RETURN(const MomentsResult result,
                             moments.Epsilon(observer.releases, spec.delta));
      epsilon = result.epsilon;
      row.order = result.order;
      if (row.standing == Standing::kGuarantee && SamplesFixedSize(observer)) {
        row.standing = Standing::kConvention;
        row.note +=
            "; the paper's accountant, for comparison: not proved to be an upper bound for "
            "cohorts whose size is known";
      }
      break;
    }
    case Accountant::kRdp: {
      TACET_ASSIGN_OR_RETURN(const RdpResult result, RdpEpsilon(stream, spec.delta));
      epsilon = result.epsilon;
      row.order = result.order;
      break;
    }
    case Accountant::kPld: {
      TACET_ASSIGN_OR_RETURN(const PldResult result, PldEpsilon(stream, spec.delta));
      epsilon = result.epsilon;
      row.epsilon_lower = result.epsilon_lower;
      if (!result.note.empty()) {
        row.note += "; " + result.note;
      }
      break;
    }
    case Accountant::kFixedSizeTight: {
      TACET_ASSIGN_OR_RETURN(const std::optional<FixedSizeResult> result,
                             FixedSizeEpsilon(stream, spec.delta));
      if (!result) return std::nullopt;
      epsilon = result->epsilon;
      row.epsilon_lower = result->epsilon_lower;
      break;
    }
  }
  if (std::isfinite(epsilon)) {
    row.epsilon = epsilon;
    if (row.standing == Standing::kGuarantee && epsilon > kLargestCarriedEpsilon) {
      row.note += fmt::format("; above {:g} it holds for exact arithmetic only and protects nobody",
                              kLargestCarriedEpsilon);
    }
  } else {
    row.standing = Standing::kNone;
    row.order = 0;
    row.epsilon_lower.reset();
    row.note = row.noise_stddev > 0 ? "no finite bound: some round leaves no noise that this view "
                                      "does not know"
                                    : "no noise that this view does not know";
  }
  return row;
}

absl::StatusOr<std::vector<PrivacyRow>> PrivacyRows(const FederationPrivacySpec& spec) {
  TACET_ASSIGN_OR_RETURN(const std::vector<ObservedRounds> observers, ObserveFederation(spec));
  std::vector<PrivacyRow> rows;
  for (const ObservedRounds& observer : observers) {
    for (const Accountant accountant : kAccountants) {
      TACET_ASSIGN_OR_RETURN(std::optional<PrivacyRow> row,
                             PrivacyRowOf(observer, spec, accountant));
      if (row) rows.push_back(*std::move(row));
    }
  }
  return rows;
}

const PrivacyRow* Headline(const std::vector<PrivacyRow>& rows, Observer observer) {
  const PrivacyRow* best = nullptr;
  for (const PrivacyRow& row : rows) {
    if (row.observer != observer || row.standing != Standing::kGuarantee || !row.epsilon) {
      continue;
    }
    // The same view may stand for several numbers of participations: the most releases count.
    if (best == nullptr || row.releases > best->releases ||
        (row.releases == best->releases && *row.epsilon < *best->epsilon)) {
      best = &row;
    }
  }
  return best;
}

const PrivacyRow* WorstHeadline(const std::vector<PrivacyRow>& rows) {
  const PrivacyRow* worst = nullptr;
  for (const PrivacyRow& row : rows) {
    if (row.hypothetical || row.observer == Observer::kServerWithKeyHolder ||
        row.observer == Observer::kPublishedParticipant) {
      continue;
    }
    const PrivacyRow* headline = Headline(rows, row.observer);
    if (headline == nullptr) return &row;
    if (worst == nullptr || *headline->epsilon > *worst->epsilon) worst = headline;
  }
  return worst;
}

namespace {

bool IsSampled(const ObservedRounds& observer) {
  return observer.round.size() != 1 || !IsUnsampled(observer.round.front().event);
}

// True when `other` loses at least as much in every round and has at least as many rounds.
bool IsDominated(const ObservedRounds& observer, const ObservedRounds& other) {
  if (observer.round.size() != 1 || other.round.size() != 1 || other.releases < observer.releases) {
    return false;
  }
  const SamplingEvent& a = observer.round.front().event;
  const SamplingEvent& b = other.round.front().event;
  if (b.noise_stddev > a.noise_stddev || b.clip_norm < a.clip_norm) return false;
  if (IsUnsampled(b)) return true;
  return a.sampling == b.sampling && a.pool == b.pool && a.least == b.least &&
         b.sampling_rate >= a.sampling_rate;
}

struct WorstFound {
  const ObservedRounds* observer = nullptr;
  PrivacyRow row;
};

// The views without sampling first: their closed form is cheap and usually the largest. A view
// whose cheap bound is below what was found needs no loss distribution.
absl::StatusOr<WorstFound> FindWorst(const FederationPrivacySpec& spec,
                                     const std::vector<ObservedRounds>& observers) {
  std::vector<const ObservedRounds*> candidates;
  for (const ObservedRounds& observer : observers) {
    if (observer.standing != Standing::kGuarantee || observer.hypothetical) continue;
    if (std::any_of(candidates.begin(), candidates.end(),
                    [&](const ObservedRounds* other) { return IsDominated(observer, *other); })) {
      continue;
    }
    std::erase_if(candidates,
                  [&](const ObservedRounds* other) { return IsDominated(*other, observer); });
    candidates.push_back(&observer);
  }
  WorstFound worst;
  for (const bool sampled : {false, true}) {
    for (const ObservedRounds* candidate : candidates) {
      const ObservedRounds& observer = *candidate;
      if (IsSampled(observer) != sampled) continue;
      std::optional<PrivacyRow> best;
      for (const Accountant accountant : {Accountant::kRdp, Accountant::kMoments, Accountant::kPld,
                                          Accountant::kFixedSizeTight}) {
        if (best && best->epsilon && worst.observer != nullptr && worst.row.epsilon &&
            *best->epsilon <= *worst.row.epsilon) {
          break;
        }
        TACET_ASSIGN_OR_RETURN(std::optional<PrivacyRow> row,
                               PrivacyRowOf(observer, spec, accountant));
        if (!row || row->standing == Standing::kConvention) continue;
        const double before = best ? best->epsilon.value_or(kInfinity) : kInfinity;
        if (!best || row->epsilon.value_or(kInfinity) < before) best = std::move(row);
      }
      if (!best) continue;
      const bool larger = worst.observer == nullptr ||
                          best->epsilon.value_or(kInfinity) > worst.row.epsilon.value_or(kInfinity);
      if (larger) worst = {.observer = &observer, .row = *std::move(best)};
    }
  }
  if (worst.observer == nullptr) {
    return base::FailedPrecondition("no observer of this federation has a privacy guarantee");
  }
  return worst;
}

}  // namespace

absl::StatusOr<PrivacyRow> WorstRow(const FederationPrivacySpec& spec) {
  TACET_ASSIGN_OR_RETURN(const std::vector<ObservedRounds> observers, ObserveFederation(spec));
  TACET_ASSIGN_OR_RETURN(WorstFound worst, FindWorst(spec, observers));
  return std::move(worst.row);
}

absl::StatusOr<ObservedRounds> WorstObserver(const FederationPrivacySpec& spec) {
  TACET_ASSIGN_OR_RETURN(const std::vector<ObservedRounds> observers, ObserveFederation(spec));
  TACET_ASSIGN_OR_RETURN(const WorstFound worst, FindWorst(spec, observers));
  return *worst.observer;
}

absl::StatusOr<double> LargestCarriedEpsilon(const FederationPrivacySpec& spec) {
  TACET_ASSIGN_OR_RETURN(const std::vector<ObservedRounds> observers, ObserveFederation(spec));
  double largest = -kInfinity;
  double least_beyond = kInfinity;
  for (const bool sampled : {false, true}) {
    for (const ObservedRounds& observer : observers) {
      if (observer.standing != Standing::kGuarantee || IsSampled(observer) != sampled) {
        continue;
      }
      double bound = kInfinity;
      for (const Accountant accountant : {Accountant::kRdp, Accountant::kPld}) {
        if (bound > largest) {
          TACET_ASSIGN_OR_RETURN(const std::optional<PrivacyRow> row,
                                 PrivacyRowOf(observer, spec, accountant));
          if (row) bound = std::min(bound, row->epsilon.value_or(kInfinity));
        }
      }
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
        "no view of this federation has a privacy guarantee: its noise "
        "is {} for a clip norm of {}",
        spec.noise_stddev, spec.clip_norm);
  }
  return least_beyond;
}

}  // namespace tacet::accounting
