#include "tacet/statistics/likelihood_doubt.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "tacet/statistics/formula.h"

namespace tacet::statistics {
namespace {

// The search has ended where the mean step of the releases is no longer than this in each
// coordinate of the design, apart from noise: the means move by at most as much of themselves.
constexpr double kSmallStep = 0.1;
// Deviations of a gradient's noise that the mean step may be longer.
constexpr double kNoiseOfStep = 6;
// Coefficients of their coordinates from which the least and the largest row differ by e^1.6, and
// by e^6.
constexpr double kStrong = 0.8;
constexpr double kVeryStrong = 3;
// The information of a strong coefficient in the second release is at most this many times that of
// the later ones. Without an end, where a group has no event, each step takes it down by e: it is 4
// times as large. The difference may be larger by as many deviations of its noise. The ends of
// terms tell groups without events as well. So fewer are allowed where four steps may be too few.
constexpr double kLostInformation = 1.7;
constexpr double kLostInformationOfCounts = 1.5;
constexpr double kNoiseOfLost = 2.5;
constexpr double kNoiseOfLostByVeryStrong = 1.5;
// Rows whose mean is cut, in parts of all. Beyond, coefficients would be biased.
constexpr double kManyCutMeans = 0.015;
// The same times the excess of the largest mean, in parts of the most one. The noise of the rows'
// number is allowed for by as many deviations.
constexpr double kManyExcesses = 0.01;
constexpr double kNoiseOfCuts = 2;
// The rows that are seen to be cut, times the excess, in parts of all, and in deviations of their
// noise. Beyond both, the coefficients of a small group grow with each step.
constexpr double kClearExcesses = 0.002;
constexpr double kNoiseOfExcesses = 4;
// Events at an end of a term that the coefficients make rare, in deviations of the released noise.
// Where there are none, 1 of 160 releases has as many.
constexpr double kClearEvents = 2.5;
// The same where the effect is strong. Four steps do not reach a rate that is far below the others.
constexpr double kClearRareEvents = 3;
constexpr double kClearRareEventsOfRates = 4;

using Vector = std::vector<double>;

// The form of `x` in a symmetric matrix whose distinct entries are measured.
double FormOf(const Vector& matrix, const Vector& x) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t k = 0; k < x.size(); ++k) sum += matrix[i * x.size() + k] * x[i] * x[k];
  }
  return sum;
}

double NoiseOfForm(const QuestionPlan& plan, double noise, const Vector& x) {
  double variance = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    variance += std::pow(x[i] * x[i] / plan.square, 2);
    for (size_t k = 0; k < i; ++k) variance += std::pow(2 * x[i] * x[k] / plan.cross, 2);
  }
  return noise * std::sqrt(variance);
}

bool HasEnded(const Measurements& measured, const LikelihoodSteps& steps, const Cholesky& factor) {
  const QuestionPlan& plan = measured.plan;
  const Vector deviations = NoiseOfSteps(plan, measured.noise.stddev, factor);
  const double most_lost = plan.is_poisson() ? kLostInformationOfCounts : kLostInformation;
  const auto later = static_cast<double>(steps.path.size()) - 2;
  for (size_t j = 0; j < deviations.size(); ++j) {
    const double limit = kSmallStep + kNoiseOfStep * deviations[j];
    if (std::abs(steps.mean_step[j]) > limit) return false;
    if (j < plan.baselines || std::abs(steps.coefficients[j]) < kStrong) continue;
    Vector unit(deviations.size());
    unit[j] = 1;
    const Vector solved = factor.Solve(std::move(unit));
    // The first release is the public start's.
    double lost = FormOf(steps.path[1].information, solved);
    for (size_t round = 2; round < steps.path.size(); ++round) {
      lost -= most_lost / later * FormOf(steps.path[round].information, solved);
    }
    const double noise = NoiseOfForm(plan, measured.noise.stddev, solved) *
                         std::sqrt(1 + most_lost * most_lost / later);
    const bool is_very_strong = std::abs(steps.coefficients[j]) >= kVeryStrong;
    if (lost > (is_very_strong ? kNoiseOfLostByVeryStrong : kNoiseOfLost) * noise) return false;
  }
  return true;
}

using Places = std::vector<size_t>;  // of the design's factors

Places PlacesOf(const Design& design, const FormulaTerm& term) {
  Places places;
  for (const FormulaFactor& factor : term) {
    places.push_back(std::ranges::find(design.factors(), factor, &DesignFactor::factor) -
                     design.factors().begin());
  }
  return places;
}

size_t EndsOfFactor(const DesignFactor& factor) { return factor.width() + 1; }

size_t CountEnds(const Design& design, const Places& places) {
  size_t count = 1;
  for (const size_t place : places) count *= EndsOfFactor(design.factors()[place]);
  return count;
}

// The place of each factor's category, or of a number's bound, of which `end` counts the first
// factor's fastest.
Places DigitsOf(const Design& design, const Places& places, size_t end) {
  Places digits;
  for (const size_t place : places) {
    const size_t ends = EndsOfFactor(design.factors()[place]);
    digits.push_back(end % ends);
    end /= ends;
  }
  return digits;
}

// Design columns of the row at this end of the factors, and in the middle of the others.
Vector ColumnsAtEnd(const Design& design, const Places& places, const Places& digits) {
  Vector row = design.MiddleRow();
  for (size_t i = 0; i < places.size(); ++i) {
    const bool is_number = design.factors()[places[i]].is_number();
    row[places[i]] = is_number ? (digits[i] == 0 ? -1 : 1) : static_cast<double>(digits[i]);
  }
  Vector columns(design.columns() + 1);  // the last one for a response
  design.Fill(row, columns);
  columns.pop_back();
  return columns;
}

// The largest logarithm of a mean within the bounds. It is linear in each factor, so ends of all
// factors have it: there are at most 2^16, as the columns are at most 16.
double LargestLinear(const QuestionPlan& plan, const Vector& coefficients) {
  const Design& design = *plan.design;
  const auto formula = ParseFormula(plan.spec.formula, design.has_response());
  std::set<size_t> used;
  if (formula.ok()) {  // a query has none that is not
    for (const FormulaTerm& term : formula->terms) {
      const Places places = PlacesOf(design, term);
      used.insert(places.begin(), places.end());
    }
  }
  const Places places(used.begin(), used.end());
  double largest = -std::numeric_limits<double>::infinity();
  for (size_t end = 0; end < CountEnds(design, places); ++end) {
    const Vector columns = ColumnsAtEnd(design, places, DigitsOf(design, places, end));
    largest = std::max(largest,
                       std::inner_product(columns.begin(), columns.end(),
                                          coefficients.begin() + plan.baselines, coefficients[0]));
  }
  return largest;
}

// Whether rows may be cut at all, and more than a few of them as far as the noise shows.
bool MayCutMeans(const Measurements& measured, const LikelihoodSteps& steps) {
  const QuestionPlan& plan = measured.plan;
  const double excess = std::exp(LargestLinear(plan, steps.coefficients)) / plan.most_mean - 1;
  if (excess <= 0) return false;
  double cut = 0, rows = 0;
  for (size_t round = 1; round < measured.releases.size(); ++round) {
    const LikelihoodRelease release(plan, measured.releases[round]);
    cut += release.CutMeans();
    rows += release.rows();
  }
  const double noise = measured.noise.stddev / plan.cut *
                       std::sqrt(static_cast<double>(measured.releases.size()) - 1);
  rows = std::max(rows, 0.0);
  return cut > kManyCutMeans * rows ||
         (cut + kNoiseOfCuts * noise) * std::min(excess, 1.0) > kManyExcesses * rows ||
         cut * excess > std::max(kNoiseOfExcesses * noise, kClearExcesses * rows);
}

// An end of a term: categories, and numbers at one of their bounds.
struct TermEnd {
  std::string text;  // "age = 20, sex = m"
  // For 1 and the design columns. Their sum is the share from 0 to 1 by which a row is at this end.
  // It is 0 or 1 for categories, and grows from bound to bound for a number. A product has the
  // products of these.
  Vector weights;
  double effect = 0;  // of the term, and of those in it, on the linear predictor
};

// A row is at an end of one factor by (1 + w p t) / (1 + w). Here p and t are the design columns of
// the end and of the row, and w is their number. A product of these is a sum over the terms that
// the product contains, which every formula has.
std::vector<TermEnd> EndsOf(const QuestionPlan& plan, const LikelihoodSteps& steps) {
  const Design& design = *plan.design;
  const auto formula = ParseFormula(plan.spec.formula, design.has_response());
  if (!formula.ok()) return {};  // a query has none
  std::vector<TermEnd> all;
  for (const FormulaTerm& term : formula->terms) {
    const Places places = PlacesOf(design, term);
    for (size_t end = 0; end < CountEnds(design, places); ++end) {
      const Places digits = DigitsOf(design, places, end);
      const Vector columns = ColumnsAtEnd(design, places, digits);
      double weight = 1;
      TermEnd& made = all.emplace_back();
      for (size_t i = 0; i < places.size(); ++i) {
        const DesignFactor& of = design.factors()[places[i]];
        weight /= static_cast<double>(EndsOfFactor(of));
        const std::string& column = of.factor.column;
        if (!made.text.empty()) made.text += ", ";
        made.text += of.is_number()
                         ? fmt::format("{} = {:g}", column, digits[i] == 0 ? of.low : of.high)
                         : fmt::format("{} = {}", column, of.values.name(digits[i]));
      }
      made.weights = {weight};
      for (const FormulaTerm& part : formula->terms) {
        double factor_of_part = weight;
        size_t width = 1;
        for (const size_t place : PlacesOf(design, part)) {
          width *= design.factors()[place].width();
          if (std::ranges::find(places, place) == places.end()) factor_of_part = 0;
        }
        factor_of_part *= static_cast<double>(width);
        for (size_t i = 0; i < width; ++i) {
          const size_t column = made.weights.size() - 1;
          made.weights.push_back(factor_of_part * columns[column]);
          if (factor_of_part == 0) continue;
          made.effect += steps.coefficients[plan.baselines + column] * columns[column];
        }
      }
    }
  }
  return all;
}

// Sums over rows of the outcome, or of what it lacks to 1, times 1 and the design columns. Their
// noise has the variance `of_first` and `of_others`.
struct EventSums {
  Vector sums;
  double of_first = 0;
  double of_others = 0;
};

// Rates: the gradient is the events less the means, whose sums are in the information. The mean of
// all releases tells them.
std::vector<EventSums> EventsOfRates(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  const auto rounds = static_cast<double>(measured.releases.size());
  const auto baselines = static_cast<double>(plan.baselines);
  const double noise = measured.noise.stddev;
  EventSums events{.sums = Vector(plan.design->columns() + 1)};
  for (const auto& values : measured.releases) {
    const LikelihoodRelease release(plan, values);
    const Vector gradient = release.Gradient(), information = release.Information();
    const size_t size = gradient.size();
    for (size_t j = 0; j < plan.baselines; ++j) {
      events.sums[0] += (gradient[j] + information[j * size + j]) / rounds;
    }
    for (size_t i = plan.baselines; i < size; ++i) {
      double sum = gradient[i];
      for (size_t j = 0; j < plan.baselines; ++j) sum += information[j * size + i];
      events.sums[i - plan.baselines + 1] += sum / rounds;
    }
  }
  const double of_gradient = std::pow(noise / plan.amplitude, 2);
  events.of_first = baselines * (of_gradient + std::pow(noise / plan.square, 2)) / rounds;
  events.of_others = (of_gradient + baselines * std::pow(noise / plan.cross, 2)) / rounds;
  return {events};
}

// A logistic model: at even odds, in the first release, the gradient is the events less half of the
// rows, and the information a quarter of them. Returns events, and rows without.
std::vector<EventSums> EventsOfOdds(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  const LikelihoodRelease first(plan, measured.releases[0]);
  const Vector gradient = first.Gradient(), information = first.Information();
  const double noise = measured.noise.stddev, of_gradient = std::pow(noise / plan.amplitude, 2);
  std::vector<EventSums> both;
  for (const double sign : {1.0, -1.0}) {
    EventSums& made = both.emplace_back();
    for (size_t i = 0; i < gradient.size(); ++i) {
      made.sums.push_back((i == 0 ? first.rows() / 2 : 2 * information[i]) + sign * gradient[i]);
    }
    made.of_first = of_gradient + std::pow(noise / plan.count / 2, 2);
    made.of_others = of_gradient + std::pow(2 * noise / plan.cross, 2);
  }
  return both;
}

// Why the likelihood may have no largest value, as far as the noise shows: an end without events.
std::string DoubtAboutEvents(const Measurements& measured, const LikelihoodSteps& steps) {
  const QuestionPlan& plan = measured.plan;
  const std::vector<EventSums> all =
      plan.is_rate() ? EventsOfRates(measured) : EventsOfOdds(measured);
  const std::vector<TermEnd> ends = EndsOf(plan, steps);
  const double of_rare = plan.is_rate() ? kClearRareEventsOfRates : kClearRareEvents;
  for (size_t kind = 0; kind < all.size(); ++kind) {
    for (const TermEnd& end : ends) {
      const double effect = kind == 0 ? end.effect : -end.effect;
      if (effect > 0) continue;
      double events = 0, variance = 0;
      for (size_t i = 0; i < end.weights.size(); ++i) {
        events += end.weights[i] * all[kind].sums[i];
        variance +=
            std::pow(end.weights[i], 2) * (i == 0 ? all[kind].of_first : all[kind].of_others);
      }
      const double needed = effect <= -kStrong ? of_rare : kClearEvents;
      if (events > needed * std::sqrt(variance)) continue;
      return fmt::format(
          "coefficients suppressed: too few {} at {} for this noise, of which {:g} deviations are "
          "needed: there may be none, and then no largest likelihood. Join groups, choose narrower "
          "bounds, leave the column out, or ask with a larger epsilon or share, or of more rows",
          kind == 0 ? "events" : "rows without the event", end.text, needed);
    }
  }
  return "";
}

}  // namespace

std::string DoubtAbout(const Measurements& measured, const LikelihoodSteps& steps,
                       const Cholesky& factor) {
  const QuestionPlan& plan = measured.plan;
  if (plan.is_poisson() && MayCutMeans(measured, steps)) {
    return fmt::format(
        "coefficients suppressed: means of the model are above half of the response's bound, {:g}, "
        "and are cut in more rows than is certain to leave no bias: raise the bound, or ask with a "
        "larger epsilon or share, or of more rows",
        plan.design->response().high);
  }
  if (std::string doubt = DoubtAboutEvents(measured, steps); !doubt.empty()) return doubt;
  if (HasEnded(measured, steps, factor)) return "";
  return fmt::format(
      "coefficients suppressed: the steps do not show that they ended near the largest likelihood. "
      "Events may be missing in a group or beyond a value, or there all have one: leave its column "
      "out or join groups. {}Or ask with a larger epsilon or share, or of more rows",
      plan.is_cox() ? "Events may be early in the first interval: choose edges near the times of "
                      "events. "
      : plan.is_poisson()
          ? "Means may be a small part of the response's bound: choose a lower bound. "
          : "");
}

}  // namespace tacet::statistics
