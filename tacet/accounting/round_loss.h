// The privacy loss of one round, L = log dP/dQ, by the masses that two neighbouring laws P and Q
// put on intervals of L.
//
// A pair stands for every pair of neighbouring data sets whose hockey-stick profile
// h(a) = sup over events E of P(E) - a Q(E) is at most its own for all a >= 0; it then stands for
// them after any number of adaptive rounds too (Zhu, Dong, Wang 2022, theorem 10).
#ifndef TACET_ACCOUNTING_ROUND_LOSS_H_
#define TACET_ACCOUNTING_ROUND_LOSS_H_

#include <memory>

namespace tacet::accounting {

// Masses on both sides of a loss t, without the atom at 0. Each side is computed by itself, so that
// a small one is accurate to its own size.
struct LossSides {
  double p_below = 0;  // P(L < t)
  double p_above = 0;  // P(L > t)
  double q_below = 0;
  double q_above = 0;
};

// A pair of laws whose loss has a density except for an atom at 0.
class RoundLoss {
 public:
  virtual ~RoundLoss() = default;

  virtual LossSides At(double t) const = 0;
  // Mass at L = 0, the same under P and Q.
  virtual double AtomAtZero() const { return 0; }
};

// In all of these 0 < q <= 1 and c > 0; x is in units of sigma.

// P = (1 - q) N(0, 1) + q N(c, 1) against Q = N(0, 1) (mixture first), or the other way around.
// Poisson sampling, zero-out: c = S / sigma, both directions together dominate. With
// c = 2 S / sigma the paper's pair: attained by fixed-size sampling with replace-one neighbours,
// hence a lower bound for it, but not dominating.
std::unique_ptr<RoundLoss> SampledGaussianLoss(double q, double c, bool mixture_first);

// P = (1 - q) N(0, 1) + q N(c, 1), Q = (1 - q) N(0, 1) + q N(-c, 1), its own mirror image. Poisson
// sampling, replace-one: c = S / sigma.
std::unique_ptr<RoundLoss> OppositeGaussianLoss(double q, double c);

// With probability q everything is lost, else nothing. Dominates every pair that differs with
// probability q only.
std::unique_ptr<RoundLoss> ErasureLoss(double q);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_ROUND_LOSS_H_
