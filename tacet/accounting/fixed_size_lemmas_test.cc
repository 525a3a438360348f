// The lemmas of docs/security/fixed-size-accounting.md on random triples, by integration in the
// plane. Names as there: D1 = |u - w|, D = |u - u'|, D2 = |w - u'|; angles A at w, B at u', C at u.
// u' is `v` in the code.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tacet/accounting/planar_reference_for_test.h"

namespace tacet::accounting {
namespace {

// Ten times the reference's own error.
constexpr double kTolerance = 1e-9;
// A change that is not a rounding error. Each check also counts these, so that it is not vacuous.
constexpr double kVisible = 1e-6;

PlanePoint Plus(PlanePoint a, PlanePoint b) { return {a.x + b.x, a.y + b.y}; }
PlanePoint Minus(PlanePoint a, PlanePoint b) { return {a.x - b.x, a.y - b.y}; }
PlanePoint Times(double s, PlanePoint a) { return {s * a.x, s * a.y}; }
double Dot(PlanePoint a, PlanePoint b) { return a.x * b.x + a.y * b.y; }
double Length(PlanePoint a) { return std::hypot(a.x, a.y); }
PlaneTriple Exchanged(const PlaneTriple& t) { return {.u = t.v, .w = t.w, .v = t.u}; }

class RandomTriples {
 public:
  explicit RandomTriples(uint64_t seed) : generator_(seed) {}

  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(generator_);
  }
  double LogUniform(double low, double high) {
    return std::exp(Uniform(std::log(low), std::log(high)));
  }
  double Rate() { return Uniform(0, 1) < 0.1 ? 1 : LogUniform(1e-3, 1); }
  PlanePoint InDisc(double radius) {
    const double angle = Uniform(0, 2 * std::numbers::pi);
    // One point in five lies on the circle.
    const double length = radius * std::min(1.0, std::sqrt(Uniform(0, 1.25)));
    return {length * std::cos(angle), length * std::sin(angle)};
  }

 private:
  std::mt19937_64 generator_;
};

// Factors a >= 1 of losses as they occur at rate q: a = 1 + q (e^y - 1).
std::array<double, 6> UpperFactors(double q) {
  std::array<double, 6> factors{};
  size_t i = 0;
  for (const double y : {0.0, 0.1, 0.4, 1.0, 2.0, 4.0}) factors[i++] = 1 + q * std::expm1(y);
  return factors;
}

std::vector<double> AllFactors(double q) {
  std::vector<double> factors;
  for (const double a : UpperFactors(q)) {
    factors.push_back(a);
    if (a > 1) factors.push_back(1 / a);
  }
  return factors;
}

TEST(FixedSizeLemmasTest, Lemma1ProfilesGrowWithCovarianceAndLengths) {
  RandomTriples random(1);
  std::map<std::string, int> visible;
  for (int i = 0; i < 500; ++i) {
    const double q = random.Rate();
    const double d1 = random.LogUniform(0.1, 4);
    const double d = random.LogUniform(0.1, 4);
    const double covariance = d1 * d * random.Uniform(-1, 1);
    const double more = random.LogUniform(0.01, 4);
    const double factor = random.Uniform(1, 3);
    const PlaneTriple before = TripleAt(d1, d, covariance);
    std::map<std::string, PlaneTriple> after;
    after["1"] = TripleAt(d1, d, random.Uniform(covariance, d1 * d));
    after["2, D1"] = TripleAt(std::sqrt(d1 * d1 + more), d, covariance);
    after["2, D"] = TripleAt(d1, std::sqrt(d * d + more), covariance);
    after["3"] = TripleAt(std::sqrt(d1 * d1 + more), std::sqrt(d * d + more), covariance + more);
    if (covariance >= 0) {
      after["4, D1"] = TripleAt(factor * d1, d, factor * covariance);
      after["4, D"] = TripleAt(d1, factor * d, factor * covariance);
    }
    for (const double a : UpperFactors(q)) {
      const double least = PlanarProfile(q, before, a);
      const double least_below = PlanarProfile(q, Exchanged(before), 1 / a);
      for (const auto& [part, triple] : after) {
        const double upper = PlanarProfile(q, triple, a);
        EXPECT_GE(upper, least - kTolerance)
            << "part " << part << " q " << q << " D1 " << d1 << " D " << d << " a " << a;
        visible[part] += upper > least + kVisible ? 1 : 0;
        // The lower half, at u'.
        EXPECT_GE(PlanarProfile(q, Exchanged(triple), 1 / a), least_below - kTolerance)
            << "part " << part << " q " << q << " D1 " << d1 << " D " << d << " a " << a;
      }
    }
  }
  for (const auto& [part, count] : visible) EXPECT_GE(count, 300) << part;
}

// Part 4 needs an angle of at most pi / 2: at a larger one a longer D1 can lower the profile.
TEST(FixedSizeLemmasTest, Lemma1NeedsTheSignOfTheCosine) {
  const double before = PlanarProfile(0.5, TripleAt(0.5, 2, -1), 1.2);
  EXPECT_LT(PlanarProfile(0.5, TripleAt(1, 2, -2), 1.2), before - kVisible);
}

// `point` moved at right angles to the line through `a` and `b`, away from it, to the circle with
// diameter a b. The angle at `point` is at least pi / 2.
PlanePoint ToThalesCircle(PlanePoint point, PlanePoint a, PlanePoint b) {
  const PlanePoint along = Times(1 / Length(Minus(b, a)), Minus(b, a));
  const PlanePoint across = {-along.y, along.x};
  const double position = Dot(Minus(point, a), along);
  const double side = Dot(Minus(point, a), across) < 0 ? -1 : 1;
  const double height = std::sqrt(std::max(0.0, position * (Length(Minus(b, a)) - position)));
  return Plus(a, Plus(Times(position, along), Times(side * height, across)));
}

double CosineAt(PlanePoint corner, PlanePoint a, PlanePoint b) {
  return Dot(Minus(a, corner), Minus(b, corner)) /
         (Length(Minus(a, corner)) * Length(Minus(b, corner)));
}

double Circumradius(const PlaneTriple& t) {
  const PlanePoint a = Minus(t.u, t.w), b = Minus(t.v, t.w);
  return Length(a) * Length(b) * Length(Minus(t.u, t.v)) / (2 * std::abs(a.x * b.y - a.y * b.x));
}

struct Dominating {
  std::string which;
  PlaneTriple triple;
};

// The construction in the proof of lemma 2.
Dominating Dominate(const PlaneTriple& t, double radius) {
  Dominating result{.which = "acute", .triple = t};
  double scale = 0;
  if (CosineAt(t.w, t.u, t.v) <= 0) {
    result = {"obtuse at w", {.u = t.u, .w = ToThalesCircle(t.w, t.u, t.v), .v = t.v}};
    scale = 2 * radius / Length(Minus(t.u, t.v));
  } else if (CosineAt(t.u, t.w, t.v) <= 0) {
    result = {"obtuse at u", {.u = ToThalesCircle(t.u, t.w, t.v), .w = t.w, .v = t.v}};
    scale = 2 * radius / Length(Minus(t.w, t.v));
  } else if (CosineAt(t.v, t.w, t.u) <= 0) {
    result = {"obtuse at u'", {.u = t.u, .w = t.w, .v = ToThalesCircle(t.v, t.w, t.u)}};
    scale = 2 * radius / Length(Minus(t.w, t.u));
  } else {
    scale = radius / Circumradius(t);
  }
  EXPECT_GE(scale, 1 - 1e-12) << result.which;
  for (PlanePoint* point : {&result.triple.u, &result.triple.w, &result.triple.v}) {
    *point = Times(scale, *point);
  }
  return result;
}

TEST(FixedSizeLemmasTest, Lemma2InscribedTrianglesDominate) {
  RandomTriples random(2);
  std::map<std::string, int> cases, visible;
  for (int i = 0; i < 800; ++i) {
    const double q = random.Rate();
    const double radius = random.LogUniform(0.05, 2);
    PlaneTriple triple{.u = random.InDisc(radius), .w = random.InDisc(radius), .v = {}};
    // One triple in ten lies on a line.
    triple.v = i % 10 == 0 ? Plus(triple.w, Times(random.Uniform(0, 1), Minus(triple.u, triple.w)))
                           : random.InDisc(radius);
    const auto [which, worse] = Dominate(triple, radius);
    ++cases[which];
    const double d1 = Length(Minus(worse.u, worse.w));
    const double d = Length(Minus(worse.u, worse.v));
    const double d2 = Length(Minus(worse.w, worse.v));
    const double cos_a = CosineAt(worse.w, worse.u, worse.v);
    const double cos_b = CosineAt(worse.v, worse.w, worse.u);
    const double cos_c = CosineAt(worse.u, worse.w, worse.v);
    EXPECT_GE(std::min({cos_a, cos_b, cos_c}), -1e-7) << which;
    EXPECT_NEAR(d, 2 * radius * std::sqrt(1 - cos_a * cos_a), 1e-6 * radius) << which;
    EXPECT_NEAR(d1, 2 * radius * std::sqrt(1 - cos_b * cos_b), 1e-6 * radius) << which;
    EXPECT_NEAR(d2, 2 * radius * std::sqrt(1 - cos_c * cos_c), 1e-6 * radius) << which;
    for (const double a : AllFactors(q)) {
      const double before = PlanarProfile(q, triple, a);
      const double after = PlanarProfile(q, worse, a);
      EXPECT_GE(after, before - kTolerance) << which << " q " << q << " S " << radius << " a " << a;
      visible[which] += after > before + kVisible ? 1 : 0;
    }
  }
  EXPECT_EQ(cases.size(), 4u);
  for (const auto& [which, count] : cases) {
    EXPECT_GE(count, 50) << which;
    EXPECT_GE(visible[which], 200) << which;
  }
}

// Where the second world's contribution is zero.
PlaneTriple ZeroOutAt(double radius, double psi) {
  return {.u = {radius, 0}, .w = {radius * std::cos(psi), radius * std::sin(psi)}, .v = {}};
}

TEST(FixedSizeLemmasTest, ZeroOutHasOneParameter) {
  RandomTriples random(3);
  int visible = 0;
  for (int i = 0; i < 500; ++i) {
    const double q = random.Rate();
    const double radius = random.LogUniform(0.05, 3);
    const PlaneTriple triple{.u = random.InDisc(radius), .w = random.InDisc(radius), .v = {}};
    const double psi =
        std::acos(std::clamp(Dot(triple.u, triple.w) / (radius * radius), -1.0, 1.0));
    const double psi1 = random.Uniform(0, psi);
    const double psi2 = random.Uniform(psi, std::numbers::pi);
    for (const double a : AllFactors(q)) {
      const double before = PlanarProfile(q, triple, a);
      const double reduced = PlanarProfile(q, ZeroOutAt(radius, psi), a);
      EXPECT_GE(reduced, before - kTolerance) << "q " << q << " S " << radius << " a " << a;
      // The cell [psi1, psi2].
      const double cell = PlanarProfile(q, ZeroOutAt(radius, a >= 1 ? psi2 : psi1), a);
      EXPECT_GE(cell, reduced - kTolerance) << "q " << q << " S " << radius << " a " << a;
      visible += reduced > before + kVisible && (a == 1 || cell > reduced + kVisible) ? 1 : 0;
    }
  }
  EXPECT_GE(visible, 1000);
}

TEST(FixedSizeLemmasTest, CorollariesOfLemma1) {
  RandomTriples random(4);
  for (int i = 0; i < 300; ++i) {
    const double q = random.Rate();
    const double radius = random.LogUniform(0.05, 2);
    const PlanePoint end = {radius, 0}, other_end = {-radius, 0};
    const PlaneTriple triple{
        .u = random.InDisc(radius), .w = random.InDisc(radius), .v = random.InDisc(radius)};
    const PlaneTriple zeroed{.u = triple.u, .w = triple.w, .v = {}};
    const PlaneTriple poisson{.u = triple.u, .w = {}, .v = triple.v};
    for (const double a : AllFactors(q)) {
      SCOPED_TRACE(testing::Message() << "q " << q << " S " << radius << " a " << a);
      if (a >= 1) {
        EXPECT_LE(PlanarProfile(q, triple, a),
                  PlanarProfile(q, {.u = end, .w = other_end, .v = other_end}, a) + kTolerance);
        EXPECT_LE(PlanarProfile(q, zeroed, a),
                  PlanarProfile(q, {.u = end, .w = other_end, .v = {}}, a) + kTolerance);
        EXPECT_LE(PlanarProfile(q, Exchanged(zeroed), a),
                  PlanarProfile(q, {.u = {}, .w = end, .v = end}, a) + kTolerance);
      }
      EXPECT_LE(PlanarProfile(q, poisson, a),
                PlanarProfile(q, {.u = end, .w = {}, .v = other_end}, a) + kTolerance);
    }
  }
}

// No single triple is the worst in both halves.
TEST(FixedSizeLemmasTest, TheHalvesHaveDifferentWorstTriples) {
  const PlaneTriple paper{.u = {1, 0}, .w = {-1, 0}, .v = {-1, 0}};
  const PlaneTriple exchange{.u = {1, 0}, .w = {1, 0}, .v = {-1, 0}};
  EXPECT_GT(PlanarProfile(0.3, paper, 1.3), PlanarProfile(0.3, exchange, 1.3) + kVisible);
  EXPECT_LT(PlanarProfile(0.3, paper, 1 / 1.3), PlanarProfile(0.3, exchange, 1 / 1.3) - kVisible);
}

}  // namespace
}  // namespace tacet::accounting
