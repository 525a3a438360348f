// First convolution of femnist-cnn with its ReLU and pool, forward. There is one class for each
// instruction set that computes the products; all classes have the same interface.
#ifndef TACET_LAB_KERNELS_CONV_FIRST_H_
#define TACET_LAB_KERNELS_CONV_FIRST_H_

#include <cstddef>
#include <cstdint>

#include "lab/kernels/aligned_buffer.h"
#include "lab/kernels/conv_kernels.h"

namespace tacet::lab::kernels::conv {

// On vectors, in f32; MapValue is what the first map is kept in (float, or uint16_t for bf16).
template <typename MapValue>
class VectorFirst {
 public:
  using Map = MapValue;

  explicit VectorFirst(const Sizes& sizes) : sizes_(sizes) {}

  // To be called after weights ([b of kBlock][k][c], the biases at k = 25) changed.
  void Prepare(const float*) {}

  // `map` and `winner` = pool of relu of convolution of the padded image; the border of `map` is
  // left alone.
  void Forward(const BlankRegions& regions, const float* image, const float* weights, Map* map,
               uint8_t* winner) {
    FirstForward(sizes_, regions, image, weights, map, winner);
  }

 private:
  const Sizes sizes_;
};

// On tiles (AMX): products of bf16 pixels and weights; the biases are added in f32.
class TileFirst {
 public:
  using Map = uint16_t;

  explicit TileFirst(const Sizes& sizes);

  void Prepare(const float* weights);
  void Forward(const BlankRegions& regions, const float* image, const float* weights, Map* map,
               uint8_t* winner);

 private:
  void MakePatches(size_t position, uint16_t* patches);
  void ForwardPools(const size_t* positions, size_t count, const float* weights, Map* map,
                    uint8_t* winner);
  Map* At(Map* map, size_t b, size_t position) const;

  const Sizes sizes_;
  AlignedBuffer<uint16_t> weights_;  // [b of kLanes][k / 2][c][2], zeros behind the taps
  AlignedBuffer<uint16_t> image_;
  AlignedBuffer<uint16_t> patches_;  // [pool][q][k]
  AlignedBuffer<float> sums_;        // [pool][q][c]
};

}  // namespace tacet::lab::kernels::conv

#endif  // TACET_LAB_KERNELS_CONV_FIRST_H_
