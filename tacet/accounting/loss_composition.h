// Composition of many rounds of privacy losses on a lattice, by an exponentially tilted Fourier
// transform.
#ifndef TACET_ACCOUNTING_LOSS_COMPOSITION_H_
#define TACET_ACCOUNTING_LOSS_COMPOSITION_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "tacet/accounting/loss_lattice.h"

namespace tacet::accounting {

enum class Side { kAbove, kBelow };

struct ComposedEpsilon {
  double epsilon = 0;
  size_t points = 0;      // of the transform
  bool extended = false;  // whether it was repeated with more digits
  // Part of delta that is charged to cut tails and rounding, relative to the target.
  double charged_share = 0;
};

// The sum of independent losses, `rounds` of each lattice; all lattices have the same step.
class LossSum {
 public:
  struct Part {
    LossLattice lattice;
    double rounds = 0;
  };
  explicit LossSum(std::vector<Part> parts);

  // The law tilted by theta, mass_i e^{theta t_i - k} in each lattice.
  struct Tilt {
    double theta = 0;
    double k = 0;       // the log of the sum's E[e^{theta L}; L finite]
    double mean = 0;    // k'(theta)
    double stddev = 0;  // sqrt(k''(theta))
  };
  Tilt TiltAt(double theta) const;

  // The theta >= 0 whose tilted mean is nearly the epsilon looked for:
  //   k(theta) - theta k'(theta) + log E[(e^{-theta U} - e^{-(theta + 1) U})^+] = log delta,
  // U normal with the tilted deviation.
  Tilt FindTilt(double log_delta) const;

  // The smallest epsilon >= 0 with delta(epsilon) <= delta, where
  //   delta(epsilon) = P(L = infinity) + E[(1 - e^{epsilon - L})^+; L finite]
  // and everything that the computation cuts off, wraps around or rounds is charged to delta on the
  // side asked for. 0 only when delta(0) <= delta is shown so; infinity when the mass at infinity
  // is more than delta. No value when more than `most_points` would be needed.
  std::optional<ComposedEpsilon> Epsilon(const Tilt& tilt, double delta, Side side,
                                         size_t most_points) const;

  double step() const { return parts_.front().lattice.step; }
  size_t cells() const;

 private:
  // Where the transform's indices lie: index k is the loss origin_ + (bottom + k) step.
  struct Window {
    double bottom = 0;
    size_t points = 0;
  };
  // The tilted law of the sum on a window, and a bound of the error of each of its entries.
  struct TiltedLaw {
    std::vector<double> mass = {};
    double entry_error = 0;
  };
  template <typename Scalar>
  TiltedLaw Compose(const Tilt& tilt, const Window& window) const;

  // Finds the crossing of delta(epsilon) with `target` from the top of the window downwards.
  std::optional<ComposedEpsilon> Solve(const TiltedLaw& law, const Window& window, const Tilt& tilt,
                                       double target, double outside, Side side) const;

  // Distance from the tilted mean beyond which the tilted sum has at most e^log_probability
  // (Chernoff), to the right (sign 1) or left (-1).
  double Reach(const Tilt& tilt, double sign, double log_probability) const;

  std::vector<Part> parts_;
  std::vector<std::vector<double>> log_mass_;
  double origin_ = 0;  // the sum's lattice origin
};

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_LOSS_COMPOSITION_H_
