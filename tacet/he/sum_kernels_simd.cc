// The kernels on vectors, compiled for AVX2 and AVX-512 (Highway's AVX3), or for NEON.
#include <algorithm>

#include "tacet/he/sum_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tacet/he/sum_kernels_simd.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "tacet/base/vector_targets.h"

#if TACET_IS_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace tacet::he::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D64 = hn::ScalableTag<uint64_t>;
using Half = hn::Rebind<uint32_t, D64>;      // as many words as D64 has lanes
using D32 = hn::Repartition<uint32_t, D64>;  // as many bits
using W = hn::Vec<D64>;

constexpr size_t kLanes = hn::MaxLanes(D64());
constexpr size_t kLineWords = 16;  // of a cache line
// The distance at which a line is asked for ahead of its use.
constexpr size_t kPrefetchBytes = 2048;

// 64 words at a place in memory that may be odd.
HWY_INLINE W Load(const uint8_t* bytes, size_t word) {
  return hn::PromoteTo(D64(),
                       hn::LoadU(Half(), reinterpret_cast<const uint32_t*>(bytes + 4 * word)));
}

// The sums of one source while its first `steps` kLanes words went by: `sum` a lane, and
// `weighted` = the sum of all `sum` after each step, in which lane l's word of step t counts
// steps - t times.
struct Running {
  W sum;
  W weighted;
};

// Σ (n - i) w_i over n = kLanes steps words, i = kLanes t + l: kLanes (steps - t) - l each.
HWY_INLINE WordSums Finish(const Running& running) {
  HWY_ALIGN uint64_t sums[kLanes];
  HWY_ALIGN uint64_t weighted[kLanes];
  hn::Store(running.sum, D64(), sums);
  hn::Store(running.weighted, D64(), weighted);
  WordSums total;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    total.sum += sums[lane];
    total.weighted += kLanes * weighted[lane] - lane * sums[lane];
  }
  return total;
}

template <size_t kCount>
void AddWordsOf(const uint8_t* const* sources, size_t words, uint64_t* sums, WordSums* of_sources) {
  Running running[kCount];
  for (Running& of_source : running) of_source = {hn::Zero(D64()), hn::Zero(D64())};
  size_t i = 0;
  for (; i + kLineWords <= words; i += kLineWords) {
    for (size_t u = 0; u < kCount; ++u) hwy::Prefetch(sources[u] + 4 * i + kPrefetchBytes);
    for (size_t step = i; step < i + kLineWords; step += kLanes) {
      W sum = hn::LoadU(D64(), sums + step);
      for (size_t u = 0; u < kCount; ++u) {
        const W word = Load(sources[u], step);
        sum = hn::Add(sum, word);
        running[u].sum = hn::Add(running[u].sum, word);
        running[u].weighted = hn::Add(running[u].weighted, running[u].sum);
      }
      hn::StoreU(sum, D64(), sums + step);
    }
  }
  const uint8_t* rest[kCount];
  WordSums of_rest[kCount];
  for (size_t u = 0; u < kCount; ++u) rest[u] = sources[u] + 4 * i;
  ScalarSumKernels().add_words(rest, kCount, words - i, sums + i, of_rest);
  for (size_t u = 0; u < kCount; ++u) {
    of_sources[u] = Concatenate(Finish(running[u]), of_rest[u], words - i);
  }
}

void AddWords(const uint8_t* const* sources, size_t count, size_t words, uint64_t* sums,
              WordSums* of_sources) {
  static_assert(kAddedAtOnce == 4);
  switch (count) {
    case 1:
      return AddWordsOf<1>(sources, words, sums, of_sources);
    case 2:
      return AddWordsOf<2>(sources, words, sums, of_sources);
    case 3:
      return AddWordsOf<3>(sources, words, sums, of_sources);
    case 4:
      return AddWordsOf<4>(sources, words, sums, of_sources);
    default:
      return;
  }
}

WordSums SumWords(const uint8_t* bytes, size_t words) {
  Running running = {hn::Zero(D64()), hn::Zero(D64())};
  size_t i = 0;
  for (; i + kLanes <= words; i += kLanes) {
    running.sum = hn::Add(running.sum, Load(bytes, i));
    running.weighted = hn::Add(running.weighted, running.sum);
  }
  return Concatenate(Finish(running), ScalarSumKernels().sum_words(bytes + 4 * i, words - i),
                     words - i);
}

uint32_t LargestWord(const uint8_t* bytes, size_t words) {
  constexpr size_t kWords = 2 * kLanes;
  auto largest = hn::Zero(D32());
  size_t i = 0;
  for (; i + kWords <= words; i += kWords) {
    largest = hn::Max(largest, hn::LoadU(D32(), reinterpret_cast<const uint32_t*>(bytes + 4 * i)));
  }
  return std::max(hn::GetLane(hn::MaxOfLanes(D32(), largest)),
                  ScalarSumKernels().largest_word(bytes + 4 * i, words - i));
}

template <size_t kCount>
void MultiplyRowsOf(const uint32_t* limbs, size_t stride, const uint32_t* const* rows, size_t size,
                    LimbProducts* products) {
  constexpr size_t kWords = 2 * kLanes;
  // A lane takes two products below 2^57 a step, on top of less than 2^32: below 2^64.
  constexpr size_t kFoldedWords = 63 * kWords;
  const auto odd_words = [](auto words) {
    return hn::BitCast(D32(), hn::ShiftRight<32>(hn::BitCast(D64(), words)));
  };
  const W low_half = hn::Set(D64(), ~uint32_t{0});
  W sums[kCount][kLimbs], high[kCount][kLimbs];
  for (size_t r = 0; r < kCount; ++r) {
    for (size_t limb = 0; limb < kLimbs; ++limb) sums[r][limb] = high[r][limb] = hn::Zero(D64());
  }
  size_t b = 0;
  for (size_t left = size / kWords * kWords; left > 0;) {
    const size_t end = b + std::min(left, kFoldedWords);
    left -= end - b;
    for (; b < end; b += kWords) {
      hn::Vec<D32> even[kCount], odd[kCount];
      for (size_t r = 0; r < kCount; ++r) {
        even[r] = hn::LoadU(D32(), rows[r] + b);
        odd[r] = odd_words(even[r]);
      }
      for (size_t limb = 0; limb < kLimbs; ++limb) {
        const auto even_limb = hn::LoadU(D32(), limbs + limb * stride + b);
        const auto odd_limb = odd_words(even_limb);
        for (size_t r = 0; r < kCount; ++r) {
          sums[r][limb] = hn::Add(sums[r][limb], hn::MulEven(even[r], even_limb));
          sums[r][limb] = hn::Add(sums[r][limb], hn::MulEven(odd[r], odd_limb));
        }
      }
    }
    for (size_t r = 0; r < kCount; ++r) {
      for (size_t limb = 0; limb < kLimbs; ++limb) {
        high[r][limb] = hn::Add(high[r][limb], hn::ShiftRight<32>(sums[r][limb]));
        sums[r][limb] = hn::And(sums[r][limb], low_half);
      }
    }
  }
  const uint32_t* rest[kCount];
  for (size_t r = 0; r < kCount; ++r) rest[r] = rows[r] + b;
  ScalarSumKernels().limb_products(limbs + b, stride, rest, kCount, size - b, products);
  for (size_t r = 0; r < kCount; ++r) {
    for (size_t limb = 0; limb < kLimbs; ++limb) {
      products[r][limb] += hn::GetLane(hn::SumOfLanes(D64(), sums[r][limb]));
      const uint64_t of_high = hn::GetLane(hn::SumOfLanes(D64(), high[r][limb]));
      products[r][limb] += LimbProducts::value_type{of_high} << 32;
    }
  }
}

void MultiplyRows(const uint32_t* limbs, size_t stride, const uint32_t* const* rows, size_t count,
                  size_t size, LimbProducts* products) {
  static_assert(kRowsAtOnce == 4);
  switch (count) {
    case 1:
      return MultiplyRowsOf<1>(limbs, stride, rows, size, products);
    case 2:
      return MultiplyRowsOf<2>(limbs, stride, rows, size, products);
    case 3:
      return MultiplyRowsOf<3>(limbs, stride, rows, size, products);
    case 4:
      return MultiplyRowsOf<4>(limbs, stride, rows, size, products);
    default:
      return;
  }
}

constexpr SumKernels kKernels = {.target = TACET_VECTOR_TARGET,
                                 .add_words = AddWords,
                                 .sum_words = SumWords,
                                 .largest_word = LargestWord,
                                 .limb_products = MultiplyRows};

}  // namespace tacet::he::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TACET_IS_VECTOR_TARGET

#if HWY_ONCE
namespace tacet::he {

std::span<const SumKernels* const> VectorSumKernels() {
  static constexpr const SumKernels* kVersions[] = {TACET_VECTOR_VERSIONS(kKernels)};
  return kVersions;
}

}  // namespace tacet::he
#endif  // HWY_ONCE
