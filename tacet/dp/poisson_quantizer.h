// The Poisson quantisation: real values to counts whose sums can be encrypted.
#ifndef TACET_DP_POISSON_QUANTIZER_H_
#define TACET_DP_POISSON_QUANTIZER_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/crypto/random.h"
#include "tacet/dp/poisson.h"

namespace tacet::dp {

// Unchecked parameters from a caller.
struct PoissonQuantizerSpec {
  double scale = 0;   // s > 0, in units of the update
  double offset = 0;  // mu < 0, a multiple of `scale`
};

// Poisson quantisation Q_{s,mu} (Grivet Sebert et al., section 3.3): x -> Y ~ Poisson((x - mu)/s),
// so that E[sY + mu] = x and Var[sY] = s (x - mu). Y_1 + Y_2 has the law of one draw at x_1 + x_2
// with offset 2 mu: quantising each term of a sum is a post-processing of the sum.
class PoissonQuantizer {
 public:
  // InvalidArgument says which field is out of range, its value and the range: scale finite and
  // positive, offset finite, negative and within 1e-9 of a multiple m of the scale, m < 2^31.
  static absl::StatusOr<PoissonQuantizer> Create(const PoissonQuantizerSpec& spec);

  // Draws counts[i] ~ Poisson(x[i]/s + m), i < x.size() == counts.size(), m = |mu|/s. Needs
  // x[i] > mu and x[i]/s + m < 2^31 (a MechanismPlan proves both).
  // `x` is overwritten by the rates, and the draws continue where those before ended: a caller that
  // works block by block allocates nothing.
  void QuantizeInPlace(std::span<double> x, PoissonSampler& sampler,
                       std::span<uint32_t> counts) const;

  double scale() const { return scale_; }
  // m = |mu|/s, an integer: what one participant adds to a sum in addition to its update.
  uint64_t offset_count() const { return offset_count_; }

 private:
  PoissonQuantizer(double scale, uint64_t offset_count)
      : scale_(scale), inverse_scale_(1.0 / scale), offset_count_(offset_count) {}

  double scale_;
  // Rates are x times this: what is drawn is the quantisation at a scale within 2^-53 of the one
  // given, at the price of a product instead of a division.
  double inverse_scale_;
  uint64_t offset_count_;
};

}  // namespace tacet::dp

#endif  // TACET_DP_POISSON_QUANTIZER_H_
