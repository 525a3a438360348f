#include "tacet/accounting/random_federations_for_test.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>
#include <random>
#include <utility>

#include "fmt/format.h"
#include <gtest/gtest.h>

#include "tacet/accounting/contour_reference_for_test.h"
#include "tacet/accounting/observers.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/accounting/two_member_adversary_for_test.h"

namespace tacet::accounting {
namespace {

constexpr double kSlack = 1e-9;         // of epsilon
constexpr double kContourError = 1e-5;  // relative, of delta
constexpr size_t kSlowest = 5;

double Tail(double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2); }

// Tail over density, by a continued fraction where both are small.
double Mills(double x) {
  if (x < 5) return Tail(x) * std::sqrt(2 * std::numbers::pi) * std::exp(0.5 * x * x);
  double fraction = x;
  for (int k = 60; k >= 1; --k) fraction = x + k / fraction;
  return 1 / fraction;
}

// log delta(epsilon) of N(mu, 1) against N(0, 1): with x = epsilon/mu - mu/2 both terms have the
// density of x in common.
double GaussianLogDelta(double mu, double epsilon) {
  const double x = epsilon / mu - mu / 2;
  if (x < -6) return std::log1p(-Tail(-x) - Mills(x + mu) * std::exp(-0.5 * x * x) / 2.5066);
  return -0.5 * x * x - 0.5 * std::log(2 * std::numbers::pi) + std::log(Mills(x) - Mills(x + mu));
}

double GaussianEpsilonOf(double mu, double delta) {
  double low = 0;
  double high = mu * mu + 100 * (1 + mu);
  if (GaussianLogDelta(mu, 0) <= std::log(delta)) return 0;
  for (int turn = 0; turn < 100; ++turn) {
    const double middle = 0.5 * (low + high);
    (GaussianLogDelta(mu, middle) > std::log(delta) ? low : high) = middle;
  }
  return high;
}

// One round of a pair on a line: P = (1 - q) N(w) + q N(u), Q = (1 - q) N(w) + q N(v). For a >= 1
// and u beyond v and w, P > a Q holds above a point that is found by halving.
double LineLogDelta(const LinePair& pair, double epsilon) {
  // One by one: clang 14 captures no structured bindings.
  const double q = pair.q;
  const double u = pair.u;
  const double w = pair.w;
  const double v = pair.v;
  const double log_rest = q < 1 && epsilon > 0
                              ? std::log(std::expm1(std::min(epsilon, 500.0)) * (1 - q) / q)
                              : -std::numeric_limits<double>::infinity();
  const auto inside = [&](double x) {
    const double a = log_rest + (w - u) * x - 0.5 * (w * w - u * u);
    const double b = epsilon + (v - u) * x - 0.5 * (v * v - u * u);
    const double highest = std::max(a, b);
    return highest + std::log(std::exp(a - highest) + std::exp(b - highest)) < 0;
  };
  double low = std::min({u, v, w}) - 10;
  double high = std::max({u, v, w}) + 40;
  if (!inside(high) || epsilon > 500) return -std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < 80; ++turn) {
    const double middle = 0.5 * (low + high);
    (inside(middle) ? high : low) = middle;
  }
  const double a = std::exp(epsilon);
  const double delta =
      q * Tail(high - u) - (a - 1) * (1 - q) * Tail(high - w) - a * q * Tail(high - v);
  return delta > 0 ? std::log(delta) : -std::numeric_limits<double>::infinity();
}

// A kind of round that the observer may meet, with its pair that a data set attains.
struct AttainedPart {
  double probability = 1;
  double rate = 1;
  double length = 0;  // S over the noise
};

// Numbers of heads among `coins`, from `least` on, with their probabilities.
std::vector<std::pair<double, double>> Heads(double coins, double q, double least) {
  const double deviation = std::sqrt(coins * q * (1 - q));
  const double from = std::max(least, std::floor(coins * q - 9 * deviation - 9));
  const double to = std::min(coins, std::ceil(coins * q + 9 * deviation + 9));
  std::vector<std::pair<double, double>> heads;
  for (double k = from; k <= to; ++k) {
    heads.emplace_back(
        k, std::exp(std::lgamma(coins + 1) - std::lgamma(k + 1) - std::lgamma(coins - k + 1) +
                    k * std::log(q) + (coins - k) * std::log1p(-q)));
  }
  return heads;
}

// The parts of a round in which somebody is drawn. At most `most` of a public size: neighbouring
// ones are taken together with the lowest rate and the most noise.
std::vector<AttainedPart> PartsOf(const std::vector<WeightedEvent>& round, size_t most) {
  std::vector<AttainedPart> parts;
  for (const auto& [probability, event] : round) {
    if (event.sampling != Sampling::kPoissonKnownSize) {
      if (event.sampling_rate > 0) {
        parts.push_back({probability, event.sampling_rate, event.clip_norm / event.noise_stddev});
      }
      continue;
    }
    const auto pool = static_cast<double>(event.pool);
    const auto least = static_cast<double>(event.least);
    const auto heads = Heads(pool, event.sampling_rate, least);
    const size_t together = (heads.size() + most - 1) / most;
    for (size_t first = 0; first < heads.size(); first += together) {
      const size_t last = std::min(first + together, heads.size()) - 1;
      double mass = 0;
      for (size_t i = first; i <= last; ++i) mass += heads[i].second;
      parts.push_back(
          {probability * mass, heads[first].first / pool,
           event.clip_norm / event.noise_stddev / std::sqrt(heads[last].first / least)});
    }
  }
  return parts;
}

// The pair of a round of fixed size, seen from the data set that loses most in one round.
LinePair AttainedPair(const AttainedPart& part, Neighbouring neighbouring) {
  const double c = part.length;
  return neighbouring == Neighbouring::kReplaceOne
             ? LinePair{.q = part.rate, .u = 2 * c, .w = 0, .v = 0}
             : LinePair{.q = part.rate, .u = c, .w = -c, .v = 0};
}

LinePair HiddenPair(const SamplingEvent& event) {
  const double c = event.clip_norm / event.noise_stddev;
  return {.q = event.sampling_rate,
          .u = c,
          .w = 0,
          .v = event.neighbouring == Neighbouring::kReplaceOne ? -c : 0};
}

// Lower bounds of log delta at epsilon.
double OneRoundLogDelta(const std::vector<WeightedEvent>& round, double epsilon) {
  const SamplingEvent& first = round.front().event;
  if (first.sampling == Sampling::kPoisson) return LineLogDelta(HiddenPair(first), epsilon);
  double total = 0;
  for (const AttainedPart& part : PartsOf(round, 1'000'000)) {
    total +=
        part.probability * std::exp(LineLogDelta(AttainedPair(part, first.neighbouring), epsilon));
  }
  return std::log(total);
}

std::optional<double> ContourLogDelta(const SamplingEvent& event, double rounds, double epsilon) {
  const double c = event.clip_norm / event.noise_stddev;
  const double q = event.sampling_rate;
  const bool replace = event.neighbouring == Neighbouring::kReplaceOne;
  std::vector<std::optional<double>> deltas;
  if (event.sampling == Sampling::kPoisson && replace) {
    deltas = {ContourDelta(ReferencePair::kOpposite, q, c, rounds, epsilon)};
  } else {
    // Others send zeros, or what the unit is replaced by.
    const double length = replace ? 2 * c : c;
    deltas = {ContourDelta(ReferencePair::kMixtureFirst, q, length, rounds, epsilon),
              ContourDelta(ReferencePair::kNullFirst, q, length, rounds, epsilon)};
  }
  std::optional<double> largest;
  for (const auto& delta : deltas) {
    if (delta && *delta > 0 && (!largest || std::log(*delta) > *largest)) {
      largest = std::log(*delta);
    }
  }
  return largest;
}

// The adversary, where it takes a fraction of a second.
std::optional<double> AdversaryLogDelta(const std::vector<WeightedEvent>& round, double rounds,
                                        double epsilon) {
  const SamplingEvent& event = round.front().event;
  if (event.sampling == Sampling::kNone || event.sampling == Sampling::kPoisson || rounds > 100 ||
      epsilon > 12) {
    return std::nullopt;
  }
  const std::vector<AttainedPart> parts = PartsOf(round, 12);
  AdversarySetting setting{
      .members = {{}}, .rounds = static_cast<int>(rounds), .resolution = rounds > 30 ? 6.0 : 8.0};
  if (event.neighbouring == Neighbouring::kReplaceOne) setting.members.emplace_back();
  double probability = 0;
  double deviation = 0;  // of a round's loss, roughly
  for (const AttainedPart& part : parts) {
    if (part.rate < 0.02 || part.length > 4 || part.length < 0.02) return std::nullopt;
    LinePair pair = AttainedPair(part, event.neighbouring);
    setting.members[0].push_back({part.probability, pair});
    if (setting.members.size() > 1) {
      std::swap(pair.u, pair.v);
      setting.members[1].push_back({part.probability, pair});
    }
    probability += part.probability;
    deviation = std::max(deviation, part.rate * std::min(2 * part.length, 1.0));
  }
  if (parts.size() > 40 || !(probability > 0)) return std::nullopt;
  const double points = (12 + epsilon + 8 * deviation * std::sqrt(rounds)) * setting.resolution /
                        std::min(deviation, 1.0);
  if (rounds * points * 30 * setting.resolution > 3e8) return std::nullopt;
  // Nothing is released with the rest.
  if (probability < 1) {
    for (AdversaryMember& member : setting.members) {
      member.push_back({1 - probability, {.q = member.front().pair.q}});
    }
  }
  const double delta = AdversaryDelta(setting, epsilon);
  return delta > 0 ? std::optional(std::log(delta)) : std::nullopt;
}

// Sum over the rounds of the squares of what the unit can move, at its worst.
double UnsampledMu(const ObservedRounds& observer) {
  double worst = 0;
  for (const auto& [probability, event] : observer.round) {
    if (probability > 0 && event.sampling_rate > 0) {
      const double reach = event.neighbouring == Neighbouring::kReplaceOne ? 2 : 1;
      worst = std::max(worst, reach * event.clip_norm / event.noise_stddev);
    }
  }
  return worst * std::sqrt(static_cast<double>(observer.releases));
}

class Generator {
 public:
  explicit Generator(int seed) : generator_(static_cast<uint64_t>(seed)) {}

  FederationPrivacySpec Draw() {
    FederationPrivacySpec spec;
    spec.rounds = static_cast<uint64_t>(LogUniform(1, 1e6));
    spec.mechanism.noise_stddev = LogUniform(0.3, 100);
    spec.privacy.delta = LogUniform(1e-15, 0.5);
    spec.privacy.neighbouring = Chance(0.5) ? Neighbouring::kReplaceOne : Neighbouring::kZeroOut;
    const double rate = LogUniform(1e-6, 1);
    if (Chance(0.2)) {
      spec.privacy.unit = Unit::kRecord;
      spec.sampling.clients = static_cast<uint64_t>(LogUniform(2, 1000));
      spec.sampling.record_rate = rate;
      if (Chance(0.2)) spec.sampling.appearances = 2;
    } else {
      spec.sampling.clients = static_cast<uint64_t>(LogUniform(2, 1e6));
      const double cohort = std::round(rate * static_cast<double>(spec.sampling.clients));
      spec.sampling.cohort = static_cast<uint64_t>(std::max(1.0, cohort));
      spec.sampling.method = Chance(0.5) ? Sampling::kFixedSize : Sampling::kPoisson;
      spec.sampling.dummy_uploads = spec.sampling.method == Sampling::kPoisson && Chance(0.3);
      const uint64_t most =
          spec.sampling.dummy_uploads ? spec.sampling.clients : spec.sampling.cohort;
      if (Chance(0.3)) spec.sampling.min_participants = 1 + Below(most);
      if (Chance(0.2)) spec.sampling.max_participations = 1 + Below(spec.rounds);
    }
    if (Chance(0.4)) {
      spec.privacy.colluders =
          std::min<uint64_t>(1 + Below(Chance(0.8) ? 4 : 1000), spec.sampling.clients - 1);
    }
    return spec;
  }

 private:
  double LogUniform(double low, double high) {
    return std::exp(
        std::uniform_real_distribution<double>(std::log(low), std::log(high))(generator_));
  }
  bool Chance(double probability) {
    return std::uniform_real_distribution<double>(0, 1)(generator_) < probability;
  }
  uint64_t Below(uint64_t n) {
    return std::uniform_int_distribution<uint64_t>(0, n - 1)(generator_);
  }
  std::mt19937_64 generator_;
};

struct Answer {
  double epsilon = std::numeric_limits<double>::infinity();  // the smallest that is guaranteed
  double lower = 0;                                          // the largest epsilon_lower
  double cpu_seconds = 0;
  std::string rows;
};

Answer AnswerOf(const ObservedRounds& observer, const FederationPrivacySpec& spec,
                const std::string& where) {
  Answer answer;
  for (const Accountant accountant : kAccountants) {
    const std::clock_t start = std::clock();
    const auto rows = RowsOfObserver(observer, spec, {&accountant, 1});
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    answer.cpu_seconds += seconds;
    EXPECT_TRUE(rows.ok()) << where << rows.status();
    if (!rows.ok() || rows->empty()) continue;
    const PrivacyRow& row = rows->front();
    const double epsilon = row.epsilon.value_or(std::numeric_limits<double>::infinity());
    EXPECT_FALSE(std::isnan(epsilon)) << where;
    answer.rows +=
        fmt::format("; {} {:.6g} in {:.2f} s", AccountantName(accountant), epsilon, seconds);
    if (row.standing == Standing::kGuarantee) {
      answer.epsilon = std::min(answer.epsilon, epsilon);
    }
    answer.lower = std::max(answer.lower, row.epsilon_lower.value_or(0));
  }
  return answer;
}

std::string Words(const ObservedRounds& observer, const FederationPrivacySpec& spec) {
  const SamplingEvent& event = observer.round.front().event;
  return fmt::format(
      "{} {} {}: M {} K {} K_min {} c {} sigma {} T {} delta {} cover {} most {} | {} parts of {} "
      "q "
      "{} noise {}, {} releases",
      UnitName(spec.privacy.unit), NeighbouringName(spec.privacy.neighbouring),
      ObserverName(observer.observer), spec.sampling.clients, spec.sampling.cohort,
      spec.sampling.min_participants, spec.privacy.colluders, spec.mechanism.noise_stddev,
      spec.rounds, spec.privacy.delta, spec.sampling.dummy_uploads,
      spec.sampling.max_participations, observer.round.size(), SamplingName(event.sampling),
      event.sampling_rate, event.noise_stddev, observer.releases);
}

void CheckObserver(const ObservedRounds& observer, const FederationPrivacySpec& spec,
                   FederationsChecked& checked, const std::string& where) {
  const Answer answer = AnswerOf(observer, spec, where);
  const std::string all = where + answer.rows;
  ++checked.observers;
  checked.cpu_seconds += answer.cpu_seconds;
  checked.slow.push_back({answer.cpu_seconds, all});
  std::ranges::sort(checked.slow, std::greater(), &SlowObserver::cpu_seconds);
  checked.slow.resize(std::min(checked.slow.size(), kSlowest));

  const double mu = UnsampledMu(observer);
  EXPECT_GE(answer.epsilon, 0) << all;
  if (!std::isfinite(mu)) return;
  ASSERT_TRUE(std::isfinite(answer.epsilon)) << all;
  const double unsampled = mu > 0 ? GaussianEpsilonOf(mu, spec.privacy.delta) : 0;
  EXPECT_LE(answer.epsilon, unsampled * (1 + 1e-9) + kSlack) << all << " unsampled " << unsampled;
  EXPECT_LE(answer.lower, answer.epsilon + kSlack) << all;

  const SamplingEvent& event = observer.round.front().event;
  const double at = answer.epsilon + kSlack;
  const double log_delta = std::log(spec.privacy.delta);
  const auto rounds = static_cast<double>(observer.releases);
  const bool one_kind = observer.round.size() == 1 && event.sampling != Sampling::kPoissonKnownSize;
  if (one_kind && (event.sampling == Sampling::kNone || event.sampling_rate >= 1)) {
    ++checked.compared;
    EXPECT_GE(answer.epsilon, unsampled * (1 - 1e-9) - kSlack) << all;
    return;
  }
  EXPECT_LE(OneRoundLogDelta(observer.round, at), log_delta + 1e-9) << all;
  bool compared = false;
  if (one_kind && rounds > 1 && event.sampling_rate > 0) {
    if (const auto contour = ContourLogDelta(event, rounds, at)) {
      compared = true;
      EXPECT_LE(*contour, log_delta + kContourError) << all;
    }
  }
  if (rounds > 1) {
    if (const auto adversary = AdversaryLogDelta(observer.round, rounds, at)) {
      compared = true;
      ++checked.adversaries;
      EXPECT_LE(*adversary, log_delta + 1e-9) << all;
    }
  }
  checked.compared += compared ? 1 : 0;
}

}  // namespace

FederationsChecked CheckRandomFederations(int count, int seed, bool every_observer) {
  Generator generator(seed);
  FederationsChecked checked;
  for (int i = 0; i < count; ++i) {
    const FederationPrivacySpec drawn = generator.Draw();
    const auto observers = ObserveFederation(drawn);
    EXPECT_TRUE(observers.ok()) << i << " " << observers.status();
    if (!observers.ok()) continue;
    const FederationPrivacySpec spec = Resolved(drawn);
    std::vector<const ObservedRounds*> guaranteed;
    for (const ObservedRounds& observer : *observers) {
      if (observer.standing == Standing::kGuarantee) guaranteed.push_back(&observer);
    }
    if (!every_observer) guaranteed = {guaranteed[static_cast<size_t>(i) % guaranteed.size()]};
    for (const ObservedRounds* observer : guaranteed) {
      CheckObserver(*observer, spec, checked,
                    fmt::format("setting {}: {}", i, Words(*observer, spec)));
    }
  }
  return checked;
}

}  // namespace tacet::accounting
