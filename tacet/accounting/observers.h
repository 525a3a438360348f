// Adversary model: for each kind of observer of a federation, the privacy events that match its
// knowledge.
#ifndef TACET_ACCOUNTING_OBSERVERS_H_
#define TACET_ACCOUNTING_OBSERVERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/federation_privacy.h"
#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

enum class Observer {
  kExternal,                // sees every model, knows no cohort
  kParticipantInCohort,     // a client who is in every round: knows its own noise
  kParticipantOutOfCohort,  // a client who is in no round
  kColluders,               // c clients together
  kCohortAware,             // server, network, operators: know who took part, see every model
  kTrafficAware,            // the same where dummy uploads hide who took part
  kCoalition,               // server and c members, at most f of them on the committee
  kServerWithKeyHolder,     // without a committee: decrypts single uploads
  kPublishedParticipant,    // the paper's convention: noise (1 - chi) sigma, chi = max(1, c) / K
};

// The name of each in tables, JSON, flags and Python, in the order of the enumeration.
struct NamedObserver {
  Observer observer;
  std::string_view name;
};
inline constexpr NamedObserver kObservers[] = {
    {Observer::kExternal, "external"},
    {Observer::kParticipantInCohort, "participant-in-cohort"},
    {Observer::kParticipantOutOfCohort, "participant-out-of-cohort"},
    {Observer::kColluders, "colluders"},
    {Observer::kCohortAware, "cohort-aware"},
    {Observer::kTrafficAware, "traffic-aware"},
    {Observer::kCoalition, "coalition"},
    {Observer::kServerWithKeyHolder, "server-with-key-holder"},
    {Observer::kPublishedParticipant, "participant-published"},
};
std::string_view ObserverName(Observer observer);

// Standing of a figure: guaranteed, a convention of the paper shown for comparison, or absent.
enum class Standing { kGuarantee, kConvention, kNone };
std::string_view StandingName(Standing standing);

// Observations by one observer: `releases` times the same mixture of events.
struct ObservedRounds {
  Observer observer = Observer::kExternal;
  Standing standing = Standing::kGuarantee;
  // Shown next to the others but never the figure that counts: an observer who learns what the
  // protocol hides, or a number of participations that is only to be expected.
  bool hypothetical = false;
  std::vector<WeightedEvent> round = {};  // empty when standing is kNone
  uint64_t releases = 0;
  // The terms changed while it continued (terms_changes.h), and this observer sees that: `round`
  // reveals at least as much as any of the rounds. `by_terms` has the rounds of each of the terms,
  // as far as all of them are counted.
  bool terms_changed = false;
  std::vector<CountedEvent> by_terms = {};
  // Assumptions of the figure, an honest draw of the cohorts among them where it amplifies; for
  // kNone the reason.
  std::string note = {};
};

// Every observer of a checked federation, external observer first. Unit client:
//   external          noise sigma, q = K / pool
//   in the cohort     noise sqrt((K_min - 1) / K_min) sigma, q = (K - 1) / (pool - 1)
//   not in it         noise sigma, q = K / (pool - 1)
//   colluders         j of c are drawn (hypergeometric; with Poisson sampling binomial):
//                     noise sqrt((K_min - j) / K_min) sigma, q = (K - j) / (pool - c);
//                     with Poisson sampling of more than 16 possible j neighbouring ones are taken
//                     together by the largest
//   cohort-aware      noise sigma, no sampling, max_participations releases, and again the number
//                     of participations to be expected
//   coalition         noise sqrt((K_min - c) / K_min) sigma, no sampling, max_participations
//                     releases (docs/security/committee.md)
// With Poisson sampling q = K / pool for every observer. Where only those who were drawn upload,
// their number K' is public and divides the sum: the events are of known size, with rates and noise
// by the shares that are left of K'. There, and with fixed-size cohorts, those drawn who are absent
// do not upload: the events name the pool, and any number of it may be absent. With
// dummy uploads every client's share is in every sum, the divisor is fixed, the number drawn stays
// hidden and those who watch the traffic see what an external observer sees. So does a coalition,
// less its own noise: it does not learn the others' coins.
//
// Unit record or person, Poisson(q_r) for every observer, c colluders planned for:
//   external, cohort-aware   noise sqrt(K_min / (K_min - c)) sigma
//   another site               noise sqrt((K_min - 1) / (K_min - c)) sigma
//   colluders, coalition       noise sigma
// Discrete Laplace noise of c' = max(1, c): each of them knows at most c' shares, of which any
// K_min - c' others add to the law, and more change nothing that can be learned. So each has the
// same pure epsilon (PureEpsilonOf), with K_min - c' in the place of K_min - c above.
absl::StatusOr<std::vector<ObservedRounds>> ObserveFederation(const FederationPrivacySpec& spec);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_OBSERVERS_H_
