// Operating points of membership attacks: rates at a threshold of their scores.
#ifndef TACET_ATTACK_OPERATING_POINT_H_
#define TACET_ATTACK_OPERATING_POINT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tacet/attack/confidence.h"

namespace tacet::attack {

// The larger a score, the more an attack takes its candidate for a member.
struct MembershipScores {
  std::vector<double> members;
  std::vector<double> non_members;
};

// scores[i] is of a member where is_member[i]; equal sizes.
MembershipScores SplitScores(std::span<const double> scores, const std::vector<bool>& is_member);

// An attack that claims membership of every candidate that scores above a threshold.
struct OperatingPoint {
  uint64_t members = 0;
  uint64_t non_members = 0;
  uint64_t true_positives = 0;   // members above the threshold
  uint64_t false_positives = 0;  // non-members above it
  // The threshold is the score of the non-member that this many others precede, so there are at
  // most so many false positives; with ties there are fewer.
  uint64_t allowed_false_positives = 0;

  double true_positive_rate() const;   // of these members; 0 without any
  double false_positive_rate() const;  // of these non-members; 0 without any
  // Exact intervals (Clopper, Pearson 1934).
  Interval TruePositiveInterval(double confidence) const {
    return ExactInterval(true_positives, members, confidence);
  }
  Interval FalsePositiveInterval(double confidence) const {
    return ExactInterval(false_positives, non_members, confidence);
  }
  // One-sided limits of the rates over all candidates of the same kind, each right with probability
  // `confidence`. The threshold depends on the non-members alone, so the first is exact. For the
  // second, the share of all non-members above the score of rank n + 1 of N is Beta(n + 1, N - n),
  // whose quantile is the exact limit for n false positives; ties only make the share smaller.
  double TruePositiveRateAtLeast(double confidence) const;
  double FalsePositiveRateAtMost(double confidence) const;
};

// The lowest threshold with at most the share `false_positive_rate` of these non-members above it,
// in [0, 1]; candidates of equal score fall on one side. Scores that are not numbers are never
// above. With fewer than 1 / false_positive_rate non-members there are no false positives.
OperatingPoint PointAt(const MembershipScores& scores, double false_positive_rate);

// The probability that a member scores above a non-member, ties counting half; nothing when one of
// the kinds is missing or a score is not a number.
std::optional<double> AreaUnderCurve(const MembershipScores& scores);

}  // namespace tacet::attack

#endif  // TACET_ATTACK_OPERATING_POINT_H_
