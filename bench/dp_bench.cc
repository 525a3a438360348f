// The kernels of clip, noise and quantise, in nanoseconds of processor time a value, for every
// instruction set that the processor has. The argument is a base::Simd.
//
// The update is 486,654 values at the published setting (rates around 26,277); kernels that live in
// the first-level cache are measured there, beside the key stream that feeds them.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"

#include "bench/choose_simd.h"
#include "tacet/base/cpu.h"
#include "tacet/crypto/random.h"
#include "tacet/dp/clip.h"
#include "tacet/dp/gaussian.h"
#include "tacet/dp/kernels.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/dp/poisson.h"

namespace tacet::dp {
namespace {

using bench::Choose;

constexpr size_t kDimension = 486654;
constexpr size_t kBlock = 2048;

crypto::Random BenchRandom() {
  crypto::InsecureSeededEntropy entropy(1, "bench");
  return crypto::Random::FromEntropy(entropy);
}

std::vector<float> BenchUpdate() {
  crypto::Random random = BenchRandom();
  std::vector<float> update(kDimension);
  for (float& value : update) {
    value = static_cast<float>(0.002 * (static_cast<double>(random.NextU64() >> 11) * 0x1p-52 - 1));
  }
  return update;
}

// Reports "ns" a value: CPU time over values.
void CountValues(benchmark::State& state, size_t values) {
  const double total = static_cast<double>(state.iterations()) * static_cast<double>(values);
  state.counters["value"] =
      benchmark::Counter(total, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// The limit of everything below: AES-256-CTR, 64 bits a value.
void KeyStream(benchmark::State& state) {
  crypto::Random random = BenchRandom();
  std::vector<uint64_t> words(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    random.FillU64(words);
    benchmark::DoNotOptimize(words.data());
  }
  CountValues(state, words.size());
}
BENCHMARK(KeyStream)->Arg(1024)->Arg(2048)->Arg(8192);

void BoxMullerKernel(benchmark::State& state) {
  base::Simd simd;
  if (!Choose(state, simd)) return;
  crypto::Random random = BenchRandom();
  std::vector<uint64_t> words(kBlock);
  std::vector<double> block(kBlock);
  random.FillU64(words);
  for (auto _ : state) {
    std::memcpy(block.data(), words.data(), kBlock * sizeof(double));
    KernelsFor(simd).box_muller(true, random, block.data(), kBlock / 2);
    benchmark::DoNotOptimize(block.data());
  }
  CountValues(state, kBlock);
}
BENCHMARK(BoxMullerKernel)->DenseRange(0, 2);

void Gaussian(benchmark::State& state) {
  base::Simd simd;
  if (!Choose(state, simd)) return;
  crypto::Random random = BenchRandom();
  std::vector<double> block(kBlock);
  for (auto _ : state) {
    FillGaussian(GaussianSampler::kDefault, random, block, simd);
    benchmark::DoNotOptimize(block.data());
  }
  CountValues(state, kBlock);
}
BENCHMARK(Gaussian)->DenseRange(0, 2);

void GaussianPaperForms(benchmark::State& state) {
  const auto sampler = static_cast<GaussianSampler>(state.range(0));
  state.SetLabel(std::string(GaussianSamplerName(sampler)));
  crypto::Random random = BenchRandom();
  std::vector<double> block(kBlock);
  for (auto _ : state) {
    FillGaussian(sampler, random, block);
    benchmark::DoNotOptimize(block.data());
  }
  CountValues(state, kBlock);
}
BENCHMARK(GaussianPaperForms)->DenseRange(1, 3);

// Rates as the mechanism makes them: around `range(1)` with a deviation of 7 %.
void Poisson(benchmark::State& state) {
  base::Simd simd;
  if (!Choose(state, simd)) return;
  crypto::Random random = BenchRandom();
  std::vector<double> rates(kBlock);
  FillGaussian(GaussianSampler::kDefault, random, rates);
  for (double& rate : rates) rate = static_cast<double>(state.range(1)) * (1 + 0.07 * rate);
  std::vector<uint32_t> counts(kBlock);
  PoissonSampler sampler(random, simd);
  for (auto _ : state) {
    sampler.Fill(rates, counts);
    benchmark::DoNotOptimize(counts.data());
  }
  CountValues(state, kBlock);
}
BENCHMARK(Poisson)->ArgsProduct({{0, 1, 2}, {100, 1000, 20000, 26277, 40000}});

void Clip(benchmark::State& state) {
  base::Simd simd;
  if (!Choose(state, simd)) return;
  const std::vector<float> update = BenchUpdate();
  std::vector<float> clipped(kDimension);
  for (auto _ : state) {
    ClipAndClamp(update, 0.4, 0.1, clipped, simd);
    benchmark::DoNotOptimize(clipped.data());
  }
  CountValues(state, kDimension);
}
BENCHMARK(Clip)->DenseRange(0, 2)->Unit(benchmark::kMicrosecond);

// What clipping is held against: reading the update twice and writing it once.
void ReadTwiceWriteOnce(benchmark::State& state) {
  const std::vector<float> update = BenchUpdate();
  std::vector<uint64_t> words(kDimension / 2);
  for (auto _ : state) {
    std::memcpy(words.data(), update.data(), words.size() * sizeof(uint64_t));
    uint64_t sum = 0;
    for (const uint64_t word : words) sum += word;
    benchmark::DoNotOptimize(sum);
    benchmark::DoNotOptimize(words.data());
  }
  CountValues(state, kDimension);
}
BENCHMARK(ReadTwiceWriteOnce)->Unit(benchmark::kMicrosecond);

// Noise and quantisation of a whole update at the published setting, ActiveSimd (TACET_SIMD).
void NoiseAndQuantize(benchmark::State& state) {
  MechanismSpec spec;
  spec.dimension = kDimension;
  spec.clip_norm = 1;
  spec.coordinate_bound = 0.1;
  spec.noise_stddev = 6;
  spec.cohort = spec.min_participants = 1000;
  spec.attempts = 100;
  spec.max_epsilon = 19.13;
  const Mechanism mechanism(*MechanismPlan::Create(spec));
  const std::vector<float> update = BenchUpdate();
  std::vector<uint32_t> counts(kDimension);
  crypto::Random noise = BenchRandom();
  crypto::Random poisson = BenchRandom();
  for (auto _ : state) {
    mechanism.NoiseAndQuantize(update, noise, poisson, counts);
    benchmark::DoNotOptimize(counts.data());
  }
  state.SetLabel(std::string(base::SimdName(base::ActiveSimd())));
  CountValues(state, kDimension);
}
BENCHMARK(NoiseAndQuantize)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tacet::dp
