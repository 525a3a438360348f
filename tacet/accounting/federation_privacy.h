// A federation as the accountants need to know it, and the mechanism that follows from it.
#ifndef TACET_ACCOUNTING_FEDERATION_PRIVACY_H_
#define TACET_ACCOUNTING_FEDERATION_PRIVACY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_target.h"
#include "tacet/accounting/sampling_params.h"
#include "tacet/dp/mechanism_params.h"
#include "tacet/dp/mechanism_plan.h"

namespace tacet::accounting {

// Nothing is checked yet; a 0 stands for the default named next to it.
struct FederationPrivacySpec {
  SamplingParams sampling = {};
  // Only S and sigma decide epsilon; under discrete Laplace noise also its step s.
  dp::MechanismParams mechanism = {};
  PrivacyTarget privacy = {};
  // Committee whose seats decrypt sums together: n, and f of them that may be corrupt. 0 seats: any
  // member decrypts with the key of the whole group, as in the paper's schemes.
  uint64_t committee_seats = 0;
  uint64_t corrupt_seats = 0;
  uint64_t pool = 0;    // clients that can be drawn in a round, cohort..M; 0: M
  uint64_t rounds = 0;  // T, every attempt counted
  // Where terms changed (terms_changes.h): `rounds` counts only those in which the unit took part.
  bool own_rounds = false;
};

inline bool IsClientUnit(const FederationPrivacySpec& spec) {
  return spec.privacy.unit == Unit::kClient;
}

// InvalidArgument names the quantity, its value and its range.
absl::Status CheckFederation(const FederationPrivacySpec& spec);

// A training can repeat a round with fewer members; an answer of a query is about all of them.
enum class Purpose { kTraining, kQuery };

// The defaults of sampling, for every program and binding. `pool` clients can be drawn.
//
// Draw: with unit client and K below the pool each member's secret coin, hidden by dummy uploads;
// else fixed size. Cohort: all.
//
// K_min, with U uploads of a round in which nobody is absent (the pool under dummy uploads, K for
// cohorts of fixed size): max(c + 2, U - a) for a training, at most U, and U for a query. Where all
// upload, a is what finds one that lies; else 1. Poisson cohorts without dummy uploads: the size
// that is missed once in 10^9 rounds.
SamplingParams Resolved(SamplingParams sampling, const PrivacyTarget& privacy, uint64_t pool,
                        Purpose purpose);

// `spec` with its zeros replaced by the defaults that they stand for, those of a model's training.
FederationPrivacySpec Resolved(FederationPrivacySpec spec);

// Shares of noise that add up to sigma: K_min, less the colluders for unit record or person; 0
// when the colluders are as many. Discrete Laplace noise of fewer shares is another law, not the
// same with a smaller deviation. So its shares are K_min - max(1, c): another site knows its own.
uint64_t NoiseShares(const FederationPrivacySpec& spec);

// The cost of one release with discrete Laplace noise to every observer that is planned for, as
// pure epsilon: L1 sensitivity / s * rate(sigma / s), for a unit at `appearances` sites. 0 where
// the noise is Gaussian, or sigma 0.
double PureEpsilonOf(const FederationPrivacySpec& spec);

// The mechanism of this federation with updates of `dimension` values, of which at most
// `largest_cohort` are added; counts of 2^32 and more count as 2^32 - 1. The epsilon of its terms,
// and whether terms that are too large refuse it, are left to the caller. InvalidArgument when no
// share of noise is left.
absl::StatusOr<dp::MechanismSpec> MechanismOf(const FederationPrivacySpec& spec, uint64_t dimension,
                                              uint64_t largest_cohort);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_FEDERATION_PRIVACY_H_
