// The first convolution.
#include <algorithm>

#include "lab/kernels/conv_avx512.h"
#include "lab/kernels/conv_kernels.h"

TACET_BEFORE_NAMESPACE(TACET_AVX512);
namespace tacet::lab::kernels::conv {
namespace {

// Two rows of four columns of the first convolution, 32 channels, pooled to two columns.
template <typename Map>
HWY_INLINE void FirstTile(const float* image, size_t stride, const float* weights, bool both,
                          Map* map, uint8_t* winner) {
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

template <typename Map>
void FirstForwardOf(const Sizes& sizes, const BlankRegions& regions, const float* image,
                    const float* weights, Map* map, uint8_t* winner) {
  for (size_t i = 0; i < sizes.rows1; ++i) {
    for (size_t j = 0; j < sizes.cols1; j += 2) {
      const bool both = j + 1 < sizes.cols1;
      const size_t position = i * sizes.cols1 + j;
      const bool blank = regions.first(position) && (!both || regions.first(position + 1));
      for (size_t b = 0; b < kBlocks; ++b) {
        const float* of_block = weights + b * (kFirstTaps + 1) * kBlock;
        Map* to = map + ((b * sizes.map_rows + i + 1) * sizes.map_stride + j + 1) * kBlock;
        uint8_t* won = winner + position * kFirstMaps + b * kBlock;
        if (!blank) {
          FirstTile(image + 2 * i * sizes.image_stride + 2 * j, sizes.image_stride, of_block, both,
                    to, won);
          continue;
        }
        StoreFirstOnBlank(of_block + kFirstTaps * kBlock, both ? 2 : 1, to, won);
      }
    }
  }
}

// [q][kFirstRow]: the 25 inputs of each of a pool's four values, 1 for the bias, zeros.
HWY_INLINE void MakePatches(const float* corner, size_t stride, float* patches) {
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

void FirstForward(const Sizes& sizes, const BlankRegions& regions, const float* image,
                  const float* weights, float* map, uint8_t* winner) {
  FirstForwardOf(sizes, regions, image, weights, map, winner);
}
void FirstForward(const Sizes& sizes, const BlankRegions& regions, const float* image,
                  const float* weights, uint16_t* map, uint8_t* winner) {
  FirstForwardOf(sizes, regions, image, weights, map, winner);
}

size_t PatchesSize(const Sizes& sizes) {
  return sizes.cols1 * (4 * kFirstRow + 2 * kFirstMaps) + kFirstMaps;
}

void FirstWeightGradient(const Sizes& sizes, const BlankRegions& regions, const float* image,
                         const float* map_gradient, const uint8_t* winner, float* patches,
                         float* weight_gradients) {
  // For a row of pooled positions those with writing: [position][c] gradients, 0 where there is no
  // winner, and where in the patches each winner lies.
  float* values = patches + sizes.cols1 * 4 * kFirstRow;
  auto* offsets = reinterpret_cast<uint32_t*>(values + sizes.cols1 * kFirstMaps);
  // A blank region has inputs 0: it counts for the biases only.
  float* of_blank = values + 2 * sizes.cols1 * kFirstMaps;
  std::fill_n(of_blank, kFirstMaps, 0.0f);
  const size_t block = sizes.map_rows * sizes.map_stride * kLanes;
  for (size_t i = 0; i < sizes.rows1; ++i) {
    size_t count = 0;
    for (size_t j = 0; j < sizes.cols1; ++j) {
      const size_t position = i * sizes.cols1 + j;
      const float* from = map_gradient + ((i + 1) * sizes.map_stride + j + 1) * kLanes;
      const uint8_t* won = winner + position * kFirstMaps;
      const bool blank = regions.first(position);
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
          float* sum = of_blank + b * kLanes;
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
    weight_gradients[c * kFirstRow + kFirstTaps] += of_blank[c];
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

}  // namespace tacet::lab::kernels::conv
TACET_AFTER_NAMESPACE();
