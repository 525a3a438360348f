// Parameters that decide who contributes to a round, and how much of the noise each brings. They
// are declared once: configuration, agreement and accountants hold this struct.
#ifndef TACET_ACCOUNTING_SAMPLING_PARAMS_H_
#define TACET_ACCOUNTING_SAMPLING_PARAMS_H_

#include <cstdint>
#include <optional>

#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

// Counts are below 2^32 in an agreement.
//
// Unit client: K of M clients are drawn for a round and each sends one clipped update.
// Unit record or person: every site (client) is in every round and sends the sum of what its own
// records (persons) contribute, each drawn by a secret coin of probability `record_rate` and
// clipped to S. The draw never leaves the site.
struct SamplingParams {
  uint64_t clients = 0;  // M >= 1; for unit record or person the number of sites
  // K, 1 .. M; with Poisson sampling the expected size. Unit record or person: 0 or M.
  uint64_t cohort = 0;
  // K_min, 1 .. K (.. M with dummy uploads): fewer uploads are never decrypted, and shares of the
  // noise add up to sigma over as many. 0: as Resolved() says (federation_privacy.h).
  uint64_t min_participants = 0;
  // Where K_min is 0: number of uploads of a round that may be missing; c + 2 are needed anyway.
  // None: 1 or more by their number, and 0 for a query. So K_min follows the number of members.
  std::optional<uint64_t> max_absent = std::nullopt;
  // Draw of the cohort: kFixedSize by the server, kPoisson by each client's own coin, or kNone when
  // K = M. Ignored for unit record or person, where the agreement wants kFixedSize. None: as
  // Resolved() says; configurations and the public options begin so.
  std::optional<Sampling> method = Sampling::kFixedSize;
  // Unit client with Poisson sampling: clients that were not drawn upload zeros and noise, so that
  // nobody sees who was. K_min counts uploads then, and the sum is divided by the share K / M of
  // them that is to be expected. A server that draws a cohort knows it.
  bool dummy_uploads = false;
  // Unit client: attempts to which one client gives its data at most, in all epochs; when it is
  // drawn again it uploads zeros and noise. 0: no limit.
  uint64_t max_participations = 0;

  // The following three are 0 for unit client.
  double record_rate = 0;  // q_r in (0, 1]
  // B > 0, public: q_r times the number of all sites' records (persons), which divides the sum. The
  // accountants do not need it: dividing by a public number costs nothing. A sum is refused where
  // its norm needs more than MostDrawn(B) drawn units (dp/sum_limits.h). Of a query: the most
  // records (persons) of one site, each of which takes part. It divides nothing.
  double expected_batch = 0;
  uint64_t appearances = 0;  // most sites at which one record (person) appears, 1 .. M; 0: 1

  friend bool operator==(const SamplingParams&, const SamplingParams&) = default;
};

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_SAMPLING_PARAMS_H_
