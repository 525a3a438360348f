#include "tacet/statistics/replicas.h"

#include <algorithm>
#include <cmath>
#include <cstring>
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

}  // namespace

std::vector<double> MonotoneSuffixes(const PrefixStrategy& strategy,
                                     std::span<const double> measurements) {
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
                       double noise_stddev, const Statistic& statistic, size_t covariances) {
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
    for (size_t i = 0; i < cells.size(); ++i) again[i] = fixed[i] + noise_stddev * Normal(random);
    noise.Add(statistic(again));
    for (size_t i = 0; i < cells.size(); ++i) drawn[i] = Poisson(cells[i], random);
    again = measure(drawn);
    for (double& value : again) value += noise_stddev * Normal(random);
    total.Add(statistic(again));
  }
  return {.noise = noise.Deviations(),
          .total = total.Deviations(),
          .noise_covariance = noise.Covariances()};
}

}  // namespace tacet::statistics
