#include "apps/tacet-lab/bench/machine_rates.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <immintrin.h>

#include "apps/tacet-lab/bench/bench_timing.h"
#include "tacet/base/bytes.h"
#include "tacet/base/cpu.h"
#include "tacet/crypto/random.h"

namespace tacet::app::bench {
namespace {

constexpr uint32_t kRepetitions = 7;
constexpr size_t kChains = 10;  // latency 4 or 5, two units
constexpr size_t kSteps = 1 << 20;

// Several independent chains of multiply-adds x <- x a + b, which converge.
double ScalarChains() {
  double x[kChains] = {};
  for (size_t step = 0; step < kSteps; ++step) {
    for (double& value : x) {
      value = value * 0.5 + 1;
      asm("" : "+x"(value));  // one by one: this is the rate without vectors
    }
  }
  double sum = 0;
  for (const double value : x) sum += value;
  return sum;
}

__attribute__((target("avx2,fma"))) double Avx2Chains() {
  __m256d x[kChains];
  for (__m256d& value : x) value = _mm256_setzero_pd();
  const __m256d half = _mm256_set1_pd(0.5);
  const __m256d one = _mm256_set1_pd(1);
  for (size_t step = 0; step < kSteps; ++step) {
    for (__m256d& value : x) value = _mm256_fmadd_pd(value, half, one);
  }
  for (size_t i = 1; i < kChains; ++i) x[0] = _mm256_add_pd(x[0], x[i]);
  return _mm256_cvtsd_f64(x[0]);
}

__attribute__((target("avx512f"))) double Avx512Chains() {
  __m512d x[kChains];
  for (__m512d& value : x) value = _mm512_setzero_pd();
  const __m512d half = _mm512_set1_pd(0.5);
  const __m512d one = _mm512_set1_pd(1);
  for (size_t step = 0; step < kSteps; ++step) {
    for (__m512d& value : x) value = _mm512_fmadd_pd(value, half, one);
  }
  for (size_t i = 1; i < kChains; ++i) x[0] = _mm512_add_pd(x[0], x[i]);
  return _mm512_cvtsd_f64(x[0]);
}

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
  constexpr size_t kBlocks = 1000;
  const double seconds = MedianSeconds(kRepetitions, [&] {
    for (size_t i = 0; i < kBlocks; ++i) random.Fill(block);
  });
  return static_cast<double>(kBlocks * block.size()) / seconds;
}

}  // namespace

double MeasureFma() {
  double (*chains)() = ScalarChains;
  double lanes = 1;
  if (base::ActiveSimd() == base::Simd::kAvx2) {
    chains = Avx2Chains;
    lanes = 4;
  } else if (base::ActiveSimd() == base::Simd::kAvx512) {
    chains = Avx512Chains;
    lanes = 8;
  }
  double sink = 0;
  std::vector<double> seconds;
  for (uint32_t i = 0; i < kRepetitions; ++i) {
    const double before = ThreadSeconds();
    sink += chains();
    seconds.push_back(ThreadSeconds() - before);
  }
  asm volatile("" : : "m"(sink));
  return lanes * static_cast<double>(kChains * kSteps) / Median(std::move(seconds));
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
