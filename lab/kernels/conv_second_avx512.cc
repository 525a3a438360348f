// The second convolution, forward.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "lab/kernels/conv_avx512.h"
#include "lab/kernels/conv_kernels.h"

// Clang takes the outer of two nested marks, so these follow each other.
TACET_BEFORE_NAMESPACE(TACET_AVX512_BF16);
namespace tacet::lab::kernels::conv {
namespace {

HWY_INLINE __m512 Dot(__m512 sum, __m512i x, __m512i y) {
  return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)y);
}

// kTile columns of a row of the second convolution, 32 output channels: the sums over all taps and
// channels go to `sums`, [column][32].
void SecondTile(const uint16_t* map, size_t row, size_t block, const uint16_t* weights,
                const float* biases, float* sums) {
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

TACET_AFTER_NAMESPACE();
TACET_BEFORE_NAMESPACE(TACET_AVX512);

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

HWY_INLINE void TransformFour(__m512& a, __m512& b, __m512& c, __m512& d) {
  const __m512 first = _mm512_sub_ps(a, c);
  const __m512 second = _mm512_add_ps(b, c);
  const __m512 third = _mm512_sub_ps(c, b);
  d = _mm512_sub_ps(b, d);
  a = first;
  b = second;
  c = third;
}

// B' d B of the patch at `corner`, 16 channels.
HWY_INLINE void TransformInput(const float* corner, size_t row, float* to) {
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
void Product(const float* v, const float* w, float* m) {
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
HWY_INLINE Pooled PoolProducts(const float* m, __m512 bias) {
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
HWY_INLINE void StoreOutputs(const Pooled& pooled, size_t positions, size_t position, size_t o,
                             float* outputs, uint8_t* winner) {
  const __m512i step = _mm512_mullo_epi32(Lanes(), _mm512_set1_epi32(static_cast<int>(positions)));
  _mm512_i32scatter_ps(outputs + o * positions + position, step, pooled.value, sizeof(float));
  _mm_store_si128(reinterpret_cast<__m128i*>(winner + position * kSecondMaps + o), pooled.winner);
}

constexpr size_t kChannelWeights = kSecondTaps * kLanes;

// Calls visit(c, o, weights[k] of input channel c and 16 output channels from o on).
template <typename Visit>
HWY_INLINE void ForEachWeights(const float* weights, const Visit& visit) {
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
HWY_INLINE void TransformThree(__m512 a, __m512 b, __m512 c, __m512* to, size_t step) {
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
  HWY_INLINE void operator()(size_t c, size_t o, const __m512 (&g)[kSecondTaps]) const {
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
  HWY_INLINE void operator()(size_t c, size_t o, const __m512 (&g)[kSecondTaps]) const {
    const size_t block = (o / 32) * kBlocks + c / kBlock;
    TACET_UNROLL
    for (size_t k = 0; k < kSecondTaps; ++k) {
      uint16_t* to =
          forward + (block * kSecondTaps + k) * kBlock * 32 + (c % kBlock / 2 * 32 + o % 32) * 2;
      const __m512i rounded = bf16::RoundUpper(g[k]);
      if (c % 2 == 0) {
        _mm512_store_si512(to, _mm512_srli_epi32(rounded, 16));
      } else {
        _mm512_mask_storeu_epi16(to, 0xaaaaaaaa, rounded);
      }
    }
  }
};

}  // namespace

void SecondPrepare(const float* weights, float* forward) {
  ForEachWeights(weights, StoreTransformed{forward});
}
void SecondPrepare(const float* weights, uint16_t* forward) {
  ForEachWeights(weights, StoreBf16{forward});
}

template <>
size_t SecondScratchSize<float>() {
  return kFrequencies * (kInputStride + kProductStride);
}
template <>
size_t SecondScratchSize<uint16_t>() {
  return 2 * kTile * 32;
}

void SecondForward(const Sizes& sizes, const BlankRegions& regions, const float* map,
                   const float* weights, const float* biases, BlankOutputs& known, float* scratch,
                   float* outputs, uint8_t* winner) {
  const size_t row = sizes.map_stride * kBlock;
  const size_t positions = sizes.positions2();
  float* inputs = scratch;
  float* products = scratch + kFrequencies * kInputStride;
  std::array<size_t, kStrip> strip;
  for (size_t position = 0; position < positions;) {
    size_t count = 0;
    for (; position < positions && count < kStrip; ++position) {
      const uint8_t kind = regions.second(position);
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
      const uint8_t kind = regions.second(strip[n]);
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
    const uint8_t kind = regions.second(position);
    if (kind == kNotBlank) continue;
    for (size_t o = 0; o < kSecondMaps; o += kLanes) {
      const Pooled pooled = {
          Load(known.values[kind] + o),
          _mm_load_si128(reinterpret_cast<const __m128i*>(known.winners[kind] + o))};
      StoreOutputs(pooled, positions, position, o, outputs, winner);
    }
  }
}

void SecondForward(const Sizes& sizes, const BlankRegions&, const uint16_t* map,
                   const uint16_t* weights, const float* biases, BlankOutputs&, float* scratch,
                   float* outputs, uint8_t* winner) {
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

}  // namespace tacet::lab::kernels::conv
TACET_AFTER_NAMESPACE();
