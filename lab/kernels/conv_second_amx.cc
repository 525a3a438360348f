// The second convolution on tiles.
#include <algorithm>
#include <array>

#include "lab/kernels/amx.h"
#include "lab/kernels/bf16_avx512.h"
#include "lab/kernels/conv_avx512.h"
#include "lab/kernels/conv_second.h"

TACET_BEFORE_NAMESPACE(TACET_AMX);
namespace tacet::lab::kernels::conv {
namespace {

using amx::AddProducts;
using amx::kRowBytes;
using amx::kTileDepth;
using amx::kTileRows;
using amx::kTileSize;
using amx::LoadSums;
using amx::StoreSums;
using amx::UseTiles;
using amx::ZeroSums;

constexpr size_t kHalf = kSecondMaps / 2;  // output channels of a step

constexpr size_t kRowSums = kTileRows * kHalf;  // of a row before the pool, half of o

// The pool of two neighbours in the two rows of sums, 16 output channels.
HWY_INLINE Pooled PoolSums(const float* sums, __m512 bias) {
  return Pool(_mm512_add_ps(Load(sums), bias), _mm512_add_ps(Load(sums + kHalf), bias),
              _mm512_add_ps(Load(sums + kRowSums), bias),
              _mm512_add_ps(Load(sums + kRowSums + kHalf), bias));
}

HWY_INLINE void TransposeQuarters(__m512i (&rows)[kLanes]) {
  __m512i pairs[kLanes];
  TACET_UNROLL
  for (size_t n = 0; n < kLanes; n += 2) {
    pairs[n] = _mm512_unpacklo_epi32(rows[n], rows[n + 1]);
    pairs[n + 1] = _mm512_unpackhi_epi32(rows[n], rows[n + 1]);
  }
  TACET_UNROLL
  for (size_t n = 0; n < kLanes; n += 4) {
    rows[n] = _mm512_unpacklo_epi64(pairs[n], pairs[n + 2]);
    rows[n + 1] = _mm512_unpackhi_epi64(pairs[n], pairs[n + 2]);
    rows[n + 2] = _mm512_unpacklo_epi64(pairs[n + 1], pairs[n + 3]);
    rows[n + 3] = _mm512_unpackhi_epi64(pairs[n + 1], pairs[n + 3]);
  }
}

// Column n of 16 rows of 16 values, for every n.
HWY_INLINE void Transpose(__m512i (&rows)[kLanes]) {
  TransposeQuarters(rows);
  __m512i halves[kLanes];
  TACET_UNROLL
  for (size_t n = 0; n < 4; ++n) {
    halves[n] = _mm512_shuffle_i32x4(rows[n], rows[n + 4], 0x88);
    halves[n + 4] = _mm512_shuffle_i32x4(rows[n], rows[n + 4], 0xdd);
    halves[n + 8] = _mm512_shuffle_i32x4(rows[n + 8], rows[n + 12], 0x88);
    halves[n + 12] = _mm512_shuffle_i32x4(rows[n + 8], rows[n + 12], 0xdd);
  }
  TACET_UNROLL
  for (size_t n = 0; n < 8; ++n) {
    rows[n] = _mm512_shuffle_i32x4(halves[n], halves[n + 8], 0x88);
    rows[n + 8] = _mm512_shuffle_i32x4(halves[n], halves[n + 8], 0xdd);
  }
}

}  // namespace

TileSecond::Shape::Shape(const Sizes& sizes, bool for_training)
    : training(for_training),
      outputs(sizes.outputs()),
      plane((sizes.map_rows + 1) * sizes.map_stride),
      gradient_places(RoundUp(2 * sizes.rows2 * sizes.map_stride, kTileDepth)),
      pairs_size((gradient_places + 2 * sizes.map_stride + 2) / 2) {}

TileSecond::TileSecond(const Sizes& sizes, size_t samples, bool training)
    : sizes_(sizes),
      shape_(sizes, training),
      forward_weights_(kSecondSize),
      backward_weights_(training ? kSecondSize : 0),
      sums_(sizes.rows2 * 2 * kRowSums),
      values_(RoundUp(sizes.positions2(), kLanes) * kSecondMaps),
      winners_by_position_(samples * shape_.outputs + kLanes * kSecondMaps),
      winners_by_channel_(training ? samples * shape_.outputs : 0),
      by_place_(training ? 2 * shape_.plane * kHalf : 0),
      by_channel_(training ? kSecondMaps * shape_.gradient_places : 0),
      pairs_(training ? 2 * kLaneBlocks * shape_.pairs_size * kTileDepth : 0) {}

void TileSecond::Prepare(const float* weights) {
  SecondPrepare(weights, forward_weights_.data());
  blank_outputs_.known.fill(false);
  if (!shape_.training) return;
  uint16_t* to = backward_weights_.data();
  for (size_t half = 0; half < 2; ++half) {
    for (size_t b = 0; b < kLaneBlocks; ++b) {
      for (size_t k = 0; k < kSecondTaps; ++k) {
        for (size_t o = 0; o < kHalf; o += 2, to += kTileDepth) {
          const float* from =
              weights + ((b * kSecondMaps + half * kHalf + o) * kSecondTaps + k) * kLanes;
          _mm512_store_si512(to, bf16::Interleave(Load(from), Load(from + kSecondTaps * kLanes)));
        }
      }
    }
  }
}

void TileSecond::ForwardBox(const Box& box, const Map* map, const float* biases, uint8_t* winners) {
  const size_t stride = sizes_.map_stride * kBlock;
  const size_t block = sizes_.map_rows * stride;
  UseTiles(2 * box.columns);
  for (size_t half = 0; half < 2; ++half) {
    // A block of channels at a time: what is read over and over then fits the first-level cache.
    for (size_t b = 0; b < kBlocks; ++b) {
      const uint16_t* of_block =
          forward_weights_.data() + (half * kBlocks + b) * kSecondTaps * kBlock * kHalf;
      for (size_t row = 0; row < box.rows; ++row) {
        float* sums = sums_.data() + row * 2 * kRowSums;
        float* lower = sums + kRowSums;
        if (b == 0) {
          ZeroSums();
        } else {
          LoadSums(sums, sums + kLanes, lower, lower + kLanes, kHalf * sizeof(float));
        }
        const uint16_t* corner =
            map + b * block + 2 * (box.top + row) * stride + 2 * box.left * kBlock;
        const uint16_t* weights = of_block;
        for (size_t k = 0; k < kSecondTaps; ++k, weights += kBlock * kHalf) {
          const uint16_t* from = corner + k / 3 * stride + k % 3 * kBlock;
          AddProducts(from, from + stride, kRowBytes, weights, weights + kTileDepth, 2 * kRowBytes);
        }
        StoreSums(sums, sums + kLanes, lower, lower + kLanes, kHalf * sizeof(float));
      }
    }
    for (size_t row = 0; row < box.rows; ++row) {
      for (size_t n = 0; n < box.columns; ++n) {
        const size_t position = (box.top + row) * sizes_.cols2 + box.left + n;
        for (size_t part = 0; part < kHalf; part += kLanes) {
          const size_t o = half * kHalf + part;
          const Pooled pooled =
              PoolSums(sums_.data() + row * 2 * kRowSums + 2 * n * kHalf + part, Load(biases + o));
          _mm512_store_ps(values_.data() + position * kSecondMaps + o, pooled.value);
          _mm_store_si128(reinterpret_cast<__m128i*>(winners + position * kSecondMaps + o),
                          pooled.winner);
        }
      }
    }
  }
  amx::ReleaseTiles();
}

void TileSecond::StoreByChannel(size_t sample, float* outputs) {
  const size_t positions = sizes_.positions2();
  const uint8_t* winners = winners_by_position(sample);
  for (size_t position = 0; position < positions; position += kLanes) {
    const size_t count = std::min(kLanes, positions - position);
    const auto some = static_cast<__mmask16>((1u << count) - 1);
    for (size_t o = 0; o < kSecondMaps; o += kLanes) {
      const size_t from = position * kSecondMaps + o;
      const size_t to = o * positions + position;
      __m512i rows[kLanes];
      TACET_UNROLL
      for (size_t n = 0; n < kLanes; ++n) {
        rows[n] = _mm512_load_si512(values_.data() + from + n * kSecondMaps);
      }
      Transpose(rows);
      TACET_UNROLL
      for (size_t n = 0; n < kLanes; ++n) {
        _mm512_mask_storeu_epi32(outputs + to + n * positions, some, rows[n]);
      }
      if (!shape_.training) continue;
      TACET_UNROLL
      for (size_t n = 0; n < kLanes; ++n) {
        rows[n] = _mm512_cvtepu8_epi32(
            _mm_load_si128(reinterpret_cast<const __m128i*>(winners + from + n * kSecondMaps)));
      }
      Transpose(rows);
      TACET_UNROLL
      for (size_t n = 0; n < kLanes; ++n) {
        _mm512_mask_storeu_epi32(winners_by_channel(sample) + to + n * positions, some, rows[n]);
      }
    }
  }
}

void TileSecond::Forward(size_t sample, const BlankRegions& regions, const Map* map,
                         const float* biases, float* outputs) {
  const auto blank = [&regions](size_t position) { return regions.second(position) != kNotBlank; };
  // The outputs that have to be computed lie within a box.
  size_t top = sizes_.rows2, bottom = 0, left = sizes_.cols2, right = 0;
  for (size_t i = 0; i < sizes_.rows2; ++i) {
    for (size_t j = 0; j < sizes_.cols2; ++j) {
      const size_t position = i * sizes_.cols2 + j;
      if (blank(position) && blank_outputs_.known[regions.second(position)]) continue;
      top = std::min(top, i);
      bottom = i + 1;
      left = std::min(left, j);
      right = std::max(right, j + 1);
    }
  }
  uint8_t* winners = winners_by_position(sample);
  for (size_t first = left; first < right; first += kTileRows / 2) {
    const Box box = {top, bottom - top, first, std::min(kTileRows / 2, right - first)};
    ForwardBox(box, map, biases, winners);
  }
  for (size_t i = 0; i < sizes_.rows2; ++i) {
    for (size_t j = 0; j < sizes_.cols2; ++j) {
      const size_t position = i * sizes_.cols2 + j;
      if (!blank(position)) continue;
      const uint8_t kind = regions.second(position);
      float* values = values_.data() + position * kSecondMaps;
      uint8_t* won = winners + position * kSecondMaps;
      if (blank_outputs_.known[kind]) {
        std::copy_n(blank_outputs_.values[kind], kSecondMaps, values);
        std::copy_n(blank_outputs_.winners[kind], kSecondMaps, won);
      } else {
        std::copy_n(values, kSecondMaps, blank_outputs_.values[kind]);
        std::copy_n(won, kSecondMaps, blank_outputs_.winners[kind]);
        blank_outputs_.known[kind] = true;
      }
    }
  }
  StoreByChannel(sample, outputs);
}

void TileSecond::SpreadByPlace(size_t sample, const float* output_gradients) {
  const size_t positions = sizes_.positions2();
  const __m512i step = _mm512_mullo_epi32(Lanes(), _mm512_set1_epi32(static_cast<int>(positions)));
  const uint8_t* winners = winners_by_position(sample);
  for (size_t i = 0; i < sizes_.rows2; ++i) {
    for (size_t j = 0; j < sizes_.cols2; ++j, winners += kSecondMaps) {
      // A row and a column of zeros stand before the map.
      const size_t corner = (2 * i + 1) * sizes_.map_stride + 2 * j + 1;
      for (size_t half = 0; half < 2; ++half) {
        const float* from = output_gradients + half * kHalf * positions + i * sizes_.cols2 + j;
        const __m512i values =
            bf16::Round(_mm512_i32gather_ps(step, from, sizeof(float)),
                        _mm512_i32gather_ps(step, from + kLanes * positions, sizeof(float)));
        const __m256i won =
            _mm256_load_si256(reinterpret_cast<const __m256i*>(winners + half * kHalf));
        uint16_t* to = by_place_.data() + half * shape_.plane * kHalf + corner * kHalf;
        for (size_t q = 0; q < 4; ++q) {
          const __mmask32 here =
              _mm256_cmpeq_epi8_mask(won, _mm256_set1_epi8(static_cast<char>(q)));
          _mm512_store_si512(to + (q / 2 * sizes_.map_stride + q % 2) * kHalf,
                             _mm512_maskz_mov_epi16(here, values));
        }
      }
    }
  }
}

void TileSecond::SpreadByChannel(size_t sample, const float* output_gradients,
                                 float* bias_gradients) {
  const uint32_t* winners = winners_by_channel(sample);
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  for (size_t o = 0; o < kSecondMaps; ++o) {
    uint16_t* channel = by_channel_.data() + o * shape_.gradient_places;
    __m512 sum = _mm512_setzero_ps();
    for (size_t i = 0; i < sizes_.rows2; ++i) {
      for (size_t j = 0; j < sizes_.cols2; j += kLanes) {
        const size_t count = std::min(kLanes, sizes_.cols2 - j);
        const auto some = static_cast<__mmask16>((1u << count) - 1);
        const size_t at = (o * sizes_.rows2 + i) * sizes_.cols2 + j;
        const __m512 g = _mm512_maskz_loadu_ps(some, output_gradients + at);
        const __m512i won = _mm512_maskz_loadu_epi32(some, winners + at);
        const __mmask16 alive = _mm512_cmplt_epu32_mask(won, _mm512_set1_epi32(kNoWinner));
        sum = _mm512_add_ps(sum, _mm512_maskz_mov_ps(alive, g));
        const __m512i rounded = bf16::RoundUpper(g);
        for (int r = 0; r < 2; ++r) {
          // A pool's two values in a row are one lane.
          const __mmask16 left = _mm512_cmpeq_epi32_mask(won, _mm512_set1_epi32(2 * r));
          const __mmask16 right = _mm512_cmpeq_epi32_mask(won, _mm512_set1_epi32(2 * r + 1));
          const __m512i pair = _mm512_or_si512(_mm512_maskz_srli_epi32(left, rounded, 16),
                                               _mm512_maskz_and_epi32(right, rounded, upper));
          const size_t place = (2 * i + static_cast<size_t>(r)) * sizes_.map_stride + 2 * j;
          _mm512_mask_storeu_epi32(channel + place, some, pair);
        }
      }
    }
    bias_gradients[o] += _mm512_reduce_add_ps(sum);
  }
}

void TileSecond::MakePairs(const Map* map) {
  alignas(64) static constexpr auto kLowOrder = [] {
    std::array<uint16_t, 32> order;
    for (size_t n = 0; n < 32; ++n) order[n] = static_cast<uint16_t>(n / 2 + n % 2 * 32);
    return order;
  }();
  const __m512i low = _mm512_load_si512(kLowOrder.data());
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(kLanes));
  const size_t places = sizes_.map_rows * sizes_.map_stride;
  for (size_t b = 0; b < kBlocks; ++b, map += places * kBlock) {
    uint16_t* even = pairs_.data() + 2 * b * shape_.pairs_size * kTileDepth;
    uint16_t* odd = even + kLaneBlocks * shape_.pairs_size * kTileDepth;
    __m512i before = _mm512_load_si512(map);
    for (size_t place = 0; place + 2 < places; place += 2) {
      const __m512i middle = _mm512_load_si512(map + (place + 1) * kBlock);
      const __m512i after = _mm512_load_si512(map + (place + 2) * kBlock);
      const size_t to = place / 2 * kTileDepth;
      const size_t next = shape_.pairs_size * kTileDepth;
      _mm512_store_si512(even + to, _mm512_permutex2var_epi16(before, low, middle));
      _mm512_store_si512(even + next + to, _mm512_permutex2var_epi16(before, high, middle));
      _mm512_store_si512(odd + to, _mm512_permutex2var_epi16(middle, low, after));
      _mm512_store_si512(odd + next + to, _mm512_permutex2var_epi16(middle, high, after));
      before = after;
    }
  }
}

void TileSecond::AddWeightGradients(float* weight_gradients) {
  constexpr size_t kChannel = kSecondTaps * kLanes;  // an output channel's in a block of input ones
  UseTiles(kTileRows);
  for (size_t b = 0; b < kLaneBlocks; b += 2) {
    for (size_t half = 0; half < 2; ++half) {
      const uint16_t* left = by_channel_.data() + half * kHalf * shape_.gradient_places;
      for (size_t k = 0; k < kSecondTaps; ++k) {
        const size_t shift = k / 3 * sizes_.map_stride + k % 3;
        const uint16_t* right =
            pairs_.data() +
            ((shift % 2 * kLaneBlocks + b) * shape_.pairs_size + shift / 2) * kTileDepth;
        float* sums = weight_gradients + (b * kSecondMaps + half * kHalf) * kChannel + k * kLanes;
        float* lower = sums + kTileRows * kChannel;
        constexpr size_t kNextBlock = kSecondMaps * kChannel;
        constexpr size_t kBytes = kChannel * sizeof(float);
        LoadSums(sums, sums + kNextBlock, lower, lower + kNextBlock, kBytes);
        for (size_t place = 0; place < shape_.gradient_places; place += kTileDepth) {
          AddProducts(left + place, left + place + kTileRows * shape_.gradient_places,
                      shape_.gradient_places * sizeof(uint16_t), right + place / 2 * kTileDepth,
                      right + (shape_.pairs_size + place / 2) * kTileDepth, kRowBytes);
        }
        StoreSums(sums, sums + kNextBlock, lower, lower + kNextBlock, kBytes);
      }
    }
  }
  amx::ReleaseTiles();
}

void TileSecond::DataGradient(float* map_gradients) {
  const size_t block = sizes_.map_rows * sizes_.map_stride * kLanes;
  for (size_t column = 1; column <= sizes_.cols1; column += kTileRows) {
    UseTiles(std::min(kTileRows, sizes_.cols1 + 1 - column));
    for (size_t half = 0; half < 2; ++half) {
      for (size_t b = 0; b < kLaneBlocks; b += 2) {
        // Two rows at a time, the last perhaps on the border.
        for (size_t row = 1; row <= sizes_.rows1; row += 2) {
          float* sums = map_gradients + b * block + (row * sizes_.map_stride + column) * kLanes;
          float* lower = sums + sizes_.map_stride * kLanes;
          if (half == 0) {
            ZeroSums();
          } else {
            LoadSums(sums, sums + block, lower, lower + block, kRowBytes);
          }
          const uint16_t* right =
              backward_weights_.data() + (half * kLaneBlocks + b) * kSecondTaps * kTileSize;
          for (size_t k = 0; k < kSecondTaps; ++k, right += kTileSize) {
            const uint16_t* left =
                by_place_.data() + half * shape_.plane * kHalf +
                ((row + 1 - k / 3) * sizes_.map_stride + column + 1 - k % 3) * kHalf;
            AddProducts(left, left + sizes_.map_stride * kHalf, kRowBytes, right,
                        right + kSecondTaps * kTileSize, kRowBytes);
          }
          StoreSums(sums, sums + block, lower, lower + block, kRowBytes);
        }
      }
    }
  }
  amx::ReleaseTiles();
}

void TileSecond::Backward(size_t sample, const BlankRegions&, const Map* map, const float*,
                          const float* output_gradients, float* bias_gradients,
                          float* weight_gradients, float* map_gradients) {
  SpreadByPlace(sample, output_gradients);
  SpreadByChannel(sample, output_gradients, bias_gradients);
  MakePairs(map);
  AddWeightGradients(weight_gradients);
  DataGradient(map_gradients);
}

}  // namespace tacet::lab::kernels::conv
TACET_AFTER_NAMESPACE();
