#include <algorithm>
#include <bit>

#include "tacet/base/bytes.h"
#include "tacet/dp/elementary.h"
#include "tacet/dp/gaussian.h"
#include "tacet/dp/kernels.h"
#include "tacet/dp/poisson.h"

namespace tacet::dp {
namespace {

// A bit for each trial of a pass, as the kernels write them.
template <size_t kTrials>
struct TrialBits {
  alignas(uint64_t) uint8_t bytes[kTrials / 8] = {};

  // Calls `take` with the place of each bit that is set.
  template <typename Take>
  void ForEach(const Take& take) const {
    for (size_t begin = 0; begin < kTrials; begin += 64) {
      for (uint64_t left = base::LoadU64(bytes + begin / 8); left != 0; left &= left - 1) {
        take(begin + static_cast<size_t>(std::countr_zero(left)));
      }
    }
  }
};

}  // namespace

PoissonSampler::PoissonSampler(crypto::Random& random, const Kernels& kernels)
    : random_(random),
      kernels_(kernels),
      units_(random),
      normals_(kTrials),
      chances_(kTrials),
      open_normals_(kTrials),
      open_chances_(kTrials),
      candidates_(kTrials) {}

void PoissonSampler::MakeTrials() {
  FillGaussian(GaussianSampler::kDefault, random_, normals_.Expose(), kernels_);
  const std::span<uint32_t> chances = chances_.Expose();
  random_.Fill({reinterpret_cast<uint8_t*>(chances.data()), chances.size_bytes()});
  next_ = 0;
}

uint32_t PoissonSampler::DrawByProduct(double rate) {
  // P(N >= k) = P(U_1 ... U_k > exp(-rate)). Products of k uniforms are right to k 2^-53, so every
  // probability, also in the upper tail, is right to that relative error.
  const double limit = Exp(-rate);
  double product = units_.NextUnit();
  uint32_t count = 0;
  while (product > limit) {
    product *= units_.NextUnit();
    ++count;
  }
  return count;
}

void PoissonSampler::Open(double rate, uint64_t place, size_t i) {
  open_normals_.Expose()[open_.size] = normals_.Expose()[next_ + i];
  open_chances_.Expose()[open_.size] = chances_.Expose()[next_ + i];
  open_.Append(rate, place);
}

void PoissonSampler::TryCarried(std::span<uint32_t> counts) {
  const std::span<double> rates = carried_.rates.Expose();
  const std::span<uint64_t> places = carried_.places.Expose();
  const std::span<uint32_t> candidates = candidates_.Expose();
  const size_t size = std::min(carried_.size, kTrials - next_);
  TrialBits<kTrials> open;
  kernels_.poisson_first({.rates = rates.data(),
                          .normals = normals_.Expose().data() + next_,
                          .chances = chances_.Expose().data() + next_,
                          .size = size},
                         candidates.data(), open.bytes);
  // Counts of candidates that are rejected are overwritten by a later trial.
  for (size_t i = 0; i < size; ++i) counts[places[i]] = candidates[i];
  open.ForEach([&](size_t i) { Open(rates[i], places[i], i); });
  next_ += size;
  std::copy(rates.begin() + size, rates.begin() + carried_.size, rates.begin());
  std::copy(places.begin() + size, places.begin() + carried_.size, places.begin());
  carried_.size -= size;
}

void PoissonSampler::TryNew(std::span<const double> rates, size_t begin, size_t end,
                            std::span<uint32_t> counts) {
  TrialBits<kTrials> open;
  small_ |= kernels_.poisson_first({.rates = rates.data() + begin,
                                    .normals = normals_.Expose().data() + next_,
                                    .chances = chances_.Expose().data() + next_,
                                    .size = end - begin},
                                   counts.data() + begin, open.bytes);
  open.ForEach([&](size_t i) { Open(rates[begin + i], begin + i, i); });
  next_ += end - begin;
}

void PoissonSampler::Decide() {
  TrialBits<kTrials> rejected;
  kernels_.poisson_second({.rates = open_.rates.Expose().data(),
                           .normals = open_normals_.Expose().data(),
                           .chances = open_chances_.Expose().data(),
                           .size = open_.size},
                          random_, rejected.bytes);
  rejected.ForEach(
      [&](size_t i) { carried_.Append(open_.rates.Expose()[i], open_.places.Expose()[i]); });
  open_.size = 0;
}

void PoissonSampler::FillBlock(std::span<const double> rates, std::span<uint32_t> counts) {
  small_ = false;
  size_t begin = 0;
  while (carried_.size > 0 || begin < rates.size()) {
    if (next_ == kTrials) MakeTrials();
    TryCarried(counts);
    // When values are left waiting, no trial is: no more than kTrials values are ever without a
    // count.
    const size_t end = begin + std::min(kTrials - next_, rates.size() - begin);
    TryNew(rates, begin, end, counts);
    begin = end;
    Decide();
  }
  if (!small_) return;
  for (size_t i = 0; i < rates.size(); ++i) {
    if (rates[i] >= kPoissonRejectionRate) continue;
    counts[i] = rates[i] > 0 ? DrawByProduct(rates[i]) : 0;
  }
}

void PoissonSampler::Fill(std::span<const double> rates, std::span<uint32_t> counts) {
  for (size_t begin = 0; begin < rates.size(); begin += kBlock) {
    const size_t size = std::min(kBlock, rates.size() - begin);
    FillBlock(rates.subspan(begin, size), counts.subspan(begin, size));
  }
}

}  // namespace tacet::dp
