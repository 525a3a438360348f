// The two convolutions of femnist-cnn with their pools, forward and backward, in AVX-512: one
// sample at a time, in f32 or with bf16 dot products. (The second on tiles: conv_second.h.)
//
// Dense libraries cannot use one fact: max pooling lets the gradient of a convolution's output be
// non-zero in at most one position of four. The gradients of weights and inputs are sums over those
// positions only, formed in registers from lists.
//
// Notation: b a block of channels, i, j row and column of a map, k = 3 u + v (or 5 u + v) a tap of
// the kernel, c an input channel, o an output channel. All buffers are aligned to 64 bytes.
#ifndef TACET_LAB_KERNELS_CONV_KERNELS_H_
#define TACET_LAB_KERNELS_CONV_KERNELS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tacet::lab::kernels::conv {

inline constexpr size_t kFirstMaps = 128;  // output channels of the first convolution, 5 x 5
inline constexpr size_t kSecondMaps = 64;  // of the second, 3 x 3
inline constexpr size_t kBlock = 32;       // channels of a block of the first map
inline constexpr size_t kBlocks = kFirstMaps / kBlock;
inline constexpr size_t kLanes = 16;  // channels of a block of gradients and of the second weights
inline constexpr size_t kLaneBlocks = kFirstMaps / kLanes;
inline constexpr size_t kFirstTaps = 25;  // the bias stands behind them
inline constexpr size_t kFirstRow = 32;   // taps, bias, zeros
inline constexpr size_t kSecondTaps = 9;
inline constexpr size_t kTile = 14;      // columns of the second convolution done together
inline constexpr uint8_t kNoWinner = 4;  // of a pool: none of the four was above 0

constexpr size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

// Extents of everything, from those of the image.
struct Sizes {
  Sizes(size_t image_height, size_t image_width);

  size_t height, width;  // of the image
  // The image with two rows and columns of zeros around it, and more to the right.
  size_t image_rows, image_stride;
  // The first map behind its pool, and the same with a border of zeros.
  size_t rows1, cols1, map_rows, map_stride;
  // The second map behind its pool.
  size_t rows2, cols2;

  size_t image_size() const { return image_rows * image_stride; }
  size_t positions1() const { return rows1 * cols1; }
  size_t positions2() const { return rows2 * cols2; }
  size_t map_size() const { return kFirstMaps * map_rows * map_stride; }  // [b][i][j][kBlock]
  size_t outputs() const { return kSecondMaps * positions2(); }           // [o][i][j]
};

// Parameters as the kernels want them.
inline constexpr size_t kFirstSize = kBlocks * (kFirstTaps + 1) * kBlock;  // [b][k][c]
inline constexpr size_t kFirstGradientSize = kFirstMaps * kFirstRow;       // [c][k]
inline constexpr size_t kSecondSize = kFirstMaps * kSecondMaps * kSecondTaps;
// The second convolution's weights and their gradients lie as [b of kLanes][o][k][c].

// Input of the second convolution's forward pass, derived from its weights.
//   bf16  dot products over pairs of channels: [half of o][b of kBlock][k][c / 2][o][2]
//   f32   Winograd's F(2x2, 3x3) (Lavin and Gray 2016): the four results of a pool from 16 products
//         in place of 36, [16][half of o][c][o]
template <typename Map>
inline constexpr size_t kSecondForwardSize = kSecondSize;
template <>
inline constexpr size_t kSecondForwardSize<float> = 16 * kFirstMaps* kSecondMaps;
void SecondPrepare(const float* weights, float* forward);
void SecondPrepare(const float* weights, uint16_t* forward);
// Floats that the forward pass uses on its way.
template <typename Map>
size_t SecondScratchSize();

// The winners of a map: [i][j][channel], 0 to 3 in reading order of the four, or kNoWinner.

// The blank region of an image (all zeros), most of it in handwriting. There
// the first map depends on the biases alone, and the second, at pools whose inputs are blank, on
// the parameters and on how the pool touches the map's border: on its kind. Such positions are
// computed once for each kind, with the results that they have anyway; their gradients are added
// before they are used.
inline constexpr size_t kKinds = 9;
inline constexpr uint8_t kNotBlank = kKinds;
class BlankRegions {
 public:
  explicit BlankRegions(const Sizes& sizes)
      : first_(sizes.positions1()), second_(sizes.positions2()), columns_(sizes.image_stride) {}

  void Find(const Sizes& sizes, const float* image);

  // By pooled position of the first map: nothing written within the windows of its four values.
  bool first(size_t position) const { return first_[position] != 0; }
  // By pooled position of the second map: below kKinds, or kNotBlank.
  uint8_t second(size_t position) const { return second_[position]; }

 private:
  std::vector<uint8_t> first_, second_;
  std::vector<uint32_t> columns_;
};

// The second map's results on blank regions by kind, as far as they are known for the present
// parameters.
struct BlankOutputs {
  alignas(64) float values[kKinds][kSecondMaps];
  alignas(64) uint8_t winners[kKinds][kSecondMaps];
  std::array<bool, kKinds> known = {};
};

// `map` and `winner` = pool of relu of convolution of the padded image; the border of `map` is left
// alone. Map: float or bf16 (uint16_t), rounded to nearest even.
void FirstForward(const Sizes& sizes, const BlankRegions& regions, const float* image,
                  const float* weights, float* map, uint8_t* winner);
void FirstForward(const Sizes& sizes, const BlankRegions& regions, const float* image,
                  const float* weights, uint16_t* map, uint8_t* winner);

// `outputs` ([o][i][j]) and `winner` of the second convolution and pool; `weights` from
// SecondPrepare.
void SecondForward(const Sizes& sizes, const BlankRegions& regions, const float* map,
                   const float* weights, const float* biases, BlankOutputs& known, float* scratch,
                   float* outputs, uint8_t* winner);
void SecondForward(const Sizes& sizes, const BlankRegions& regions, const uint16_t* map,
                   const uint16_t* weights, const float* biases, BlankOutputs& known,
                   float* scratch, float* outputs, uint8_t* winner);

// Non-zero positions of the gradient of the second convolution's output, in two orders.
class SparseGradient {
 public:
  explicit SparseGradient(const Sizes& sizes);

  // Computed from the gradient of the pooled outputs, [o][i][j]. Those of blank regions are added
  // by kind and stand at the first position of each.
  void Gather(const Sizes& sizes, const BlankRegions& regions, const float* gradient,
              const uint8_t* winner);

  // sums[o] += the gradients of channel o.
  void AddByChannel(float* sums) const;

  struct Entry {
    uint32_t offset;  // in floats
    float value;
  };
  // By output channel: the place of the window's corner in a block of the padded map.
  const Entry* of_channel(size_t o) const { return by_channel_.data() + o * positions_; }
  size_t channel_count(size_t o) const { return channel_counts_[o]; }
  // By pooled position and winner q: the place of the channel's weights in a block of kLanes.
  const uint32_t* weight_offsets(size_t position) const {
    return weight_offsets_.data() + position * kStride;
  }
  const float* weight_values(size_t position) const {
    return weight_values_.data() + position * kStride;
  }
  // Entries of winners below q, q = 0..4.
  const uint8_t* ends(size_t position) const { return ends_.data() + position * 5; }

 private:
  static constexpr size_t kStride = kSecondMaps + kLanes;
  size_t positions_;
  std::vector<float> plain_;       // [position][o]
  std::vector<Entry> by_channel_;  // [o][position]
  std::array<size_t, kSecondMaps> channel_counts_ = {};
  std::vector<uint32_t> weight_offsets_;
  std::vector<float> weight_values_;
  std::vector<uint8_t> ends_;
};

// weight_gradients += the sample's; `scratch` holds a block of the map in floats.
void SecondWeightGradient(const Sizes& sizes, const float* map, const SparseGradient& gradient,
                          float* scratch, float* weight_gradients);
void SecondWeightGradient(const Sizes& sizes, const uint16_t* map, const SparseGradient& gradient,
                          float* scratch, float* weight_gradients);

// map_gradient = that of the padded first map, [b of kLanes][i][j][c]; its border is of no use.
void SecondDataGradient(const Sizes& sizes, const SparseGradient& gradient, const float* weights,
                        float* map_gradient);

// weights -= learning_rate * gradients.
void SecondUpdate(float learning_rate, const float* gradients, float* weights);

// weight_gradients ([c][k], the bias's at k = 25) += the sample's. `patches` is scratch of
// PatchesSize(sizes) floats.
size_t PatchesSize(const Sizes& sizes);
void FirstWeightGradient(const Sizes& sizes, const BlankRegions& regions, const float* image,
                         const float* map_gradient, const uint8_t* winner, float* patches,
                         float* weight_gradients);

// weights ([b][k][c]) -= learning_rate * gradients ([c][k]).
void FirstUpdate(float learning_rate, const float* gradients, float* weights);

}  // namespace tacet::lab::kernels::conv

#endif  // TACET_LAB_KERNELS_CONV_KERNELS_H_
