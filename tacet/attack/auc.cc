#include "tacet/attack/auc.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace tacet::attack {

std::optional<double> AreaUnderCurve(std::span<const double> scores,
                                     std::span<const uint32_t> labels) {
  if (std::ranges::any_of(scores, [](double score) { return std::isnan(score); })) {
    return std::nullopt;
  }
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return scores[i]; });
  double below = 0;  // samples of class 0 with a smaller score
  double pairs = 0;  // won, twice over
  double ones = 0;
  for (size_t first = 0; first < order.size();) {
    double tied[2] = {0, 0};
    size_t next = first;
    for (; next < order.size() && scores[order[next]] == scores[order[first]]; ++next) {
      tied[labels[order[next]] == 0 ? 0 : 1] += 1;
    }
    pairs += tied[1] * (2 * below + tied[0]);
    below += tied[0];
    ones += tied[1];
    first = next;
  }
  if (ones == 0 || below == 0) return std::nullopt;
  return pairs / (2 * ones * below);
}

}  // namespace tacet::attack
