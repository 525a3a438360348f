#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tacet/base/cpu.h"
#include "tacet/learning/avx512.h"
#include "tacet/learning/conv_kernels.h"

namespace tacet::learning::conv {
namespace {

TACET_AVX512_INLINE __m512 Load(const float* from) { return _mm512_load_ps(from); }

// bf16 of 16 floats, to nearest even, in the upper halves of 32-bit lanes; the lower are garbage.
TACET_AVX512_INLINE __m512i RoundUpper(__m512 values) {
  const __m512i bits = _mm512_castps_si512(values);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  return _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
}

TACET_AVX512_INLINE void StoreMap(__m512 low, __m512 high, float* to) {
  _mm512_store_ps(to, low);
  _mm512_store_ps(to + kLanes, high);
}
TACET_AVX512_INLINE void StoreMap(__m512 low, __m512 high, uint16_t* to) {
  const __m256i first = _mm512_cvtepi32_epi16(_mm512_srli_epi32(RoundUpper(low), 16));
  const __m256i second = _mm512_cvtepi32_epi16(_mm512_srli_epi32(RoundUpper(high), 16));
  _mm512_store_si512(to, _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1));
}

// The largest of four and 0, and which of them it is.
struct Pooled {
  __m512 value;
  __m128i winner;
};
TACET_AVX512_INLINE Pooled Pool(__m512 a, __m512 b, __m512 c, __m512 d) {
  __m512 best = _mm512_setzero_ps();
  __m512i winner = _mm512_set1_epi32(kNoWinner);
  const __m512 four[4] = {a, b, c, d};
  TACET_UNROLL
  for (int q = 0; q < 4; ++q) {
    const __mmask16 larger = _mm512_cmp_ps_mask(four[q], best, _CMP_GT_OQ);
    best = _mm512_mask_mov_ps(best, larger, four[q]);
    winner = _mm512_mask_mov_epi32(winner, larger, _mm512_set1_epi32(q));
  }
  return {best, _mm512_cvtepi32_epi8(winner)};
}

TACET_AVX512_INLINE void StoreWinners(const Pooled& low, const Pooled& high, uint8_t* to) {
  _mm_store_si128(reinterpret_cast<__m128i*>(to), low.winner);
  _mm_store_si128(reinterpret_cast<__m128i*>(to + kLanes), high.winner);
}

// Two rows of four columns of the first convolution, 32 channels, pooled to two columns.
template <typename Map>
TACET_AVX512_INLINE void FirstTile(const float* image, size_t stride, const float* weights,
                                   bool both, Map* map, uint8_t* winner) {
  __m512 sums[2][4][2];
  TACET_UNROLL
  for (size_t n = 0; n < 8; ++n) {
    sums[n / 4][n % 4][0] = Load(weights + kFirstTaps * kBlock);
    sums[n / 4][n % 4][1] = Load(weights + kFirstTaps * kBlock + kLanes);
  }
  for (size_t u = 0; u < 5; ++u, image += stride) {
    TACET_UNROLL
    for (size_t v = 0; v < 5; ++v, weights += kBlock) {
      const __m512 low = Load(weights);
      const __m512 high = Load(weights + kLanes);
      TACET_UNROLL
      for (size_t n = 0; n < 8; ++n) {
        const __m512 pixel = _mm512_set1_ps(image[n / 4 * stride + n % 4 + v]);
        sums[n / 4][n % 4][0] = _mm512_fmadd_ps(pixel, low, sums[n / 4][n % 4][0]);
        sums[n / 4][n % 4][1] = _mm512_fmadd_ps(pixel, high, sums[n / 4][n % 4][1]);
      }
    }
  }
  TACET_UNROLL
  for (size_t n = 0; n < 2; ++n) {
    if (n == 1 && !both) break;
    const Pooled low =
        Pool(sums[0][2 * n][0], sums[0][2 * n + 1][0], sums[1][2 * n][0], sums[1][2 * n + 1][0]);
    const Pooled high =
        Pool(sums[0][2 * n][1], sums[0][2 * n + 1][1], sums[1][2 * n][1], sums[1][2 * n + 1][1]);
    StoreMap(low.value, high.value, map + n * kBlock);
    StoreWinners(low, high, winner + n * kFirstMaps);
  }
}

TACET_AVX512_BF16_INLINE __m512 Dot(__m512 sum, __m512i x, __m512i y) {
  return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)y);
}

// kTile columns of a row of the second convolution, 32 output channels: the sums over all taps and
// channels go to `sums`, [column][32].
TACET_AVX512_BF16 void SecondTile(const uint16_t* map, size_t row, size_t block,
                                  const uint16_t* weights, const float* biases, float* sums) {
  __m512 a[kTile][2];
  TACET_UNROLL
  for (size_t n = 0; n < kTile; ++n) {
    a[n][0] = _mm512_load_ps(biases);
    a[n][1] = _mm512_load_ps(biases + kLanes);
  }
  for (size_t b = 0; b < kBlocks; ++b) {
    for (size_t u = 0; u < 3; ++u) {
      const uint16_t* from = map + b * block + u * row;
      for (size_t k = 0; k < 3 * kBlock / 2; ++k, from += 2, weights += 64) {
        const __m512i low = _mm512_load_si512(weights);
        const __m512i high = _mm512_load_si512(weights + 32);
        TACET_UNROLL
        for (size_t n = 0; n < kTile; ++n) {
          int32_t pair;
          std::memcpy(&pair, from + n * kBlock, sizeof(pair));
          const __m512i x = _mm512_set1_epi32(pair);
          a[n][0] = Dot(a[n][0], x, low);
          a[n][1] = Dot(a[n][1], x, high);
        }
      }
    }
  }
  TACET_UNROLL
  for (size_t n = 0; n < kTile; ++n) {
    _mm512_store_ps(sums + n * 32, a[n][0]);
    _mm512_store_ps(sums + n * 32 + kLanes, a[n][1]);
  }
}

TACET_AVX512_INLINE __m512i Lanes() {
  return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

// Winograd's F(2x2, 3x3) for the patch d of 4 x 4 inputs whose convolution gives the four results
// of one pool: Y = A' [(G g G') . (B' d B)] A with
//   B' = 1  0 -1  0    G = 1    0    0     A' = 1  1  1  0
//        0  1  1  0        1/2  1/2  1/2        0  1 -1 -1
//        0 -1  1  0        1/2 -1/2  1/2
//        0  1  0 -1        0    0    1
// The products . over all channels are 16 matrix products of positions x c by c x o.
constexpr size_t kFrequencies = 16;
constexpr size_t kStrip = 4 * kTile;  // positions done together
// A line more than the strip, so that the 16 places of a value share no set of the cache.
constexpr size_t kInputStride = kStrip * kFirstMaps + kLanes;
constexpr size_t kProductStride = kStrip * kSecondMaps + kLanes;

TACET_AVX512_INLINE void TransformFour(__m512& a, __m512& b, __m512& c, __m512& d) {
  const __m512 first = _mm512_sub_ps(a, c);
  const __m512 second = _mm512_add_ps(b, c);
  const __m512 third = _mm512_sub_ps(c, b);
  d = _mm512_sub_ps(b, d);
  a = first;
  b = second;
  c = third;
}

// B' d B of the patch at `corner`, 16 channels.
TACET_AVX512_INLINE void TransformInput(const float* corner, size_t row, float* to) {
  __m512 d[4][4];
  TACET_UNROLL
  for (size_t n = 0; n < 16; ++n) d[n / 4][n % 4] = Load(corner + n / 4 * row + n % 4 * kBlock);
  TACET_UNROLL
  for (size_t n = 0; n < 4; ++n) TransformFour(d[0][n], d[1][n], d[2][n], d[3][n]);
  TACET_UNROLL
  for (size_t n = 0; n < 4; ++n) TransformFour(d[n][0], d[n][1], d[n][2], d[n][3]);
  TACET_UNROLL
  for (size_t n = 0; n < 16; ++n) _mm512_store_ps(to + n * kInputStride, d[n / 4][n % 4]);
}

// kRows positions, 32 output channels: m[position][o] = sum over c of v[position][c] w[c][o].
template <size_t kRows>
TACET_AVX512 void Product(const float* v, const float* w, float* m) {
  __m512 a[kRows][2];
  TACET_UNROLL
  for (size_t n = 0; n < kRows; ++n) {
    a[n][0] = _mm512_setzero_ps();
    a[n][1] = _mm512_setzero_ps();
  }
  for (size_t c = 0; c < kFirstMaps; ++c, ++v, w += 32) {
    const __m512 low = Load(w);
    const __m512 high = Load(w + kLanes);
    TACET_UNROLL
    for (size_t n = 0; n < kRows; ++n) {
      const __m512 x = _mm512_set1_ps(v[n * kFirstMaps]);
      a[n][0] = _mm512_fmadd_ps(x, low, a[n][0]);
      a[n][1] = _mm512_fmadd_ps(x, high, a[n][1]);
    }
  }
  TACET_UNROLL
  for (size_t n = 0; n < kRows; ++n) {
    _mm512_store_ps(m + n * kSecondMaps, a[n][0]);
    _mm512_store_ps(m + n * kSecondMaps + kLanes, a[n][1]);
  }
}

using ProductFunction = void (*)(const float*, const float*, float*);

template <size_t... kRows>
constexpr std::array<ProductFunction, kTile> Products(std::index_sequence<kRows...>) {
  return {Product<kRows + 1>...};
}
constexpr std::array<ProductFunction, kTile> kProducts =
    Products(std::make_index_sequence<kTile>());

// All 16 products of `count` positions, as evenly cut as can be into tiles.
void Products(size_t count, const float* inputs, const float* weights, float* products) {
  const size_t tiles = (count + kTile - 1) / kTile;
  for (size_t f = 0; f < kFrequencies; ++f) {
    for (size_t half = 0; half < 2; ++half, weights += kFirstMaps * 32) {
      for (size_t n = 0; n < tiles; ++n) {
        const size_t first = count * n / tiles;
        const size_t rows = count * (n + 1) / tiles - first;
        kProducts[rows - 1](inputs + f * kInputStride + first * kFirstMaps, weights,
                            products + f * kProductStride + first * kSecondMaps + half * 32);
      }
    }
  }
}

// A' m A and the biases, pooled; 16 output channels.
TACET_AVX512_INLINE Pooled PoolProducts(const float* m, __m512 bias) {
  __m512 rows[2][4];
  TACET_UNROLL
  for (size_t n = 0; n < 4; ++n) {
    const __m512 a = Load(m + n * kProductStride);
    const __m512 b = Load(m + (4 + n) * kProductStride);
    const __m512 c = Load(m + (8 + n) * kProductStride);
    const __m512 d = Load(m + (12 + n) * kProductStride);
    rows[0][n] = _mm512_add_ps(_mm512_add_ps(a, b), c);
    rows[1][n] = _mm512_sub_ps(_mm512_sub_ps(b, c), d);
  }
  __m512 y[2][2];
  TACET_UNROLL
  for (size_t n = 0; n < 2; ++n) {
    const __m512(&r)[4] = rows[n];
    y[n][0] = _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(r[0], r[1]), r[2]), bias);
    y[n][1] = _mm512_add_ps(_mm512_sub_ps(_mm512_sub_ps(r[1], r[2]), r[3]), bias);
  }
  return Pool(y[0][0], y[0][1], y[1][0], y[1][1]);
}

// Where the second map's values of 16 channels from `o` on at one position go.
TACET_AVX512_INLINE void StoreOutputs(const Pooled& pooled, size_t positions, size_t position,
                                      size_t o, float* outputs, uint8_t* winner) {
  const __m512i step = _mm512_mullo_epi32(Lanes(), _mm512_set1_epi32(static_cast<int>(positions)));
  _mm512_i32scatter_ps(outputs + o * positions + position, step, pooled.value, sizeof(float));
  _mm_store_si128(reinterpret_cast<__m128i*>(winner + position * kSecondMaps + o), pooled.winner);
}

// The weight gradient of one output channel in 32 input channels.
TACET_AVX512_INLINE void AddChannel(const float* map, size_t row,
                                    const SparseGradient::Entry* entries, size_t count, float* low,
                                    float* high) {
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
TACET_AVX512_INLINE const float* Expand(const float* block, size_t, float*) { return block; }
TACET_AVX512_INLINE const float* Expand(const uint16_t* block, size_t size, float* scratch) {
  for (size_t n = 0; n < size; n += kLanes) {
    const __m256i half = _mm256_load_si256(reinterpret_cast<const __m256i*>(block + n));
    _mm512_store_si512(scratch + n, _mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
  }
  return scratch;
}

// The gradients of `count` output channels whose winner is (kRow, kCol), over 4 x 4 places.
template <size_t kRow, size_t kCol>
TACET_AVX512_INLINE void Scatter(const float* weights, const uint32_t* offsets, const float* values,
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

}  // namespace

bool HasF32() { return base::ActiveSimd() == base::Simd::kAvx512; }

bool HasBf16() { return HasF32() && __builtin_cpu_supports("avx512bf16"); }

namespace {

template <typename Map>
TACET_AVX512 void FirstForwardOf(const Sizes& sizes, const Paper& paper, const float* image,
                                 const float* weights, Map* map, uint8_t* winner) {
  for (size_t i = 0; i < sizes.rows1; ++i) {
    for (size_t j = 0; j < sizes.cols1; j += 2) {
      const bool both = j + 1 < sizes.cols1;
      const size_t position = i * sizes.cols1 + j;
      const bool blank = paper.first(position) && (!both || paper.first(position + 1));
      for (size_t b = 0; b < kBlocks; ++b) {
        const float* of_block = weights + b * (kFirstTaps + 1) * kBlock;
        Map* to = map + ((b * sizes.map_rows + i + 1) * sizes.map_stride + j + 1) * kBlock;
        uint8_t* won = winner + position * kFirstMaps + b * kBlock;
        if (!blank) {
          FirstTile(image + 2 * i * sizes.image_stride + 2 * j, sizes.image_stride, of_block, both,
                    to, won);
          continue;
        }
        const __m512 low = Load(of_block + kFirstTaps * kBlock);
        const __m512 high = Load(of_block + kFirstTaps * kBlock + kLanes);
        const Pooled first = Pool(low, low, low, low);
        const Pooled second = Pool(high, high, high, high);
        for (size_t n = 0; n < (both ? 2 : 1); ++n) {
          StoreMap(first.value, second.value, to + n * kBlock);
          StoreWinners(first, second, won + n * kFirstMaps);
        }
      }
    }
  }
}

}  // namespace

void FirstForward(const Sizes& sizes, const Paper& paper, const float* image, const float* weights,
                  float* map, uint8_t* winner) {
  FirstForwardOf(sizes, paper, image, weights, map, winner);
}
void FirstForward(const Sizes& sizes, const Paper& paper, const float* image, const float* weights,
                  uint16_t* map, uint8_t* winner) {
  FirstForwardOf(sizes, paper, image, weights, map, winner);
}

template <>
size_t SecondScratchSize<float>() {
  return kFrequencies * (kInputStride + kProductStride);
}
template <>
size_t SecondScratchSize<uint16_t>() {
  return 2 * kTile * 32;
}

TACET_AVX512 void SecondForward(const Sizes& sizes, const Paper& paper, const float* map,
                                const float* weights, const float* biases, PaperOutputs& known,
                                float* scratch, float* outputs, uint8_t* winner) {
  const size_t row = sizes.map_stride * kBlock;
  const size_t positions = sizes.positions2();
  float* inputs = scratch;
  float* products = scratch + kFrequencies * kInputStride;
  std::array<size_t, kStrip> strip;
  for (size_t position = 0; position < positions;) {
    size_t count = 0;
    for (; position < positions && count < kStrip; ++position) {
      const uint8_t kind = paper.second(position);
      if (kind != kNotBlank) {
        if (known.known[kind]) continue;
        known.known[kind] = true;
      }
      for (size_t b = 0; b < kBlocks; ++b) {
        const float* corner = map + (b * sizes.map_rows + position / sizes.cols2 * 2) * row +
                              position % sizes.cols2 * 2 * kBlock;
        float* to = inputs + count * kFirstMaps + b * kBlock;
        TransformInput(corner, row, to);
        TransformInput(corner + kLanes, row, to + kLanes);
      }
      strip[count++] = position;
    }
    Products(count, inputs, weights, products);
    for (size_t n = 0; n < count; ++n) {
      const uint8_t kind = paper.second(strip[n]);
      for (size_t o = 0; o < kSecondMaps; o += kLanes) {
        const Pooled pooled = PoolProducts(products + n * kSecondMaps + o, Load(biases + o));
        StoreOutputs(pooled, positions, strip[n], o, outputs, winner);
        if (kind == kNotBlank) continue;
        _mm512_store_ps(known.values[kind] + o, pooled.value);
        _mm_store_si128(reinterpret_cast<__m128i*>(known.winners[kind] + o), pooled.winner);
      }
    }
  }
  for (size_t position = 0; position < positions; ++position) {
    const uint8_t kind = paper.second(position);
    if (kind == kNotBlank) continue;
    for (size_t o = 0; o < kSecondMaps; o += kLanes) {
      const Pooled pooled = {
          Load(known.values[kind] + o),
          _mm_load_si128(reinterpret_cast<const __m128i*>(known.winners[kind] + o))};
      StoreOutputs(pooled, positions, position, o, outputs, winner);
    }
  }
}

TACET_AVX512 void SecondForward(const Sizes& sizes, const Paper&, const uint16_t* map,
                                const uint16_t* weights, const float* biases, PaperOutputs&,
                                float* scratch, float* outputs, uint8_t* winner) {
  const size_t row = sizes.map_stride * kBlock;
  const size_t block = sizes.map_rows * row;
  constexpr size_t kSums = kTile * 32;  // of a row
  for (size_t half = 0; half < 2; ++half) {
    const uint16_t* of_half = weights + half * (kSecondSize / 2);
    for (size_t i = 0; i < sizes.rows2; ++i) {
      for (size_t first = 0; first < sizes.cols2; first += kTile / 2) {
        for (size_t r = 0; r < 2; ++r) {
          SecondTile(map + (2 * i + r) * row + 2 * first * kBlock, row, block, of_half,
                     biases + half * 32, scratch + r * kSums);
        }
        const size_t count = std::min(kTile / 2, sizes.cols2 - first);
        for (size_t n = 0; n < count; ++n) {
          for (size_t part = 0; part < 32; part += kLanes) {
            const float* upper = scratch + 2 * n * 32 + part;
            const float* lower = upper + kSums;
            StoreOutputs(Pool(Load(upper), Load(upper + 32), Load(lower), Load(lower + 32)),
                         sizes.positions2(), i * sizes.cols2 + first + n, half * 32 + part, outputs,
                         winner);
          }
        }
      }
    }
  }
}

TACET_AVX512 void SparseGradient::Gather(const Sizes& sizes, const Paper& paper,
                                         const float* gradient, const uint8_t* winner) {
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
    const uint8_t kind = paper.second(position);
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
    const uint8_t kind = paper.second(position);
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

namespace {

template <typename Map>
TACET_AVX512 void SecondWeightGradientOf(const Sizes& sizes, const Map* map,
                                         const SparseGradient& gradient, float* scratch,
                                         float* weight_gradients) {
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

void SecondWeightGradient(const Sizes& sizes, const float* map, const SparseGradient& gradient,
                          float* scratch, float* weight_gradients) {
  SecondWeightGradientOf(sizes, map, gradient, scratch, weight_gradients);
}
void SecondWeightGradient(const Sizes& sizes, const uint16_t* map, const SparseGradient& gradient,
                          float* scratch, float* weight_gradients) {
  SecondWeightGradientOf(sizes, map, gradient, scratch, weight_gradients);
}

TACET_AVX512 void SecondDataGradient(const Sizes& sizes, const SparseGradient& gradient,
                                     const float* weights, float* map_gradient) {
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

namespace {

constexpr size_t kChannelWeights = kSecondTaps * kLanes;

// Calls visit(c, o, weights[k] of input channel c and 16 output channels from o on).
template <typename Visit>
TACET_AVX512_INLINE void ForEachWeights(const float* weights, const Visit& visit) {
  const __m512i step =
      _mm512_mullo_epi32(Lanes(), _mm512_set1_epi32(static_cast<int>(kChannelWeights)));
  for (size_t b = 0; b < kLaneBlocks; ++b) {
    for (size_t o = 0; o < kSecondMaps; o += kLanes) {
      const float* from = weights + (b * kSecondMaps + o) * kChannelWeights;
      for (size_t c = 0; c < kLanes; ++c) {
        __m512 taps[kSecondTaps];
        TACET_UNROLL
        for (size_t k = 0; k < kSecondTaps; ++k) {
          taps[k] = _mm512_i32gather_ps(step, from + k * kLanes + c, sizeof(float));
        }
        visit(b * kLanes + c, o, taps);
      }
    }
  }
}

// G of three taps.
TACET_AVX512_INLINE void TransformThree(__m512 a, __m512 b, __m512 c, __m512* to, size_t step) {
  const __m512 half = _mm512_set1_ps(0.5f);
  const __m512 ends = _mm512_mul_ps(half, _mm512_add_ps(a, c));
  const __m512 middle = _mm512_mul_ps(half, b);
  to[0] = a;
  to[step] = _mm512_add_ps(ends, middle);
  to[2 * step] = _mm512_sub_ps(ends, middle);
  to[3 * step] = c;
}

struct StoreTransformed {
  float* forward;
  TACET_AVX512_INLINE void operator()(size_t c, size_t o, const __m512 (&g)[kSecondTaps]) const {
    __m512 rows[4][3];
    TACET_UNROLL
    for (size_t v = 0; v < 3; ++v) TransformThree(g[v], g[3 + v], g[6 + v], &rows[0][v], 3);
    float* to = forward + ((o / 32) * kFirstMaps + c) * 32 + o % 32;
    TACET_UNROLL
    for (size_t u = 0; u < 4; ++u) {
      __m512 values[4];
      TransformThree(rows[u][0], rows[u][1], rows[u][2], values, 1);
      TACET_UNROLL
      for (size_t v = 0; v < 4; ++v) {
        _mm512_store_ps(to + (4 * u + v) * kFirstMaps * kSecondMaps, values[v]);
      }
    }
  }
};

struct StoreBf16 {
  uint16_t* forward;
  TACET_AVX512_INLINE void operator()(size_t c, size_t o, const __m512 (&g)[kSecondTaps]) const {
    const size_t block = (o / 32) * kBlocks + c / kBlock;
    TACET_UNROLL
    for (size_t k = 0; k < kSecondTaps; ++k) {
      uint16_t* to =
          forward + (block * kSecondTaps + k) * kBlock * 32 + (c % kBlock / 2 * 32 + o % 32) * 2;
      const __m512i rounded = RoundUpper(g[k]);
      if (c % 2 == 0) {
        _mm512_store_si512(to, _mm512_srli_epi32(rounded, 16));
      } else {
        _mm512_mask_storeu_epi16(to, 0xaaaaaaaa, rounded);
      }
    }
  }
};

}  // namespace

TACET_AVX512 void SecondPrepare(const float* weights, float* forward) {
  ForEachWeights(weights, StoreTransformed{forward});
}
TACET_AVX512 void SecondPrepare(const float* weights, uint16_t* forward) {
  ForEachWeights(weights, StoreBf16{forward});
}

namespace {

// [q][kFirstRow]: the 25 inputs of each of a pool's four values, 1 for the bias, zeros.
TACET_AVX512_INLINE void MakePatches(const float* corner, size_t stride, float* patches) {
  const __m256 rest = _mm256_set_ps(0, 0, 0, 0, 0, 0, 1, 0);
  TACET_UNROLL
  for (size_t q = 0; q < 4; ++q) {
    const float* from = corner + q / 2 * stride + q % 2;
    float* patch = patches + q * kFirstRow;
    _mm256_store_ps(patch + 24, rest);
    TACET_UNROLL
    for (size_t u = 0; u < 4; ++u) {
      // Eight values, of which the next row overwrites the last three.
      _mm256_storeu_ps(patch + 5 * u, _mm256_loadu_ps(from + u * stride));
    }
    _mm_storeu_ps(patch + 20, _mm_loadu_ps(from + 4 * stride));
    patch[24] = from[4 * stride + 4];
  }
}

constexpr size_t kFirstChannels = 8;  // done together

}  // namespace

size_t PatchesSize(const Sizes& sizes) {
  return sizes.cols1 * (4 * kFirstRow + 2 * kFirstMaps) + kFirstMaps;
}

TACET_AVX512 void FirstWeightGradient(const Sizes& sizes, const Paper& paper, const float* image,
                                      const float* map_gradient, const uint8_t* winner,
                                      float* patches, float* weight_gradients) {
  // Of a row of pooled positions those with writing: [position][c] gradients, 0 where there is no
  // winner, and where in the patches each winner lies.
  float* values = patches + sizes.cols1 * 4 * kFirstRow;
  auto* offsets = reinterpret_cast<uint32_t*>(values + sizes.cols1 * kFirstMaps);
  // Paper has inputs 0: it counts for the biases only.
  float* of_paper = values + 2 * sizes.cols1 * kFirstMaps;
  std::fill_n(of_paper, kFirstMaps, 0.0f);
  const size_t block = sizes.map_rows * sizes.map_stride * kLanes;
  for (size_t i = 0; i < sizes.rows1; ++i) {
    size_t count = 0;
    for (size_t j = 0; j < sizes.cols1; ++j) {
      const size_t position = i * sizes.cols1 + j;
      const float* from = map_gradient + ((i + 1) * sizes.map_stride + j + 1) * kLanes;
      const uint8_t* won = winner + position * kFirstMaps;
      const bool blank = paper.first(position);
      if (!blank) {
        MakePatches(image + 2 * i * sizes.image_stride + 2 * j, sizes.image_stride,
                    patches + count * 4 * kFirstRow);
      }
      const __m512i corner = _mm512_set1_epi32(static_cast<int>(count * 4 * kFirstRow));
      for (size_t b = 0; b < kLaneBlocks; ++b) {
        const __m512i q = _mm512_cvtepu8_epi32(
            _mm_load_si128(reinterpret_cast<const __m128i*>(won + b * kLanes)));
        const __mmask16 alive = _mm512_cmplt_epi32_mask(q, _mm512_set1_epi32(kNoWinner));
        const __m512 g = _mm512_maskz_mov_ps(alive, Load(from + b * block));
        if (blank) {
          float* sum = of_paper + b * kLanes;
          _mm512_store_ps(sum, _mm512_add_ps(Load(sum), g));
          continue;
        }
        const __m512i place =
            _mm512_add_epi32(corner, _mm512_mullo_epi32(q, _mm512_set1_epi32(kFirstRow)));
        const size_t to = count * kFirstMaps + b * kLanes;
        _mm512_store_ps(values + to, g);
        _mm512_store_si512(offsets + to, _mm512_maskz_mov_epi32(alive, place));
      }
      count += blank ? 0 : 1;
    }
    for (size_t c = 0; c < kFirstMaps && count > 0; c += kFirstChannels) {
      float* sums = weight_gradients + c * kFirstRow;
      __m512 a[kFirstChannels][2];
      TACET_UNROLL
      for (size_t n = 0; n < kFirstChannels; ++n) {
        a[n][0] = Load(sums + n * kFirstRow);
        a[n][1] = Load(sums + n * kFirstRow + kLanes);
      }
      for (size_t j = 0; j < count; ++j) {
        const float* value = values + j * kFirstMaps + c;
        const uint32_t* offset = offsets + j * kFirstMaps + c;
        TACET_UNROLL
        for (size_t n = 0; n < kFirstChannels; ++n) {
          const float* patch = patches + offset[n];
          const __m512 g = _mm512_set1_ps(value[n]);
          a[n][0] = _mm512_fmadd_ps(g, Load(patch), a[n][0]);
          a[n][1] = _mm512_fmadd_ps(g, Load(patch + kLanes), a[n][1]);
        }
      }
      TACET_UNROLL
      for (size_t n = 0; n < kFirstChannels; ++n) {
        _mm512_store_ps(sums + n * kFirstRow, a[n][0]);
        _mm512_store_ps(sums + n * kFirstRow + kLanes, a[n][1]);
      }
    }
  }
  for (size_t c = 0; c < kFirstMaps; ++c) {
    weight_gradients[c * kFirstRow + kFirstTaps] += of_paper[c];
  }
}

void FirstUpdate(float learning_rate, const float* gradients, float* weights) {
  for (size_t c = 0; c < kFirstMaps; ++c) {
    float* to = weights + c / kBlock * (kFirstTaps + 1) * kBlock + c % kBlock;
    for (size_t k = 0; k <= kFirstTaps; ++k) {
      to[k * kBlock] -= learning_rate * gradients[c * kFirstRow + k];
    }
  }
}

}  // namespace tacet::learning::conv
