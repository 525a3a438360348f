#include "lab/kernels/conv_kernels.h"

#include <algorithm>
#include <bit>

namespace tacet::lab::kernels::conv {
// The kernels work on two pooled columns of the first map and kTile columns of the second at a
// time: what stands to the right of a narrower map is computed and left.
Sizes::Sizes(size_t image_height, size_t image_width)
    : height(image_height),
      width(image_width),
      image_rows(image_height + 4),
      image_stride(RoundUp(image_width + 4, 4)),
      rows1(image_height / 2),
      cols1(image_width / 2),
      map_rows(rows1 + 2),
      map_stride(RoundUp(cols1, kTile) + 2),
      rows2(rows1 / 2),
      cols2(cols1 / 2) {}

void BlankRegions::Find(const Sizes& sizes, const float* image) {
  for (size_t i = 0; i < sizes.rows1; ++i) {
    // The 6 x 6 inputs of a pool's four windows.
    std::fill(columns_.begin(), columns_.end(), 0u);
    for (size_t row = 2 * i; row < 2 * i + 6; ++row) {
      const float* pixels = image + row * sizes.image_stride;
      for (size_t n = 0; n < columns_.size(); ++n)
        columns_[n] |= std::bit_cast<uint32_t>(pixels[n]);
    }
    for (size_t j = 0; j < sizes.cols1; ++j) {
      uint32_t any = 0;
      for (size_t n = 2 * j; n < 2 * j + 6; ++n) any |= columns_[n];
      first_[i * sizes.cols1 + j] = any == 0;
    }
  }
  // The 4 x 4 places of the first map that a pool of the second reads; 0 where the map begins
  // within them, 1, or 2 where it ends.
  const auto border = [](size_t corner, size_t extent) -> size_t {
    return corner == 0 ? 0 : corner + 2 < extent ? 1 : 2;
  };
  for (size_t i = 0; i < sizes.rows2; ++i) {
    for (size_t j = 0; j < sizes.cols2; ++j) {
      bool blank = sizes.rows2 > 1 && sizes.cols2 > 1;  // else a pool may touch opposite borders
      for (size_t row = std::max<size_t>(2 * i, 1) - 1;
           row < std::min(2 * i + 3, sizes.rows1) && blank; ++row) {
        for (size_t column = std::max<size_t>(2 * j, 1) - 1;
             column < std::min(2 * j + 3, sizes.cols1); ++column) {
          blank = blank && first(row * sizes.cols1 + column);
        }
      }
      second_[i * sizes.cols2 + j] =
          blank ? static_cast<uint8_t>(3 * border(2 * i, sizes.rows1) + border(2 * j, sizes.cols1))
                : kNotBlank;
    }
  }
}

SparseGradient::SparseGradient(const Sizes& sizes)
    : positions_(sizes.positions2()),
      plain_(positions_ * kSecondMaps),
      by_channel_(kSecondMaps * positions_),
      weight_offsets_(positions_ * kStride),
      weight_values_(positions_ * kStride),
      ends_(positions_ * 5) {}

void SparseGradient::AddByChannel(float* sums) const {
  for (size_t o = 0; o < kSecondMaps; ++o) {
    for (size_t n = 0; n < channel_count(o); ++n) sums[o] += of_channel(o)[n].value;
  }
}

}  // namespace tacet::lab::kernels::conv
