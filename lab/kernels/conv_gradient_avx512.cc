// The gradients of the second convolution.
#include <algorithm>
#include <array>

#include "lab/kernels/conv_avx512.h"
#include "lab/kernels/conv_kernels.h"

TACET_BEFORE_NAMESPACE(TACET_AVX512);
namespace tacet::lab::kernels::conv {
namespace {

// The weight gradient of one output channel in 32 input channels.
HWY_INLINE void AddChannel(const float* map, size_t row, const SparseGradient::Entry* entries,
                           size_t count, float* low, float* high) {
  __m512 a[kSecondTaps][2];
  TACET_UNROLL
  for (size_t k = 0; k < kSecondTaps; ++k) {
    a[k][0] = Load(low + k * kLanes);
    a[k][1] = Load(high + k * kLanes);
  }
  for (size_t n = 0; n < count; ++n) {
    const float* corner = map + entries[n].offset;
    const __m512 g = _mm512_set1_ps(entries[n].value);
    TACET_UNROLL
    for (size_t k = 0; k < kSecondTaps; ++k) {
      const float* x = corner + k / 3 * row + k % 3 * kBlock;
      a[k][0] = _mm512_fmadd_ps(g, Load(x), a[k][0]);
      a[k][1] = _mm512_fmadd_ps(g, Load(x + kLanes), a[k][1]);
    }
  }
  TACET_UNROLL
  for (size_t k = 0; k < kSecondTaps; ++k) {
    _mm512_store_ps(low + k * kLanes, a[k][0]);
    _mm512_store_ps(high + k * kLanes, a[k][1]);
  }
}

// A block of the map as floats.
HWY_INLINE const float* Expand(const float* block, size_t, float*) { return block; }
HWY_INLINE const float* Expand(const uint16_t* block, size_t size, float* scratch) {
  for (size_t n = 0; n < size; n += kLanes) {
    const __m256i half = _mm256_load_si256(reinterpret_cast<const __m256i*>(block + n));
    _mm512_store_si512(scratch + n, _mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
  }
  return scratch;
}

// The gradients of `count` output channels whose winner is (kRow, kCol), over 4 x 4 places.
template <size_t kRow, size_t kCol>
HWY_INLINE void Scatter(const float* weights, const uint32_t* offsets, const float* values,
                        size_t count, __m512 (&d)[4][4]) {
  for (size_t n = 0; n < count; ++n) {
    const float* w = weights + offsets[n];
    const __m512 g = _mm512_set1_ps(values[n]);
    TACET_UNROLL
    for (size_t k = 0; k < kSecondTaps; ++k) {
      __m512& sum = d[kRow + k / 3][kCol + k % 3];
      sum = _mm512_fmadd_ps(g, Load(w + k * kLanes), sum);
    }
  }
}

template <typename Map>
void SecondWeightGradientOf(const Sizes& sizes, const Map* map, const SparseGradient& gradient,
                            float* scratch, float* weight_gradients) {
  const size_t row = sizes.map_stride * kBlock;
  const size_t block = sizes.map_rows * row;
  constexpr size_t kChannel = kSecondTaps * kLanes;
  for (size_t b = 0; b < kBlocks; ++b) {
    const float* floats = Expand(map + b * block, block, scratch);
    float* low = weight_gradients + 2 * b * kSecondMaps * kChannel;
    float* high = low + kSecondMaps * kChannel;
    for (size_t o = 0; o < kSecondMaps; ++o, low += kChannel, high += kChannel) {
      AddChannel(floats, row, gradient.of_channel(o), gradient.channel_count(o), low, high);
    }
  }
}

}  // namespace

void SparseGradient::Gather(const Sizes& sizes, const BlankRegions& regions, const float* gradient,
                            const uint8_t* winner) {
  constexpr size_t kParts = kSecondMaps / kLanes;
  const size_t positions = sizes.positions2();
  const __m512i step = _mm512_mullo_epi32(Lanes(), _mm512_set1_epi32(static_cast<int>(positions)));
  const __m512i weight_step =
      _mm512_mullo_epi32(Lanes(), _mm512_set1_epi32(static_cast<int>(kSecondTaps * kLanes)));
  std::array<size_t, kKinds> first;
  first.fill(positions);
  for (size_t position = 0; position < positions; ++position) {
    float* plain = plain_.data() + position * kSecondMaps;
    for (size_t n = 0; n < kParts; ++n) {
      _mm512_storeu_ps(
          plain + n * kLanes,
          _mm512_i32gather_ps(step, gradient + n * kLanes * positions + position, sizeof(float)));
    }
    const uint8_t kind = regions.second(position);
    if (kind == kNotBlank) continue;
    if (first[kind] == positions) {
      first[kind] = position;
      continue;
    }
    float* sums = plain_.data() + first[kind] * kSecondMaps;
    for (size_t o = 0; o < kSecondMaps; ++o) sums[o] += plain[o];
  }
  channel_counts_.fill(0);
  for (size_t position = 0; position < positions; ++position) {
    uint8_t* ends = ends_.data() + position * 5;
    const uint8_t kind = regions.second(position);
    if (kind != kNotBlank && first[kind] != position) {
      std::fill_n(ends, 5, uint8_t{0});
      continue;
    }
    const size_t i = position / sizes.cols2;
    const size_t j = position % sizes.cols2;
    float* plain = plain_.data() + position * kSecondMaps;
    const uint8_t* won = winner + position * kSecondMaps;
    __m512 values[kParts];
    __m512i winners[kParts];
    for (size_t n = 0; n < kParts; ++n) {
      values[n] = _mm512_loadu_ps(plain + n * kLanes);
      winners[n] =
          _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(won + n * kLanes)));
      const __mmask16 zero = _mm512_cmp_ps_mask(values[n], _mm512_setzero_ps(), _CMP_EQ_OQ);
      winners[n] = _mm512_mask_mov_epi32(winners[n], zero, _mm512_set1_epi32(kNoWinner));
      const __mmask16 alive = _mm512_cmplt_epi32_mask(winners[n], _mm512_set1_epi32(kNoWinner));
      _mm512_storeu_ps(plain + n * kLanes, _mm512_maskz_mov_ps(alive, values[n]));
    }
    uint32_t* offset = weight_offsets_.data() + position * kStride;
    float* value = weight_values_.data() + position * kStride;
    size_t count = 0;
    ends[0] = 0;
    for (int q = 0; q < 4; ++q) {
      for (size_t n = 0; n < kParts; ++n) {
        const __mmask16 here = _mm512_cmpeq_epi32_mask(winners[n], _mm512_set1_epi32(q));
        const __m512i place = _mm512_add_epi32(
            weight_step, _mm512_set1_epi32(static_cast<int>(n * kLanes * kSecondTaps * kLanes)));
        _mm512_storeu_si512(offset + count, _mm512_maskz_compress_epi32(here, place));
        _mm512_storeu_ps(value + count, _mm512_maskz_compress_ps(here, values[n]));
        count += static_cast<size_t>(__builtin_popcount(here));
      }
      ends[q + 1] = static_cast<uint8_t>(count);
    }
    uint32_t corners[5];
    for (size_t q = 0; q < 5; ++q) {
      corners[q] =
          static_cast<uint32_t>(((2 * i + q / 2) * sizes.map_stride + 2 * j + q % 2) * kBlock);
    }
    for (size_t o = 0; o < kSecondMaps; ++o) {
      size_t& filled = channel_counts_[o];
      by_channel_[o * positions_ + filled] = {corners[won[o]], plain[o]};
      filled += plain[o] != 0.0f;
    }
  }
}

void SecondWeightGradient(const Sizes& sizes, const float* map, const SparseGradient& gradient,
                          float* scratch, float* weight_gradients) {
  SecondWeightGradientOf(sizes, map, gradient, scratch, weight_gradients);
}
void SecondWeightGradient(const Sizes& sizes, const uint16_t* map, const SparseGradient& gradient,
                          float* scratch, float* weight_gradients) {
  SecondWeightGradientOf(sizes, map, gradient, scratch, weight_gradients);
}

void SecondDataGradient(const Sizes& sizes, const SparseGradient& gradient, const float* weights,
                        float* map_gradient) {
  const size_t row = sizes.map_stride * kLanes;
  const size_t block = sizes.map_rows * row;
  for (size_t b = 0; b < kLaneBlocks; ++b) {
    const float* w = weights + b * kSecondMaps * kSecondTaps * kLanes;
    float* map = map_gradient + b * block;
    std::fill_n(map, block, 0.0f);
    for (size_t i = 0; i < sizes.rows2; ++i) {
      for (size_t j = 0; j < sizes.cols2; ++j) {
        const size_t position = i * sizes.cols2 + j;
        float* corner = map + 2 * i * row + 2 * j * kLanes;
        __m512 d[4][4];
        TACET_UNROLL
        for (size_t n = 0; n < 16; ++n)
          d[n / 4][n % 4] = Load(corner + n / 4 * row + n % 4 * kLanes);
        const uint32_t* offset = gradient.weight_offsets(position);
        const float* value = gradient.weight_values(position);
        const uint8_t* end = gradient.ends(position);
        const auto count = [end](size_t q) { return static_cast<size_t>(end[q + 1] - end[q]); };
        Scatter<0, 0>(w, offset, value, count(0), d);
        Scatter<0, 1>(w, offset + end[1], value + end[1], count(1), d);
        Scatter<1, 0>(w, offset + end[2], value + end[2], count(2), d);
        Scatter<1, 1>(w, offset + end[3], value + end[3], count(3), d);
        TACET_UNROLL
        for (size_t n = 0; n < 16; ++n) {
          _mm512_store_ps(corner + n / 4 * row + n % 4 * kLanes, d[n / 4][n % 4]);
        }
      }
    }
  }
}

void SecondUpdate(float learning_rate, const float* gradients, float* weights) {
  for (size_t n = 0; n < kSecondSize; ++n) weights[n] -= learning_rate * gradients[n];
}

}  // namespace tacet::lab::kernels::conv
TACET_AFTER_NAMESPACE();
