// The paper's setting: 1,000 of 3,596 clients in each of 100 rounds, noise of six clip norms.
#ifndef TACET_ACCOUNTING_PAPER_FOR_TEST_H_
#define TACET_ACCOUNTING_PAPER_FOR_TEST_H_

#include "tacet/accounting/federation_privacy.h"
#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

constexpr double kPaperRate = 1000.0 / 3596;

inline FederationPrivacySpec PaperFederation() {
  return {.sampling = {.clients = 3596, .cohort = 1000, .min_participants = 1000},
          .mechanism = {.clip_norm = 1, .noise_stddev = 6},
          .rounds = 100};
}

// One round of it, for an observer from whom cohorts are hidden.
inline SamplingEvent PaperRound() {
  return {.sampling = Sampling::kFixedSize, .sampling_rate = kPaperRate, .noise_stddev = 6};
}

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_PAPER_FOR_TEST_H_
