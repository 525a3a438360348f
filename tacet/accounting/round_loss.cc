#include "tacet/accounting/round_loss.h"

#include <cmath>
#include <numbers>

#include "tacet/accounting/log_math.h"

namespace tacet::accounting {
namespace {

// The x at which the loss of the mixture against N(0, 1) is t; -infinity below its range.
//   t = log(1 - q + q e^y), y = c x - c^2 / 2.
double MixtureLossToX(double t, double q, double c) {
  if (q >= 1) {
    return t / c + c / 2;
  }
  double y = 0;
  if (t > 30) {
    y = LogSubExp(t, std::log1p(-q)) - std::log(q);
  } else {
    const double ratio = std::expm1(t) / q;  // e^y - 1
    if (ratio <= -1) {
      return -kInfinity;
    }
    y = std::log1p(ratio);
  }
  return y / c + c / 2;
}

class SampledGaussian : public RoundLoss {
 public:
  SampledGaussian(double q, double c, bool mixture_first)
      : q_(q), c_(c), mixture_first_(mixture_first) {}

  LossSides At(double t) const override {
    if (mixture_first_) {
      return Mixture(t);
    }
    // P and Q change places, and with the sign of the loss so do above and below.
    const LossSides sides = Mixture(-t);
    return {.p_below = sides.q_above,
            .p_above = sides.q_below,
            .q_below = sides.p_above,
            .q_above = sides.p_below};
  }

 private:
  LossSides Mixture(double t) const {
    const double x = MixtureLossToX(t, q_, c_);
    if (x == -kInfinity) {
      return {.p_below = 0, .p_above = 1, .q_below = 0, .q_above = 1};
    }
    const double above = NormalTail(x);
    const double below = NormalTail(-x);
    return {.p_below = (1 - q_) * below + q_ * NormalTail(c_ - x),
            .p_above = (1 - q_) * above + q_ * NormalTail(x - c_),
            .q_below = below,
            .q_above = above};
  }

  double q_;
  double c_;
  bool mixture_first_;
};

class OppositeGaussian : public RoundLoss {
 public:
  OppositeGaussian(double q, double c) : q_(q), c_(c) {}

  LossSides At(double t) const override {
    // e^t = (1 - q + k v) / (1 - q + k / v) with v = e^{c x}, k = q e^{-c^2/2}, solved for v:
    //   c x = t/2 + asinh(((1 - q) / k) sinh(t/2)).
    const double half = std::abs(t) / 2;
    double log_z = -kInfinity;
    if (half > 0 && q_ < 1) {
      const double log_sinh = half > 1 ? half + std::log1p(-std::exp(-2 * half)) - std::numbers::ln2
                                       : std::log(std::sinh(half));
      log_z = std::log1p(-q_) - std::log(q_) + c_ * c_ / 2 + log_sinh;
    }
    const double arc = log_z > 300 ? log_z + std::numbers::ln2 : std::asinh(std::exp(log_z));
    const double x = std::copysign((half + arc) / c_, t);
    const double above = (1 - q_) * NormalTail(x);
    const double below = (1 - q_) * NormalTail(-x);
    return {.p_below = below + q_ * NormalTail(c_ - x),
            .p_above = above + q_ * NormalTail(x - c_),
            .q_below = below + q_ * NormalTail(-x - c_),
            .q_above = above + q_ * NormalTail(x + c_)};
  }

 private:
  double q_;
  double c_;
};

class Erasure : public RoundLoss {
 public:
  explicit Erasure(double q) : q_(q) {}
  LossSides At(double /*t*/) const override { return {.p_above = q_, .q_below = q_}; }
  double AtomAtZero() const override { return 1 - q_; }

 private:
  double q_;
};

}  // namespace

std::unique_ptr<RoundLoss> SampledGaussianLoss(double q, double c, bool mixture_first) {
  return std::make_unique<SampledGaussian>(q, c, mixture_first);
}

std::unique_ptr<RoundLoss> OppositeGaussianLoss(double q, double c) {
  return std::make_unique<OppositeGaussian>(q, c);
}

std::unique_ptr<RoundLoss> ErasureLoss(double q) { return std::make_unique<Erasure>(q); }

}  // namespace tacet::accounting
