#include "tacet/learning/conv_kernels.h"

namespace tacet::learning::conv {
namespace {

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

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

SparseGradient::SparseGradient(const Sizes& sizes)
    : positions_(sizes.positions2()),
      by_channel_(kSecondMaps * positions_),
      weight_offsets_(positions_ * kStride),
      weight_values_(positions_ * kStride),
      ends_(positions_ * 5) {}

void SparseGradient::AddByChannel(float* sums) const {
  for (size_t o = 0; o < kSecondMaps; ++o) {
    for (size_t n = 0; n < channel_count(o); ++n) sums[o] += of_channel(o)[n].value;
  }
}

}  // namespace tacet::learning::conv
