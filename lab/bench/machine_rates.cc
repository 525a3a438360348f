#include "lab/bench/machine_rates.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "lab/bench/bench_timing.h"
#include "lab/bench/fma_chains.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"

namespace tacet::app::bench {
namespace {

constexpr uint32_t kRepetitions = 7;

double MeasureMemoryRead() {
  std::vector<uint64_t> region((size_t{256} << 20) / sizeof(uint64_t), 1);
  uint64_t sink = 0;
  const double seconds = MedianSeconds(kRepetitions, [&] {
    uint64_t sums[8] = {};
    for (size_t i = 0; i < region.size(); i += 8) {
      for (size_t k = 0; k < 8; ++k) sums[k] += region[i + k];
    }
    for (const uint64_t sum : sums) sink += sum;
  });
  asm volatile("" : : "m"(sink));
  return static_cast<double>(region.size() * sizeof(uint64_t)) / seconds;
}

double MeasureAesCtr() {
  crypto::SystemEntropy entropy;
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  base::Bytes block(16384);
  constexpr size_t kFills = 1000;
  const double seconds = MedianSeconds(kRepetitions, [&] {
    for (size_t i = 0; i < kFills; ++i) random.Fill(block);
  });
  return static_cast<double>(kFills * block.size()) / seconds;
}

}  // namespace

double MeasureFma() {
  const FmaChains& chains = ActiveFmaChains();
  double sink = 0;
  std::vector<double> seconds;
  for (uint32_t i = 0; i < kRepetitions; ++i) {
    const double before = ThreadSeconds();
    sink += chains.run();
    seconds.push_back(ThreadSeconds() - before);
  }
  asm volatile("" : : "m"(sink));
  return static_cast<double>(chains.lanes * kChains * kChainSteps) / Median(std::move(seconds));
}

MachineRates MeasureMachineRates() {
  return {.memory_read = MeasureMemoryRead(), .aes_ctr = MeasureAesCtr(), .fma = MeasureFma()};
}

Demand operator+(const Demand& a, const Demand& b) {
  return {.memory_bytes = a.memory_bytes + b.memory_bytes,
          .aes_bytes = a.aes_bytes + b.aes_bytes,
          .fmas = a.fmas + b.fmas};
}

Demand operator*(double times, const Demand& demand) {
  return {.memory_bytes = times * demand.memory_bytes,
          .aes_bytes = times * demand.aes_bytes,
          .fmas = times * demand.fmas};
}

double LeastSeconds(const Demand& demand, const MachineRates& rates) {
  return std::max(demand.memory_bytes / rates.memory_read,
                  demand.aes_bytes / rates.aes_ctr + demand.fmas / rates.fma);
}

}  // namespace tacet::app::bench
