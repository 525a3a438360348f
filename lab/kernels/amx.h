// Products of tiles (AMX): registers of 16 rows of 64 bytes. One instruction adds the product of
// two of them (16 x 32 bf16 by 32 x 16, whose neighbouring rows are interleaved) to a third (16 x
// 16 f32); an element's sum is formed in the order of the 32 values, whatever the other elements
// are (Intel's Software Developer's Manual, TDPBF16PS). Only for base::Target::kAmxBf16.
//
// Each step here is two tiles by two, four products: of what it loads every tile is used twice.
#ifndef TACET_LAB_KERNELS_AMX_H_
#define TACET_LAB_KERNELS_AMX_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "lab/kernels/avx512.h"

#define TACET_AMX TACET_AVX512 ",avx512bf16,amx-tile,amx-bf16"

TACET_BEFORE_NAMESPACE(TACET_AMX);
namespace tacet::lab::kernels::amx {

inline constexpr size_t kTileRows = 16;
inline constexpr size_t kTileDepth = 32;                     // bf16 values in a row
inline constexpr size_t kTileSize = kTileRows * kTileDepth;  // of bf16 values
inline constexpr size_t kRowBytes = 64;

// Operand of LDTILECFG.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  std::array<uint8_t, 14> reserved = {};
  std::array<uint16_t, 16> row_bytes = {};
  std::array<uint8_t, 16> rows = {};
};
static_assert(sizeof(TileConfig) == 64);

// Tiles 0 to 3 are sums, 4 and 5 the left factors, both of so many rows, 6 and 7 the right ones.
inline constexpr std::array<TileConfig, kTileRows + 1> kConfigs = [] {
  std::array<TileConfig, kTileRows + 1> configs;
  for (size_t rows = 1; rows <= kTileRows; ++rows) {
    for (size_t tile = 0; tile < 8; ++tile) {
      configs[rows].row_bytes[tile] = kRowBytes;
      configs[rows].rows[tile] = static_cast<uint8_t>(tile < 6 ? rows : kTileRows);
    }
  }
  return configs;
}();

// To be called between writing memory and loading tiles from it: compilers do not see that such a
// load reads.
HWY_INLINE void MemoryIsWritten() { asm volatile("" ::: "memory"); }

HWY_INLINE void UseTiles(size_t rows) {
  MemoryIsWritten();
  _tile_loadconfig(&kConfigs[rows]);
}
HWY_INLINE void ReleaseTiles() { _tile_release(); }

HWY_INLINE void ZeroSums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}
// Rows lie so many bytes apart. a, b: of the first left factor, c, d: of the second.
HWY_INLINE void LoadSums(const float* a, const float* b, const float* c, const float* d,
                         size_t bytes) {
  _tile_loadd(0, a, bytes);
  _tile_loadd(1, b, bytes);
  _tile_loadd(2, c, bytes);
  _tile_loadd(3, d, bytes);
}
HWY_INLINE void StoreSums(float* a, float* b, float* c, float* d, size_t bytes) {
  _tile_stored(0, a, bytes);
  _tile_stored(1, b, bytes);
  _tile_stored(2, c, bytes);
  _tile_stored(3, d, bytes);
}

HWY_INLINE void AddProducts(const uint16_t* left0, const uint16_t* left1, size_t left_bytes,
                            const uint16_t* right0, const uint16_t* right1, size_t right_bytes) {
  _tile_loadd(6, right0, right_bytes);
  _tile_loadd(4, left0, left_bytes);
  _tile_dpbf16ps(0, 4, 6);
  _tile_loadd(7, right1, right_bytes);
  _tile_dpbf16ps(1, 4, 7);
  _tile_loadd(5, left1, left_bytes);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

}  // namespace tacet::lab::kernels::amx
TACET_AFTER_NAMESPACE();

#endif  // TACET_LAB_KERNELS_AMX_H_
