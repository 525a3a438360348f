#include "tacet/accounting/terms_changes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tacet/accounting/loss_rounds.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

using Observed = std::vector<ObservedRounds>;

const ObservedRounds* Find(const Observed& all, Observer observer) {
  const auto found = std::ranges::find(all, observer, &ObservedRounds::observer);
  return found == all.end() ? nullptr : &*found;
}

// Where everybody is in every cohort, a client that was in none is the more knowing one that was.
const ObservedRounds* FindOrWorse(const Observed& all, Observer observer) {
  const ObservedRounds* found = Find(all, observer);
  return found == nullptr && observer == Observer::kParticipantOutOfCohort
             ? Find(all, Observer::kParticipantInCohort)
             : found;
}

// One observer under each of the terms, of which `attempts` were charged.
ObservedRounds Compose(const std::vector<const ObservedRounds*>& under, TermsInTurn terms,
                       uint64_t attempts) {
  ObservedRounds composed = *under.back();
  std::vector<CountedEvent> events;
  bool all_counted = true;
  for (size_t i = 0; i < under.size(); ++i) {
    const ObservedRounds& part = *under[i];
    if (composed.note.find(part.note) == std::string::npos) {
      composed.note += "; under other terms of this training: " + part.note;
    }
    if (part.standing == Standing::kNone) {
      return {.observer = composed.observer, .standing = Standing::kNone, .note = part.note};
    }
    composed.releases = std::max(composed.releases, part.releases);
    composed.terms_changed = composed.terms_changed || part.round != composed.round;
    events.push_back({.event = WorstForm(part.round), .count = terms[i].rounds});
    all_counted = all_counted && (!terms[i].own_rounds || IsUnsampled(events.back().event));
  }
  if (!composed.terms_changed) return composed;
  composed.round = {{.event = WorstEvent(events)}};
  // Which of the rounds are counted is open where there are more.
  if (all_counted && composed.releases == attempts) composed.by_terms = std::move(events);
  return composed;
}

}  // namespace

absl::Status CheckSameGuarantee(const FederationPrivacySpec& before,
                                const FederationPrivacySpec& now) {
  const auto changed = [](std::string_view setting, const auto& was, const auto& is) {
    return base::InvalidArgument(
        "{} is {}, and it was {} before: no guarantee covers both. Keep it as long as a training "
        "continues, or begin another training",
        setting, is, was);
  };
  const PrivacyTarget& was = before.privacy;
  const PrivacyTarget& is = now.privacy;
  if (was.unit != is.unit) return changed("privacy.unit", UnitName(was.unit), UnitName(is.unit));
  if (was.neighbouring != is.neighbouring) {
    return changed("privacy.neighbouring", NeighbouringName(was.neighbouring),
                   NeighbouringName(is.neighbouring));
  }
  if (was.delta != is.delta) return changed("privacy.delta", was.delta, is.delta);
  if (was.colluders != is.colluders) {
    return changed("privacy.colluders", was.colluders, is.colluders);
  }
  if (was.budget_epsilon != is.budget_epsilon) {
    return changed("privacy.budget_epsilon", was.budget_epsilon, is.budget_epsilon);
  }
  if (before.sampling.dummy_uploads != now.sampling.dummy_uploads) {
    return changed("federation.dummy_uploads", before.sampling.dummy_uploads,
                   now.sampling.dummy_uploads);
  }
  if ((before.committee_seats == 0) != (now.committee_seats == 0)) {
    return changed("the number of committee seats", before.committee_seats, now.committee_seats);
  }
  if (before.mechanism.makes_guarantee() != now.mechanism.makes_guarantee()) {
    return changed("noise with clipping", before.mechanism.makes_guarantee(),
                   now.mechanism.makes_guarantee());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ObservedRounds>> ObserveTraining(TermsInTurn terms) {
  if (terms.size() == 1) return ObserveFederation(terms.front());
  uint64_t attempts = 0;
  for (const FederationPrivacySpec& one : terms) attempts += one.rounds;
  std::vector<Observed> under;
  for (const FederationPrivacySpec& one : terms) {
    TACET_RETURN_IF_ERROR(CheckSameGuarantee(terms.front(), one));
    // Limits of participations count over all attempts.
    FederationPrivacySpec all = one;
    all.rounds = attempts;
    TACET_ASSIGN_OR_RETURN(under.emplace_back(), ObserveFederation(all));
  }
  Observed composed;
  for (const NamedObserver& named : kObservers) {
    const Observer observer = named.observer;
    if (std::ranges::none_of(under, [&](const Observed& all) { return Find(all, observer); })) {
      continue;
    }
    std::vector<const ObservedRounds*> parts;
    for (const Observed& all : under) parts.push_back(FindOrWorse(all, observer));
    if (std::ranges::find(parts, nullptr) != parts.end()) {
      return base::InvalidArgument("there is no {} under some of the terms, under others there is",
                                   named.name);
    }
    composed.push_back(Compose(parts, terms, attempts));
    composed.back().observer = observer;
  }
  return composed;
}

}  // namespace tacet::accounting
