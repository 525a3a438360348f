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

uint32_t CountOf(double k) { return static_cast<uint32_t>(static_cast<int64_t>(k)); }

PoissonProposed Propose(const double* rates, const uint64_t* indexes, const uint64_t* words,
                        size_t size, uint32_t* counts, const PoissonCandidates& undecided) {
  PoissonProposed result;
  for (size_t i = 0; i < size; ++i) {
    if (!(rates[i] >= kPoissonRejectionRate)) {
      ++result.small;
      continue;
    }
    const double rate = std::min(rates[i], kPoissonLargestRate);
    double k;
    if (ProposePoisson(rate, words[i], k)) {
      counts[i] = CountOf(k);
    } else {
      undecided.rates[result.undecided] = rate;
      undecided.indexes[result.undecided] = indexes[i];
      undecided.words[result.undecided] = words[i];
      ++result.undecided;
    }
  }
  return result;
}

size_t Decide(const PoissonCandidates& undecided, const uint64_t* words, size_t size,
              crypto::Random& random, uint32_t* counts, const PoissonCandidates& rejected) {
  size_t again = 0;
  for (size_t i = 0; i < size; ++i) {
    double k;
    if (DecidePoisson(undecided.rates[i], undecided.words[i], words[i], random, k)) {
      counts[undecided.indexes[i]] = CountOf(k);
    } else {
      rejected.rates[again] = undecided.rates[i];
      rejected.indexes[again] = undecided.indexes[i];
      ++again;
    }
  }
  return again;
}

constexpr Kernels kKernels = {.target = base::Target::kScalar,
                              .box_muller = BoxMullerBlock,
                              .add_noise = AddNoise,
                              .scale_and_shift = ScaleAndShift,
                              .sum_of_squares = SumOfSquares,
                              .scale_and_clamp = ScaleAndClamp,
                              .poisson_propose = Propose,
                              .poisson_decide = Decide};

}  // namespace

const Kernels& ScalarKernels() { return kKernels; }

}  // namespace tacet::dp
