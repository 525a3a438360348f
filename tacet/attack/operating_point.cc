#include "tacet/attack/operating_point.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

#include "tacet/attack/auc.h"

namespace tacet::attack {
namespace {

double Share(uint64_t part, uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

uint64_t CountAbove(std::span<const double> scores, double threshold) {
  return static_cast<uint64_t>(
      std::ranges::count_if(scores, [threshold](double score) { return score > threshold; }));
}

}  // namespace

MembershipScores SplitScores(std::span<const double> scores, const std::vector<bool>& is_member) {
  MembershipScores split;
  for (size_t i = 0; i < scores.size(); ++i) {
    (is_member[i] ? split.members : split.non_members).push_back(scores[i]);
  }
  return split;
}

double OperatingPoint::true_positive_rate() const { return Share(true_positives, members); }
double OperatingPoint::false_positive_rate() const { return Share(false_positives, non_members); }

double OperatingPoint::TruePositiveRateAtLeast(double confidence) const {
  return ExactInterval(true_positives, members, 2 * confidence - 1).low;
}

double OperatingPoint::FalsePositiveRateAtMost(double confidence) const {
  const uint64_t ranked = std::min(std::max(false_positives, allowed_false_positives), non_members);
  return non_members == 0 ? 1 : ExactInterval(ranked, non_members, 2 * confidence - 1).high;
}

OperatingPoint PointAt(const MembershipScores& scores, double false_positive_rate) {
  OperatingPoint point{.members = scores.members.size(), .non_members = scores.non_members.size()};
  const double allowed_share =
      std::floor(false_positive_rate * static_cast<double>(point.non_members) + 1e-9);
  const auto allowed = static_cast<size_t>(allowed_share);
  std::vector<double> ranked;
  std::ranges::copy_if(scores.non_members, std::back_inserter(ranked),
                       [](double score) { return !std::isnan(score); });
  std::ranges::sort(ranked, std::greater<>());
  // The largest non-member's score that must not be above the threshold; nor are its ties.
  const double threshold =
      allowed < ranked.size() ? ranked[allowed] : -std::numeric_limits<double>::infinity();
  point.true_positives = CountAbove(scores.members, threshold);
  point.false_positives = CountAbove(scores.non_members, threshold);
  point.allowed_false_positives = allowed;
  return point;
}

std::optional<double> AreaUnderCurve(const MembershipScores& scores) {
  std::vector<double> all = scores.members;
  all.insert(all.end(), scores.non_members.begin(), scores.non_members.end());
  std::vector<uint32_t> labels(scores.members.size(), 1);
  labels.resize(all.size(), 0);
  return AreaUnderCurve(all, labels);
}

}  // namespace tacet::attack
