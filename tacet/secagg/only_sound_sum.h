// Choice of the sum whose MAC fits, where more answers are wrong than their code corrects.
#ifndef TACET_SECAGG_ONLY_SOUND_SUM_H_
#define TACET_SECAGG_ONLY_SOUND_SUM_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tacet/he/key_candidates.h"

namespace tacet::secagg {

struct SoundSum {
  std::vector<uint64_t> sums;         // d values
  std::vector<uint32_t> wrong_seats;  // whose answers do not fit, increasing
};

// The decrypted sum under one sum of the keys; nothing when its MAC does not fit, or it is beyond
// its bounds.
using SumUnder = std::function<std::optional<std::vector<uint64_t>>(he::KeySharing::Recovery)>;

// Tries all candidates that are left. Nothing when no sum is sound, when two sound ones differ, or
// when there are more than kMostKeyTrials candidates. Anyone who knows the MAC key can make a
// second sum that is sound, and a member must not apply the one that comes first.
std::optional<SoundSum> OnlySoundSum(he::KeyCandidates& candidates, const SumUnder& sum_under);

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_ONLY_SOUND_SUM_H_
