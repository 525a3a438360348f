#include "tacet/statistics/replicas.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>
#include <utility>

#include "tacet/crypto/hash.h"
#include "tacet/crypto/seeded_random.h"

namespace tacet::statistics {
namespace {

// Box and Muller, for simulated noise only; the noise that protects is drawn in dp.
double Normal(crypto::Random& random) {
  const double u = 1 - crypto::Uniform(random);
  const double v = crypto::Uniform(random);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

double Poisson(double mean, crypto::Random& random) {
  if (mean > 50) return std::max(0.0, std::round(mean + std::sqrt(mean) * Normal(random)));
  double left = std::exp(-mean);
  double count = 0;
  for (double product = crypto::Uniform(random); product > left;
       product *= crypto::Uniform(random)) {
    ++count;
  }
  return count;
}

// Marsaglia and Tsang (2000), shape >= 1; below, the power of a uniform variable brings it down.
double Gamma(double shape, crypto::Random& random) {
  if (shape < 1) return Gamma(shape + 1, random) * std::pow(1 - crypto::Uniform(random), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = Normal(random);
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - crypto::Uniform(random)) < x * x / 2 + d - d * v + d * std::log(v)) {
      return d * v;
    }
  }
}

double Noise(const ReleasedNoise& noise, crypto::Random& random) {
  if (noise.law == dp::NoiseLaw::kGaussian || noise.stddev == 0) {
    return noise.stddev * Normal(random);
  }
  // A difference of two negative binomials, each a Poisson variable of a gamma variable's mean.
  const auto part = [&] {
    return Poisson(Gamma(noise.laws, random) / std::expm1(noise.rate), random);
  };
  const double up = part();
  return noise.step * (up - part());
}

uint64_t SeedOf(std::span<const double> values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(double));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  const crypto::Digest digest = crypto::Sha256(bytes);
  uint64_t seed = 0;
  std::memcpy(&seed, digest.data(), sizeof(seed));
  return seed;
}

// Errors around `centre`, and covariances, of draws that are finite.
class Spread {
 public:
  Spread(std::vector<double> centre, size_t covariances)
      : centre_(std::move(centre)), covariances_(covariances), draws_(centre_.size()) {}

  void Add(const std::vector<double>& numbers) {
    for (size_t i = 0; i < draws_.size(); ++i) {
      if (std::isfinite(numbers[i])) draws_[i].push_back(numbers[i]);
    }
  }
  std::vector<double> Deviations() const {
    std::vector<double> deviations;
    for (size_t i = 0; i < draws_.size(); ++i) {
      double squares = 0;
      for (const double draw : draws_[i]) squares += (draw - centre_[i]) * (draw - centre_[i]);
      deviations.push_back(std::sqrt(squares / static_cast<double>(draws_[i].size())));
    }
    return deviations;
  }
  std::vector<double> Covariances() const {
    std::vector<double> all;
    for (size_t i = 0; i < covariances_; ++i) {
      for (size_t j = 0; j < covariances_; ++j) all.push_back(Covariance(draws_[i], draws_[j]));
    }
    return all;
  }

 private:
  static double Covariance(const std::vector<double>& a, const std::vector<double>& b) {
    const size_t count = std::min(a.size(), b.size());
    if (count < 2) return std::nan("");
    double mean_a = 0, mean_b = 0, sum = 0;
    for (size_t i = 0; i < count; ++i) {
      mean_a += a[i] / static_cast<double>(count);
      mean_b += b[i] / static_cast<double>(count);
    }
    for (size_t i = 0; i < count; ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
    return sum / static_cast<double>(count - 1);
  }

  std::vector<double> centre_;
  size_t covariances_;
  std::vector<std::vector<double>> draws_;
};

// For the nearest cells with the same sum, or 0, none of which is below 0: the same amount is taken
// from each, and nothing from those that have less (Held, Wolfe, Crowder 1974).
std::vector<double> SuffixesOfCells(const std::vector<double>& cells) {
  double total = 0;
  for (const double cell : cells) total += cell;
  total = std::max(total, 0.0);
  std::vector<double> largest = cells;
  std::ranges::sort(largest, std::greater<>());
  double sum = 0, taken = 0;
  for (size_t i = 0; i < largest.size(); ++i) {
    sum += largest[i];
    const double from_each = (sum - total) / static_cast<double>(i + 1);
    if (largest[i] > from_each) taken = from_each;
  }
  std::vector<double> suffixes(cells.size());
  double running = 0;
  for (size_t i = cells.size(); i-- > 0;) {
    running += std::max(cells[i] - taken, 0.0);
    suffixes[i] = running;
  }
  return suffixes;
}

}  // namespace

std::vector<double> MonotoneSuffixes(const PrefixStrategy& strategy,
                                     std::span<const double> measurements) {
  if (strategy.measures_cells()) return SuffixesOfCells(strategy.Cells(measurements));
  const std::vector<double> suffixes = strategy.Suffixes(measurements);
  struct Pool {
    double value, weight;
    size_t count;
  };
  std::vector<Pool> pools;
  for (size_t i = 0; i < suffixes.size(); ++i) {
    const double deviation = strategy.SuffixDeviation(i);
    Pool pool{.value = suffixes[i], .weight = 1 / (deviation * deviation), .count = 1};
    while (!pools.empty() && pools.back().value < pool.value) {
      const Pool& last = pools.back();
      const double weight = last.weight + pool.weight;
      pool = {.value = (last.value * last.weight + pool.value * pool.weight) / weight,
              .weight = weight,
              .count = last.count + pool.count};
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  std::vector<double> monotone;
  for (const Pool& pool : pools) {
    monotone.insert(monotone.end(), pool.count, std::max(pool.value, 0.0));
  }
  return monotone;
}

std::vector<double> CellsOfSuffixes(std::span<const double> suffixes) {
  std::vector<double> cells(suffixes.begin(), suffixes.end());
  for (size_t i = 0; i + 1 < cells.size(); ++i) cells[i] -= cells[i + 1];
  return cells;
}

Errors BootstrapErrors(const QuestionPlan& plan, std::span<const double> measurements,
                       const ReleasedNoise& law, const Statistic& statistic, size_t covariances) {
  const PrefixStrategy& strategy = *plan.strategy;
  const size_t length = strategy.cells();
  std::vector<double> cells;
  for (size_t segment = 0; segment < plan.segments; ++segment) {
    const std::vector<double> of_segment =
        CellsOfSuffixes(MonotoneSuffixes(strategy, measurements.subspan(segment * length, length)));
    cells.insert(cells.end(), of_segment.begin(), of_segment.end());
  }
  const auto measure = [&](std::span<const double> counts) {
    std::vector<double> measured(counts.size(), 0.0);
    for (size_t segment = 0; segment < plan.segments; ++segment) {
      strategy.AddMeasurements(counts.subspan(segment * length, length),
                               std::span(measured).subspan(segment * length, length));
    }
    return measured;
  };
  const std::vector<double> fixed = measure(cells);
  const std::vector<double> centre = statistic(fixed);
  Spread noise(centre, covariances);
  Spread total(centre, 0);
  crypto::Random random = crypto::SeededRandom(SeedOf(measurements), "statistics/replicas");
  std::vector<double> drawn(cells.size());
  std::vector<double> again(cells.size());
  for (int replica = 0; replica < kReplicas; ++replica) {
    for (size_t i = 0; i < cells.size(); ++i) again[i] = fixed[i] + Noise(law, random);
    noise.Add(statistic(again));
    for (size_t i = 0; i < cells.size(); ++i) drawn[i] = Poisson(cells[i], random);
    again = measure(drawn);
    for (double& value : again) value += Noise(law, random);
    total.Add(statistic(again));
  }
  return {.noise = noise.Deviations(),
          .total = total.Deviations(),
          .noise_covariance = noise.Covariances()};
}

}  // namespace tacet::statistics
