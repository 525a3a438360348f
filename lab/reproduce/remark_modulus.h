// Number of bits that a sum needs, with the paper's decoding and with ours.
#ifndef TACET_LAB_REPRODUCE_REMARK_MODULUS_H_
#define TACET_LAB_REPRODUCE_REMARK_MODULUS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace tacet::app::reproduce {

// A sum of K participants is K m + v, m the offset that keeps Poisson rates positive and v what is
// wanted; both decodings see it mod 2^w.
//   plain    takes the residue as the sum: right when 0 <= K m + v < 2^w
//   centred  subtracts K m first and takes the residue in [-2^(w-1), 2^(w-1)): right when v is
//   there
struct ModulusPoint {
  uint32_t bits = 0;       // w
  double plain_wrong = 0;  // share of sums decoded wrong, of those drawn
  double centred_wrong = 0;
};

struct ModulusStudy {
  double coordinate_bound = 0;  // b
  double mean = 0;              // K m
  double deviation = 0;         // standard deviation of a sum, in steps of s
  double bound = 0;             // |v| <= B in all rounds (dp/sum_bound.h)
  uint32_t plain_bits = 0;      // the least w for K m + B < 2^w
  uint32_t centred_bits = 0;    // the least w for B < 2^(w-1)
  std::vector<ModulusPoint> points;
};

// The paper's mechanism (S = 1, sigma = 6, s = 1e-4, K = 1000, noise by the ziggurat) at coordinate
// bound b, for w = 16 .. 28: bounds by calculation, shares over `values` sums that are really
// drawn.
absl::StatusOr<ModulusStudy> StudyModulus(double coordinate_bound, uint64_t values);

}  // namespace tacet::app::reproduce

#endif  // TACET_LAB_REPRODUCE_REMARK_MODULUS_H_
