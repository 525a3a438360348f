#include "tacet/accounting/privacy_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fmt/core.h"

#include "tacet/accounting/log_math.h"
#include "tacet/accounting/moments_accountant.h"
#include "tacet/accounting/pld_accountant.h"
#include "tacet/accounting/rdp_accountant.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

// What all rows of one view share.
PrivacyRow RowOf(const ObservedRounds& view, const FederationPrivacySpec& spec) {
  PrivacyRow row{.view = view.view,
                 .unit = spec.unit,
                 .neighbouring = spec.neighbouring,
                 .sampling = spec.unit == Unit::kClient ? spec.sampling : Sampling::kPoisson,
                 .standing = view.standing,
                 .delta = spec.delta,
                 .releases = view.releases,
                 .note = view.note};
  if (!view.round.empty()) {
    row.sampling = view.round.front().event.sampling;
  }
  for (const WeightedEvent& part : view.round) {
    row.noise_stddev += part.probability * part.event.noise_stddev;
    row.sampling_rate += part.probability * part.event.sampling_rate;
  }
  return row;
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
  }
  return "unknown";
}

absl::StatusOr<PrivacyRow> PrivacyRowOf(const ObservedRounds& view,
                                        const FederationPrivacySpec& spec, Accountant accountant) {
  PrivacyRow row = RowOf(view, spec);
  row.accountant = accountant;
  if (view.standing == Standing::kNone) {
    return row;
  }
  const std::vector<RepeatedEvent> stream = {{.round = view.round, .count = view.releases}};
  double epsilon = kInfinity;
  switch (accountant) {
    case Accountant::kMoments: {
      TACET_ASSIGN_OR_RETURN(const MomentsAccountant moments,
                             MomentsAccountant::CreateForMixture(view.round));
      TACET_ASSIGN_OR_RETURN(const MomentsResult result,
                             moments.Epsilon(view.releases, spec.delta));
      epsilon = result.epsilon;
      row.order = result.order;
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
  TACET_ASSIGN_OR_RETURN(const std::vector<ObservedRounds> views, ObserveFederation(spec));
  std::vector<PrivacyRow> rows;
  for (const ObservedRounds& view : views) {
    for (const Accountant accountant : {Accountant::kMoments, Accountant::kRdp, Accountant::kPld}) {
      // Without a guarantee one row says why; a convention is the moments accountant's.
      if (view.standing != Standing::kGuarantee && accountant != Accountant::kMoments) {
        continue;
      }
      TACET_ASSIGN_OR_RETURN(PrivacyRow row, PrivacyRowOf(view, spec, accountant));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

const PrivacyRow* Headline(const std::vector<PrivacyRow>& rows, View view) {
  const PrivacyRow* best = nullptr;
  for (const PrivacyRow& row : rows) {
    if (row.view != view || row.standing != Standing::kGuarantee || !row.epsilon) {
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

absl::StatusOr<double> LargestCarriedEpsilon(const FederationPrivacySpec& spec) {
  TACET_ASSIGN_OR_RETURN(const std::vector<ObservedRounds> views, ObserveFederation(spec));
  // The views without sampling first: their closed form is cheap and usually the largest. A view
  // whose cheap bound is below what was found needs no loss distribution.
  double largest = -kInfinity;
  double least_beyond = kInfinity;
  for (const bool sampled : {false, true}) {
    for (const ObservedRounds& view : views) {
      const bool is_sampled =
          view.round.size() != 1 || view.round.front().event.sampling != Sampling::kNone;
      if (view.standing != Standing::kGuarantee || is_sampled != sampled) {
        continue;
      }
      double bound = kInfinity;
      for (const Accountant accountant :
           {Accountant::kMoments, Accountant::kRdp, Accountant::kPld}) {
        if (bound > largest) {
          TACET_ASSIGN_OR_RETURN(const PrivacyRow row, PrivacyRowOf(view, spec, accountant));
          bound = std::min(bound, row.epsilon.value_or(kInfinity));
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
