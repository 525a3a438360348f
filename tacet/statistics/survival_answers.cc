#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/statistics/answer_parts.h"
#include "tacet/statistics/replicas.h"

namespace tacet::statistics {
namespace {

// Rows at risk are clearly above a number when they are as many standard deviations of the noise
// above it.
constexpr double kClearlyAbove = 3;

// Rows of one group in each interval. Within it events and censored rows may come in any order.
struct LifeTable {
  std::vector<double> events = {};
  std::vector<double> censored = {};
  std::vector<double> at_risk = {};  // at its begin
  double count = 0;

  // The same, less half of those censored within.
  double exposed(size_t interval) const { return at_risk[interval] - censored[interval] / 2; }
};

LifeTable TableOf(const QuestionPlan& plan, std::span<const double> values, size_t group) {
  const size_t length = plan.strategy->cells();
  const std::span<const double> measured = values.subspan(2 * group * length, length);
  std::vector<double> of_events(measured.begin(), measured.end());
  // Rows beyond the last interval are censored: what is measured there is noise.
  if (plan.strategy->measures_cells()) of_events.back() = 0;
  const std::vector<double> events = MonotoneSuffixes(*plan.strategy, of_events);
  const std::vector<double> censored =
      MonotoneSuffixes(*plan.strategy, values.subspan((2 * group + 1) * length, length));
  LifeTable table{.count = events[0] + censored[0]};
  for (size_t i = 0; i + 1 < length; ++i) {
    table.events.push_back(events[i] - events[i + 1]);
    table.censored.push_back(censored[i] - censored[i + 1]);
    table.at_risk.push_back(events[i] + censored[i]);
  }
  return table;
}

// Survival and cumulative hazard at the end of an interval.
struct CurvePoint {
  double survival = 1;
  double hazard = 0;
  double greenwood = 0;  // sum of d / (n (n - d)), the squared relative sampling error of survival
};

// Kaplan and Meier's survival, and Nelson and Aalen's hazard, where in each interval the share
// `before` of the censored rows is censored before the events. Those who have the event have it one
// after the other, or all at once where `at_once`. With n rows and d events the hazard is then d/n,
// or 1/n + 1/(n-1) + ... + 1/(n-d+1), which is log((n + 1/2) / (n - d + 1/2)) but for 1/(24
// (n-d)^2).
std::vector<CurvePoint> CurveOf(const LifeTable& table, double before, bool at_once) {
  std::vector<CurvePoint> points;
  CurvePoint point;
  for (size_t i = 0; i < table.events.size(); ++i) {
    const double d = table.events[i];
    const double n = std::max(table.at_risk[i] - before * table.censored[i], d);
    if (d > 0) {
      point.survival *= 1 - d / n;
      point.hazard += at_once ? d / n : std::log((n + 0.5) / (n - d + 0.5));
      point.greenwood += n > d ? d / (n * (n - d)) : 0;
    }
    points.push_back(point);
  }
  return points;
}

// Numbers of one group: its count, then for each interval rows at risk, and what follows.
enum Number : size_t {
  kAtRisk,
  kSurvival,       // half of the censored before the events
  kLeastSurvival,  // all of them
  kMostSurvival,   // none
  kHazard,
  kLeastHazard,
  kNumbers,
};

std::vector<double> NumbersOf(const LifeTable& table) {
  const std::vector<CurvePoint> middle = CurveOf(table, 0.5, false);
  const std::vector<CurvePoint> least = CurveOf(table, 1, false);
  const std::vector<CurvePoint> most = CurveOf(table, 0, true);
  std::vector<double> numbers = {table.count};
  for (size_t i = 0; i < middle.size(); ++i) {
    for (const double number : {table.at_risk[i], middle[i].survival, least[i].survival,
                                most[i].survival, middle[i].hazard, most[i].hazard}) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

// Survival whose estimate s has the error `noise` of the noise, and the sampling error of a share
// of `rows` rows: all S with (s - S)^2 <= c^2 (S (1 - S) / rows + noise^2) (Wilson).
Range ShareInterval(double s, double noise, double rows, double critical) {
  const double square = critical * critical;
  const double a = 1 + square / rows, b = s + square / rows / 2;
  const double root = std::sqrt(std::max(b * b - a * (s * s - square * noise * noise), 0.0));
  return {.low = (b - root) / a, .high = (b + root) / a};
}

// Observed less expected events of all groups but the last, and the covariances of these numbers
// under equal hazards (hypergeometric).
struct LogRank {
  std::vector<double> difference;
  std::vector<double> covariance;
};

LogRank LogRankOf(const std::vector<LifeTable>& tables) {
  const size_t groups = tables.size() - 1;
  LogRank test{.difference = std::vector<double>(groups, 0.0),
               .covariance = std::vector<double>(groups * groups, 0.0)};
  for (size_t i = 0; i < tables[0].events.size(); ++i) {
    double events = 0, exposed = 0;
    for (const LifeTable& table : tables) {
      events += table.events[i];
      exposed += table.exposed(i);
    }
    if (!(exposed > 1) || !(events > 0)) continue;
    events = std::min(events, exposed);
    const double spread = events * (exposed - events) / (exposed - 1);
    for (size_t g = 0; g < groups; ++g) {
      const double share = tables[g].exposed(i) / exposed;
      test.difference[g] += tables[g].events[i] - events * share;
      for (size_t h = 0; h < groups; ++h) {
        const double other = tables[h].exposed(i) / exposed;
        test.covariance[g * groups + h] += spread * share * ((g == h ? 1 : 0) - other);
      }
    }
  }
  return test;
}

// x^T A^-1 x by elimination with pivots; not a number when A is singular.
double QuadraticForm(std::vector<double> a, std::vector<double> x) {
  const size_t n = x.size();
  const std::vector<double> right = x;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i) {
      if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
    }
    if (!(std::abs(a[pivot * n + k]) > 0)) return std::nan("");
    for (size_t j = 0; j < n; ++j) std::swap(a[k * n + j], a[pivot * n + j]);
    std::swap(x[k], x[pivot]);
    for (size_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] / a[k * n + k];
      for (size_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
      x[i] -= factor * x[k];
    }
  }
  double form = 0;
  for (size_t k = n; k-- > 0;) {
    for (size_t j = k + 1; j < n; ++j) x[k] -= a[k * n + j] * x[j];
    x[k] /= a[k * n + k];
    form += x[k] * right[k];
  }
  return form;
}

// The errors of the numbers of one group.
struct GroupErrors {
  std::span<const double> noise;
  std::span<const double> total;
};

// The curves of one group, whose numbers are `numbers`.
class GroupCurves {
 public:
  GroupCurves(const Measurements& measured, const LifeTable& table, std::string group,
              GroupErrors errors)
      : measured_(measured),
        table_(table),
        least_(CurveOf(table, 1, false)),
        most_(CurveOf(table, 0, true)),
        numbers_(NumbersOf(table)),
        group_(std::move(group)),
        errors_(errors) {}

  void AddTo(Answer& answer) const {
    const double noise = errors_.noise[0];
    const Estimate count{.quantity = "count", .group = group_};
    answer.estimates.push_back(is_enough() ? MakeEstimate(count, numbers_[0], noise, noise,
                                                          measured_.confidence, Range{0, HUGE_VAL})
                                           : count);
    for (size_t i = 0; i < size(); ++i) answer.estimates.push_back(AtRisk(i));
    for (size_t i = 0; i < size(); ++i) answer.estimates.push_back(Survival(i));
    for (size_t i = 0; i < size(); ++i) answer.estimates.push_back(Hazard(i));
  }
  bool is_enough() const { return numbers_[0] >= measured_.floor; }

 private:
  size_t size() const { return table_.events.size(); }
  static size_t Place(size_t interval, Number number) { return 1 + interval * kNumbers + number; }
  bool IsShown(size_t interval) const {
    return is_enough() && numbers_[Place(interval, kAtRisk)] >= measured_.floor;
  }
  Estimate Labels(std::string quantity, size_t edge) const {
    return {.quantity = std::move(quantity),
            .group = group_,
            .at = fmt::format("{:g}", measured_.plan.cells->edges()[edge])};
  }

  Estimate AtRisk(size_t i) const {
    Estimate labels = Labels("at risk", i);
    const size_t place = Place(i, kAtRisk);
    return IsShown(i) ? MakeEstimate(labels, numbers_[place], errors_.noise[place],
                                     errors_.noise[place], measured_.confidence, Range{0, HUGE_VAL})
                      : labels;
  }

  // Where rows at risk are not clearly there, nothing keeps survival above 0. A curve that is shown
  // only where they are above the floor says nothing about them unless they are clearly above it.
  Range SurvivalInterval(size_t i) const {
    const size_t least = Place(i, kLeastSurvival), most = Place(i, kMostSurvival);
    const double apart = std::max(numbers_[most] - numbers_[least], 0.0) /
                         std::max({errors_.total[least], errors_.total[most], 1e-12});
    const double critical = CriticalValue(apart, measured_.confidence);
    const double at_risk = numbers_[Place(i, kAtRisk)];
    const double clear = measured_.floor + kClearlyAbove * errors_.noise[Place(i, kAtRisk)];
    return {.low = at_risk > clear ? ShareInterval(numbers_[least], errors_.noise[least],
                                                   Rows(least_[i], at_risk), critical)
                                         .low
                                   : 0,
            .high = ShareInterval(numbers_[most], errors_.noise[most], Rows(most_[i], at_risk),
                                  critical)
                        .high};
  }
  // Rows of which a share would have the point's sampling error.
  static double Rows(const CurvePoint& point, double at_risk) {
    const double s = point.survival;
    return s > 0 && s < 1 ? (1 - s) / (s * point.greenwood) : std::max(at_risk, 1.0);
  }

  Estimate Survival(size_t i) const {
    Estimate labels = Labels("survival", i + 1);
    const size_t place = Place(i, kSurvival);
    return IsShown(i) ? MakeEstimate(labels, numbers_[place], errors_.noise[place],
                                     errors_.total[place], SurvivalInterval(i), {0, 1})
                      : labels;
  }

  // The hazard is at most -log of survival, so nothing bounds it where survival can be 0.
  Estimate Hazard(size_t i) const {
    Estimate labels = Labels("cumulative hazard", i + 1);
    if (!IsShown(i)) return labels;
    const size_t place = Place(i, kHazard), least = Place(i, kLeastHazard);
    const double survival = std::max(SurvivalInterval(i).low, 0.0);
    const double most = survival > 0 ? -std::log(survival) : HUGE_VAL;
    const double error = std::max(errors_.total[least], 1e-12);
    const double critical =
        CriticalValue(std::max(most - numbers_[least], 0.0) / error, measured_.confidence);
    return MakeEstimate(labels, numbers_[place], errors_.noise[place], errors_.total[place],
                        Range{numbers_[least] - critical * error, most}, {0, HUGE_VAL});
  }

  const Measurements& measured_;
  const LifeTable& table_;
  std::vector<CurvePoint> least_;
  std::vector<CurvePoint> most_;
  std::vector<double> numbers_;
  std::string group_;
  GroupErrors errors_;
};

// The statistic and p of the test, which has a level but no error: no interval would be about them.
void AddLogRank(const std::vector<LifeTable>& tables, const std::vector<double>& noise_covariance,
                bool all_enough, Answer& answer) {
  Estimate statistic{.quantity = "log-rank chi-squared"};
  Estimate tail{.quantity = "log-rank p"};
  if (all_enough) {
    LogRank test = LogRankOf(tables);
    for (size_t i = 0; i < test.covariance.size(); ++i) test.covariance[i] += noise_covariance[i];
    const double form = QuadraticForm(test.covariance, test.difference);
    if (std::isfinite(form)) {
      statistic.value = form;
      tail.value = ChiSquaredTail(form, tables.size() - 1);
    }
    answer.methods.emplace_back(
        "log-rank: hypergeometric covariance, enlarged by that of the noise; no interval");
  }
  answer.estimates.push_back(std::move(statistic));
  answer.estimates.push_back(std::move(tail));
}

}  // namespace

Answer AnswerSurvival(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  const size_t groups = plan.group_count();
  const auto tables_of = [&](std::span<const double> values) {
    std::vector<LifeTable> tables;
    for (size_t group = 0; group < groups; ++group) tables.push_back(TableOf(plan, values, group));
    return tables;
  };
  // First the log-rank differences, then the numbers of each group.
  const Statistic statistic = [&](std::span<const double> values) {
    const std::vector<LifeTable> tables = tables_of(values);
    std::vector<double> numbers = LogRankOf(tables).difference;
    for (const LifeTable& table : tables) {
      const std::vector<double> of_group = NumbersOf(table);
      numbers.insert(numbers.end(), of_group.begin(), of_group.end());
    }
    return numbers;
  };
  const Errors errors =
      BootstrapErrors(plan, measured.values, measured.noise, statistic, groups - 1);
  Answer answer;
  answer.methods = {
      plan.strategy->measures_cells()
          ? "events and censored rows of each interval, none below 0, with the measured totals"
          : "isotonic regression of events and of censored rows from each time on (pool adjacent "
            "violators)",
      "Kaplan-Meier and Nelson-Aalen in intervals, with the life table's half of those censored",
      "errors by parametric bootstrap; intervals hold for any order of events and censored rows "
      "within an interval (Imbens and Manski), with Wilson's and Greenwood's sampling error"};
  const std::vector<LifeTable> tables = tables_of(measured.values);
  const size_t length = 1 + kNumbers * plan.cells->size();
  bool all_enough = true;
  for (size_t group = 0; group < groups; ++group) {
    const size_t first = groups - 1 + group * length;
    const GroupCurves curves(measured, tables[group], plan.group_label(group),
                             {.noise = std::span(errors.noise).subspan(first, length),
                              .total = std::span(errors.total).subspan(first, length)});
    curves.AddTo(answer);
    all_enough = all_enough && curves.is_enough();
  }
  if (groups > 1) AddLogRank(tables, errors.noise_covariance, all_enough, answer);
  return answer;
}

}  // namespace tacet::statistics
