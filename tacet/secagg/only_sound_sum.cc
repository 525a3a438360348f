#include "tacet/secagg/only_sound_sum.h"

#include <utility>

namespace tacet::secagg {

std::optional<SoundSum> OnlySoundSum(he::KeyCandidates& candidates, const SumUnder& sum_under) {
  std::optional<SoundSum> only;
  size_t tried = 0;
  while (auto candidate = candidates.Next(candidates.most_left_out())) {
    if (++tried > he::kMostKeyTrials) return std::nullopt;
    std::vector<uint32_t> wrong_seats = candidate->wrong_seats;
    std::optional<std::vector<uint64_t>> sums = sum_under(*std::move(candidate));
    if (!sums.has_value()) continue;
    if (!only.has_value()) {
      only = SoundSum{.sums = *std::move(sums), .wrong_seats = std::move(wrong_seats)};
    } else if (only->sums != *sums) {
      return std::nullopt;
    }
  }
  return only;
}

}  // namespace tacet::secagg
