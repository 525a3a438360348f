#include "tacet/accounting/round_loss.h"

#include <algorithm>
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

// P and Q of FixedSizeZeroOutLoss, for losses t >= 0 only: there the loss grows with x.
class PresentAgainstZeroed : public RoundLoss {
 public:
  PresentAgainstZeroed(double q, double c) : q_(q), c_(c) {}

  LossSides At(double t) const override {
    // P > e^t Q where q k u^2 - e^t q u - (e^t - 1)(1 - q) k > 0, u = e^{c x}, k = e^{-c^2/2}:
    //   u = (e^t / k) (1 + sqrt(1 + 4 (1 - e^-t) e^-t ((1 - q) / q) k^2)) / 2.
    const double ratio = 4 * (-std::expm1(-t)) * std::exp(-t) * (1 - q_) / q_ * std::exp(-c_ * c_);
    const double x = (t + c_ * c_ / 2 + std::log(0.5 * (1 + std::sqrt(1 + ratio)))) / c_;
    const double rest_below = (1 - q_) * NormalTail(-x - c_);
    const double rest_above = (1 - q_) * NormalTail(x + c_);
    return {.p_below = rest_below + q_ * NormalTail(c_ - x),
            .p_above = rest_above + q_ * NormalTail(x - c_),
            .q_below = rest_below + q_ * NormalTail(-x),
            .q_above = rest_above + q_ * NormalTail(x)};
  }

 private:
  double q_;
  double c_;
};

// The symmetrised envelope of a profile given for a >= 1: losses above 0 as in `half`, those below
// 0 its mirror image with P and Q exchanged, the rest an atom at 0.
class SymmetrisedLoss : public RoundLoss {
 public:
  explicit SymmetrisedLoss(std::unique_ptr<RoundLoss> half)
      : half_(std::move(half)), zero_(half_->At(0)) {}

  LossSides At(double t) const override {
    const LossSides far = half_->At(std::abs(t));
    const double p_near = Between(zero_.p_above, far.p_above, zero_.p_below, far.p_below);
    const double q_near = Between(zero_.q_above, far.q_above, zero_.q_below, far.q_below);
    if (t >= 0) {
      return {.p_below = zero_.q_above + p_near,
              .p_above = far.p_above,
              .q_below = zero_.p_above + q_near,
              .q_above = far.q_above};
    }
    return {.p_below = far.q_above,
            .p_above = zero_.p_above + q_near,
            .q_below = far.p_above,
            .q_above = zero_.q_above + p_near};
  }

  double AtomAtZero() const override { return std::max(0.0, 1 - zero_.p_above - zero_.q_above); }

 private:
  // Mass between the two losses, from whichever side is smaller.
  static double Between(double above_near, double above_far, double below_near, double below_far) {
    return std::max(0.0, above_near < below_far ? above_near - above_far : below_far - below_near);
  }

  std::unique_ptr<RoundLoss> half_;
  LossSides zero_;
};

class Mixed : public RoundLoss {
 public:
  explicit Mixed(std::vector<std::pair<double, std::unique_ptr<RoundLoss>>> parts)
      : parts_(std::move(parts)) {}

  LossSides At(double t) const override {
    LossSides total;
    for (const auto& [weight, part] : parts_) {
      const LossSides sides = part->At(t);
      total.p_below += weight * sides.p_below;
      total.p_above += weight * sides.p_above;
      total.q_below += weight * sides.q_below;
      total.q_above += weight * sides.q_above;
    }
    return total;
  }

  double AtomAtZero() const override {
    double total = 0;
    for (const auto& [weight, part] : parts_) {
      total += weight * part->AtomAtZero();
    }
    return total;
  }

 private:
  std::vector<std::pair<double, std::unique_ptr<RoundLoss>>> parts_;
};

}  // namespace

std::unique_ptr<RoundLoss> SampledGaussianLoss(double q, double c, bool mixture_first) {
  return std::make_unique<SampledGaussian>(q, c, mixture_first);
}

std::unique_ptr<RoundLoss> OppositeGaussianLoss(double q, double c) {
  return std::make_unique<OppositeGaussian>(q, c);
}

std::unique_ptr<RoundLoss> FixedSizeReplaceLoss(double q, double c) {
  return std::make_unique<SymmetrisedLoss>(SampledGaussianLoss(q, c, true));
}

std::unique_ptr<RoundLoss> FixedSizeZeroOutLoss(double q, double c) {
  return std::make_unique<SymmetrisedLoss>(std::make_unique<PresentAgainstZeroed>(q, c));
}

std::unique_ptr<RoundLoss> MixedLoss(
    std::vector<std::pair<double, std::unique_ptr<RoundLoss>>> parts) {
  return std::make_unique<Mixed>(std::move(parts));
}

}  // namespace tacet::accounting
