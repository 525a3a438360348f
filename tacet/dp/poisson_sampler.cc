#include <algorithm>
#include <cstring>

#include "tacet/dp/elementary.h"
#include "tacet/dp/poisson.h"
#include "tacet/dp/uniform.h"

namespace tacet::dp {

PoissonSampler::PoissonSampler(crypto::Random& random, const Kernels& kernels)
    : random_(random),
      kernels_(kernels),
      words_(kWords + kPoissonPadding),
      rates_(2 * kRoom),
      indexes_(3 * kRoom),
      undecided_words_(kRoom),
      proposed_(kRoom) {
  static_assert(kRoom == kBlock + kPoissonPadding);
  const std::span<uint64_t> every = indexes_.Expose().subspan(2 * kRoom);
  for (size_t i = 0; i < every.size(); ++i) every[i] = i;
}

const uint64_t* PoissonSampler::Take(size_t size) {
  const std::span<uint64_t> words = words_.Expose().first(kWords);
  if (kWords - next_ < size) {
    const size_t left = kWords - next_;
    std::copy(words.begin() + static_cast<ptrdiff_t>(next_), words.end(), words.begin());
    random_.FillU64(words.subspan(left));
    next_ = 0;
  }
  const uint64_t* taken = words.data() + next_;
  next_ += size;
  return taken;
}

uint32_t PoissonSampler::DrawByProduct(double rate) {
  // P(N >= k) = P(U_1 ... U_k > exp(-rate)). Products of k uniforms are right to k 2^-53, so every
  // probability, also in the upper tail, is right to that relative error.
  const auto unit = [&] {
    const uint64_t word = *Take(1);
    return word >= kWholeWord ? FixedPointUnit(word) : WideUnit(word, *Take(1));
  };
  const double limit = Exp(-rate);
  double product = unit();
  uint32_t count = 0;
  while (product > limit) {
    product *= unit();
    ++count;
  }
  return count;
}

void PoissonSampler::FillBlock(std::span<const double> rates, std::span<uint32_t> counts) {
  const std::span<double> rate_room = rates_.Expose();
  const std::span<uint64_t> index_room = indexes_.Expose();
  const PoissonCandidates pending = {.rates = rate_room.data(), .indexes = index_room.data()};
  const PoissonCandidates undecided = {.rates = rate_room.data() + kRoom,
                                       .indexes = index_room.data() + kRoom,
                                       .words = undecided_words_.Expose().data()};
  uint32_t* proposed = proposed_.Expose().data();

  std::copy(rates.begin(), rates.end(), pending.rates);
  size_t size = rates.size();
  const PoissonProposed first = kernels_.poisson_propose(
      pending.rates, index_room.data() + 2 * kRoom, Take(size), size, proposed, undecided);
  std::copy(proposed, proposed + size, counts.begin());
  for (size_t open = first.undecided;;) {
    size = kernels_.poisson_decide(undecided, Take(open), open, random_, counts.data(), pending);
    if (size == 0) break;
    open =
        kernels_
            .poisson_propose(pending.rates, pending.indexes, Take(size), size, proposed, undecided)
            .undecided;
    for (size_t i = 0; i < size; ++i) counts[pending.indexes[i]] = proposed[i];
  }
  if (first.small == 0) return;
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
