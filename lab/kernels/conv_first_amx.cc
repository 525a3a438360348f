// The first convolution on tiles: the inputs of a pool's four values are four rows of a left
// factor, its 25 taps and zeros one tile's depth.
#include <algorithm>
#include <array>

#include "lab/kernels/amx.h"
#include "lab/kernels/bf16_avx512.h"
#include "lab/kernels/conv_avx512.h"
#include "lab/kernels/conv_first.h"

TACET_BEFORE_NAMESPACE(TACET_AMX);
namespace tacet::lab::kernels::conv {
namespace {

using amx::kTileDepth;
using amx::kTileRows;
using amx::kTileSize;

constexpr size_t kPools = 2 * kTileRows / 4;  // done together
constexpr size_t kOverhang = 8;               // values read beyond a row of five

static_assert(kFirstRow == kTileDepth && kFirstTaps < kFirstRow);

}  // namespace

TileFirst::TileFirst(const Sizes& sizes)
    : sizes_(sizes),
      weights_(kFirstMaps * kFirstRow),
      image_(sizes.image_size() + kOverhang),
      patches_(kPools * 4 * kFirstRow),
      sums_(kPools * 4 * kBlock) {}

void TileFirst::Prepare(const float* weights) {
  uint16_t* to = weights_.data();
  for (size_t c = 0; c < kFirstMaps; c += kLanes) {
    const float* from = weights + c / kBlock * (kFirstTaps + 1) * kBlock + c % kBlock;
    const auto tap = [from](size_t k) {
      return k < kFirstTaps ? Load(from + k * kBlock) : _mm512_setzero_ps();
    };
    for (size_t k = 0; k < kFirstRow; k += 2, to += kTileDepth) {
      _mm512_store_si512(to, bf16::Interleave(tap(k), tap(k + 1)));
    }
  }
}

// [q][kFirstRow] of one pool.
void TileFirst::MakePatches(size_t position, uint16_t* patches) {
  const size_t stride = sizes_.image_stride;
  const uint16_t* corner =
      image_.data() + 2 * (position / sizes_.cols1) * stride + 2 * (position % sizes_.cols1);
  TACET_UNROLL
  for (size_t q = 0; q < 4; ++q, patches += kFirstRow) {
    const uint16_t* from = corner + q / 2 * stride + q % 2;
    const auto row = [from, stride](size_t u) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + u * stride));
    };
    const auto to = [patches](size_t at) { return reinterpret_cast<__m128i*>(patches + at); };
    // Eight values, of which the next row overwrites the last three.
    TACET_UNROLL
    for (size_t u = 0; u < 4; ++u) _mm_storeu_si128(to(5 * u), row(u));
    const __m128i last = _mm_maskz_mov_epi16(0x1f, row(4));
    _mm_storeu_si128(to(24), _mm_srli_si128(last, 8));
    _mm_storel_epi64(to(20), last);
  }
}

TileFirst::Map* TileFirst::At(Map* map, size_t b, size_t position) const {
  const size_t i = position / sizes_.cols1 + 1;
  const size_t j = position % sizes_.cols1 + 1;
  return map + ((b * sizes_.map_rows + i) * sizes_.map_stride + j) * kBlock;
}

void TileFirst::ForwardPools(const size_t* positions, size_t count, const float* weights, Map* map,
                             uint8_t* winner) {
  const uint16_t* left = patches_.data();
  float* sums = sums_.data();
  float* lower = sums + kTileRows * kBlock;
  amx::MemoryIsWritten();
  for (size_t b = 0; b < kBlocks; ++b) {
    const uint16_t* right = weights_.data() + 2 * b * kTileSize;
    amx::ZeroSums();
    amx::AddProducts(left, left + kTileSize, amx::kRowBytes, right, right + kTileSize,
                     amx::kRowBytes);
    amx::StoreSums(sums, sums + kLanes, lower, lower + kLanes, kBlock * sizeof(float));
    const float* biases = weights + (b * (kFirstTaps + 1) + kFirstTaps) * kBlock;
    const __m512 bias[2] = {Load(biases), Load(biases + kLanes)};
    for (size_t n = 0; n < count; ++n) {
      Pooled pooled[2];
      TACET_UNROLL
      for (size_t half = 0; half < 2; ++half) {
        const float* of_pool = sums + n * 4 * kBlock + half * kLanes;
        pooled[half] = Pool(_mm512_add_ps(Load(of_pool), bias[half]),
                            _mm512_add_ps(Load(of_pool + kBlock), bias[half]),
                            _mm512_add_ps(Load(of_pool + 2 * kBlock), bias[half]),
                            _mm512_add_ps(Load(of_pool + 3 * kBlock), bias[half]));
      }
      StoreMap(pooled[0].value, pooled[1].value, At(map, b, positions[n]));
      StoreWinners(pooled[0], pooled[1], winner + positions[n] * kFirstMaps + b * kBlock);
    }
  }
}

void TileFirst::Forward(const BlankRegions& regions, const float* image, const float* weights,
                        Map* map, uint8_t* winner) {
  for (size_t n = 0; n < sizes_.image_size(); n += kLanes) {
    const auto some = static_cast<__mmask16>((1u << std::min(kLanes, sizes_.image_size() - n)) - 1);
    _mm256_mask_storeu_epi16(image_.data() + n, some,
                             bf16::Round(_mm512_maskz_loadu_ps(some, image + n)));
  }
  amx::UseTiles(kTileRows);
  std::array<size_t, kPools> pools;
  size_t count = 0;
  for (size_t position = 0; position < sizes_.positions1(); ++position) {
    if (regions.first(position)) {
      for (size_t b = 0; b < kBlocks; ++b) {
        StoreFirstOnBlank(weights + (b * (kFirstTaps + 1) + kFirstTaps) * kBlock, 1,
                          At(map, b, position), winner + position * kFirstMaps + b * kBlock);
      }
      continue;
    }
    MakePatches(position, patches_.data() + count * 4 * kFirstRow);
    pools[count++] = position;
    if (count == kPools) {
      ForwardPools(pools.data(), count, weights, map, winner);
      count = 0;
    }
  }
  if (count > 0) ForwardPools(pools.data(), count, weights, map, winner);
  amx::ReleaseTiles();
}

}  // namespace tacet::lab::kernels::conv
TACET_AFTER_NAMESPACE();
