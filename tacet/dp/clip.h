// Bounding one participant's update: first its Euclidean norm, then every coordinate.
#ifndef TACET_DP_CLIP_H_
#define TACET_DP_CLIP_H_

#include <span>

#include "tacet/dp/active_kernels.h"

namespace tacet::dp {

// Report of a clipping step. It depends on private data: it stays where the update is.
struct ClipReport {
  double norm = 0;       // ||update||_2 before clipping; 0 for an update that is not finite
  bool finite = true;    // false: a coordinate was NaN or infinite, the zero vector was written
  bool clipped = false;  // true when the norm bound made the update shorter
};

// Clipping to S = `clip_norm` > 0 (+infinity: no norm bound, only the clamp) and clamping to
// b = `coordinate_bound` > 0 of one update u, block by block:
//   clamp(u min(1, S (1 - 2^-20) / ||u||_2), -b, b).
//
// The norm is summed in double: it is right to 1e-9 for any dimension below 2^32. The factor
// 1 - 2^-20 leaves room for the rounding of each coordinate to float (2^-24 relative), so the
// floats written have norm <= S exactly, not only nearly; no coordinate passes b, also where the
// float nearest to b is above it. The map is the projection onto the ball (up to that factor)
// followed by a 1-Lipschitz clamp, so the sensitivity stays S (zero-out) or 2 S (replace-one).
//
// An update with a NaN or an infinity becomes the zero vector and is reported: whether a
// participant uploads may not depend on its data.
//
// Every version of the kernels gives the same bytes.
class Clipping {
 public:
  // Reads all of `update` once.
  Clipping(std::span<const float> update, double clip_norm, double coordinate_bound,
           const Kernels& kernels = ActiveKernels());

  const ClipReport& report() const { return report_; }

  // clipped[i] for a part of the update; both spans have the same size and may be the same memory.
  void Apply(std::span<const float> part, std::span<float> clipped) const;

 private:
  const Kernels* kernels_;
  ClipReport report_;
  double factor_ = 1;
  float bound_;
};

// The whole update at once.
ClipReport ClipAndClamp(std::span<const float> update, double clip_norm, double coordinate_bound,
                        std::span<float> clipped, const Kernels& kernels = ActiveKernels());

// The largest float that is not above `bound` > 0 (0 below the smallest positive float).
float FloatBelow(double bound);

}  // namespace tacet::dp

#endif  // TACET_DP_CLIP_H_
