// Area under the ROC curve: the quality with which scores order two classes.
#ifndef TACET_ATTACK_AUC_H_
#define TACET_ATTACK_AUC_H_

#include <cstdint>
#include <optional>
#include <span>

namespace tacet::attack {

// The area under the receiver operating characteristic: the share of pairs of a sample of class 1
// and one of class 0 in which the former has the larger score, ties counting half (Hanley, McNeil
// 1982). labels are 0 or 1, one for every score. Nothing when a class has no sample or a score is
// not a number.
std::optional<double> AreaUnderCurve(std::span<const double> scores,
                                     std::span<const uint32_t> labels);

}  // namespace tacet::attack

#endif  // TACET_ATTACK_AUC_H_
