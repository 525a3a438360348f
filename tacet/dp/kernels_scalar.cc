// Scalar oracle that every vector kernel must reproduce bit by bit.
#include <algorithm>
#include <bit>

#include "tacet/dp/gaussian_forms.h"
#include "tacet/dp/kernels.h"
#include "tacet/dp/poisson_trial.h"
#include "tacet/dp/uniform.h"

namespace tacet::dp {
namespace {

void BoxMullerBlock(bool wide, crypto::Random& random, double* block, size_t pairs) {
  for (size_t j = 0; j < pairs; ++j) {
    const uint64_t word = std::bit_cast<uint64_t>(block[2 * j]);
    const uint64_t angle = std::bit_cast<uint64_t>(block[2 * j + 1]);
    const double unit =
        wide && word < kWholeWord ? WideUnit(word, random.NextU64()) : FixedPointUnit(word);
    const GaussianPair pair = BoxMuller(unit, angle);
    block[2 * j] = pair.first;
    block[2 * j + 1] = pair.second;
  }
}

void AddNoise(const float* update, double factor, double* block, size_t size) {
  for (size_t i = 0; i < size; ++i) block[i] = static_cast<double>(update[i]) + factor * block[i];
}

void ScaleAndShift(double factor, double shift, double* block, size_t size) {
  for (size_t i = 0; i < size; ++i) block[i] = block[i] * factor + shift;
}

double SumOfSquares(const float* update, size_t size) {
  double sums[32] = {};
  for (size_t i = 0; i < size; ++i) {
    const double value = update[i];
    sums[i % 32] += value * value;
  }
  for (size_t half = 16; half >= 1; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0];
}

void ScaleAndClamp(const float* update, double factor, float bound, float* out, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    const float scaled = static_cast<float>(static_cast<double>(update[i]) * factor);
    out[i] = std::min(std::max(scaled, -bound), bound);
  }
}

void SetBit(uint8_t* bits, size_t i) { bits[i / 8] |= static_cast<uint8_t>(1u << (i % 8)); }

bool FirstTest(const PoissonTrials& trials, uint32_t* counts, uint8_t* open) {
  bool small = false;
  for (size_t i = 0; i < trials.size; ++i) {
    small |= !(trials.rates[i] >= kPoissonRejectionRate);
    const double rate = TrialRate(trials.rates[i]);
    counts[i] =
        static_cast<uint32_t>(static_cast<int64_t>(PoissonCandidate(rate, trials.normals[i])));
    if (!IsSurelyTaken(rate, trials.normals[i], trials.chances[i])) SetBit(open, i);
  }
  return small;
}

void SecondTest(const PoissonTrials& trials, crypto::Random& random, uint8_t* rejected) {
  for (size_t i = 0; i < trials.size; ++i) {
    if (!IsTaken(TrialRate(trials.rates[i]), trials.normals[i], trials.chances[i], random)) {
      SetBit(rejected, i);
    }
  }
}

constexpr Kernels kKernels = {.target = base::Target::kScalar,
                              .box_muller = BoxMullerBlock,
                              .add_noise = AddNoise,
                              .scale_and_shift = ScaleAndShift,
                              .sum_of_squares = SumOfSquares,
                              .scale_and_clamp = ScaleAndClamp,
                              .poisson_first = FirstTest,
                              .poisson_second = SecondTest};

}  // namespace

const Kernels& ScalarKernels() { return kKernels; }

}  // namespace tacet::dp
