#include "tacet/base/nearest_word.h"

#include <algorithm>
#include <vector>

namespace tacet::base {
namespace {

constexpr size_t kMaxBytes = 100;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

std::optional<std::string> NearestWord(std::string_view word,
                                       std::span<const std::string_view> known) {
  if (word.empty() || word.size() > kMaxBytes) return std::nullopt;
  const std::string lower = Lower(word);
  std::optional<std::string> nearest;
  size_t least = kMaxBytes;
  for (const std::string_view candidate : known) {
    if (candidate.size() > kMaxBytes) continue;
    const size_t distance = EditDistance(lower, Lower(candidate));
    if (distance > least || 3 * distance > std::max(word.size(), candidate.size())) continue;
    // Two equally near words give no suggestion, unless they are the same.
    if (distance == least && nearest != candidate) {
      nearest.reset();
    } else {
      nearest = candidate;
    }
    least = distance;
  }
  return nearest;
}

}  // namespace tacet::base
