// How well scores tell those that a model was trained on from those that it was not.
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

// An attack that accuses whoever scores above a threshold.
struct OperatingPoint {
  uint64_t members = 0;
  uint64_t non_members = 0;
  uint64_t accused_members = 0;
  uint64_t accused_non_members = 0;

  double true_positive_rate() const;   // accused members of all; 0 without any
  double false_positive_rate() const;  // accused non-members of all; 0 without any
  Interval true_positives(double confidence) const {
    return ExactInterval(accused_members, members, confidence);
  }
  Interval false_positives(double confidence) const {
    return ExactInterval(accused_non_members, non_members, confidence);
  }
};

// The lowest threshold that accuses at most the share `false_positive_rate` of these non-members,
// in [0, 1]; candidates of equal score are accused together. Scores that are not numbers are never
// accused. With fewer than 1 / false_positive_rate non-members nobody innocent is accused.
OperatingPoint PointAt(const MembershipScores& scores, double false_positive_rate);

// The probability that a member scores above a non-member, ties counting half; nothing when one of
// the kinds is missing or a score is not a number.
std::optional<double> AreaUnderCurve(const MembershipScores& scores);

}  // namespace tacet::attack

#endif  // TACET_ATTACK_OPERATING_POINT_H_
