// Reach of one row in a question's part, and what it leaves for rows that are left out.
#ifndef TACET_STATISTICS_ROW_REACH_H_
#define TACET_STATISTICS_ROW_REACH_H_

#include <cmath>

#include "tacet/dp/noise_law.h"
#include "tacet/statistics/query.h"

namespace tacet::statistics {

// The effect of one row that counts on a part, at amplitude 1.
struct RowReach {
  double norm = 0;      // the largest, so the distance from a row that is left out in no part
  double distance = 0;  // of two rows, or a row and none
  double largest = 0;   // of its values
};

// Plans the values of rows that are left out. Two such rows are equal. In one value, such a row and
// a row that counts are never both other than 0: they are
//   hypot(norm, value) apart in L2, so the value is free up to sqrt(distance^2 - norm^2),
//   norm + value in L1 (discrete Laplace noise), so it is free up to distance - norm,
// or up to the norm where only norms are charged. It is never larger than values of rows that
// count, which costs no bits. Returns how a row of either sort moves the part.
RowReach PlanLeftOut(RowReach reach, bool by_distance, dp::NoiseLaw law, QuestionPlan& plan);

// The largest multiple of `step` that is at most `value`.
inline double RoundedDown(double value, double step) { return std::floor(value / step) * step; }

// Amplitudes leave room for the rounding of norms.
inline constexpr double kRoom = 1 - 0x1p-30;

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_ROW_REACH_H_
