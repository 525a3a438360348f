// Second convolution of femnist-cnn with its ReLU and pool, forward and backward, and the values
// kept between the two passes. There is one class for each instruction set that computes the
// products; all classes have the same interface.
#ifndef TACET_LAB_KERNELS_CONV_SECOND_H_
#define TACET_LAB_KERNELS_CONV_SECOND_H_

#include <cstddef>
#include <cstdint>

#include "lab/kernels/aligned_buffer.h"
#include "lab/kernels/conv_kernels.h"

namespace tacet::lab::kernels::conv {

// On vectors: Winograd's products in f32 (Map float) or bf16 dot products (Map uint16_t) forward,
// gradients over the winners of the pool in f32.
template <typename MapValue>
class VectorSecond {
 public:
  using Map = MapValue;  // what the first map is kept in

  // For samples 0 to samples - 1; without training there is no Backward.
  VectorSecond(const Sizes& sizes, size_t samples, bool training)
      : sizes_(sizes),
        weights_(kSecondForwardSize<Map>),
        scratch_(SecondScratchSize<Map>()),
        winners_(samples * sizes.positions2() * kSecondMaps),
        block_(training ? sizes.map_size() / kBlocks : 0),
        sparse_(sizes) {}

  // To be called after `weights` changed.
  void Prepare(const float* weights) {
    SecondPrepare(weights, weights_.data());
    blank_outputs_.known.fill(false);
  }

  // `outputs` ([o][i][j]) of a sample from its first map.
  void Forward(size_t sample, const BlankRegions& regions, const Map* map, const float* biases,
               float* outputs) {
    SecondForward(sizes_, regions, map, weights_.data(), biases, blank_outputs_, scratch_.data(),
                  outputs, winners(sample));
  }

  // Computed from the gradients of a sample's outputs, after its Forward: adds to those of biases
  // ([o]) and weights, sets those of the padded first map ([b of kLanes][i][j][c]), whose border is
  // of no use.
  void Backward(size_t sample, const BlankRegions& regions, const Map* map, const float* weights,
                const float* output_gradients, float* bias_gradients, float* weight_gradients,
                float* map_gradients) {
    sparse_.Gather(sizes_, regions, output_gradients, winners(sample));
    sparse_.AddByChannel(bias_gradients);
    SecondWeightGradient(sizes_, map, sparse_, block_.data(), weight_gradients);
    SecondDataGradient(sizes_, sparse_, weights, map_gradients);
  }

 private:
  uint8_t* winners(size_t sample) {
    return winners_.data() + sample * sizes_.positions2() * kSecondMaps;
  }

  const Sizes sizes_;
  AlignedBuffer<Map> weights_;
  AlignedBuffer<float> scratch_;
  AlignedBuffer<uint8_t> winners_;
  AlignedBuffer<float> block_;
  SparseGradient sparse_;
  BlankOutputs blank_outputs_;
};

// On tiles (AMX): three dense products of bf16 values, f32 sums. Such a unit is so much faster than
// vectors are that leaving out the losers of the pool does not pay.
class TileSecond {
 public:
  using Map = uint16_t;

  TileSecond(const Sizes& sizes, size_t samples, bool training);

  void Prepare(const float* weights);
  void Forward(size_t sample, const BlankRegions& regions, const Map* map, const float* biases,
               float* outputs);
  void Backward(size_t sample, const BlankRegions& regions, const Map* map, const float* weights,
                const float* output_gradients, float* bias_gradients, float* weight_gradients,
                float* map_gradients);

 private:
  struct Shape {
    Shape(const Sizes& sizes, bool for_training);

    bool training;
    size_t outputs;  // of a sample
    size_t plane;    // places of the padded first map, row after row
    // Places of the second map before its pool, in rows of the first's stride.
    size_t gradient_places;
    size_t pairs_size;  // places / 2 that weight gradients read
  };
  // Positions of the pooled map.
  struct Box {
    size_t top, rows, left, columns;
  };
  // Sets values_ and winners in a box of at most 8 columns.
  void ForwardBox(const Box& box, const Map* map, const float* biases, uint8_t* winners);
  // `outputs` and winners_by_channel from values_ and winners_by_position.
  void StoreByChannel(size_t sample, float* outputs);
  // The gradient before the pool, to by_place_ and by_channel_.
  void SpreadByPlace(size_t sample, const float* output_gradients);
  void SpreadByChannel(size_t sample, const float* output_gradients, float* bias_gradients);
  void MakePairs(const Map* map);
  void AddWeightGradients(float* weight_gradients);
  void DataGradient(float* map_gradients);

  // Winners twice, for the two orders in which the backward pass wants them.
  uint8_t* winners_by_position(size_t sample) {  // [i][j][o]
    return winners_by_position_.data() + sample * shape_.outputs;
  }
  uint32_t* winners_by_channel(size_t sample) {  // [o][i][j]
    return winners_by_channel_.data() + sample * shape_.outputs;
  }

  const Sizes sizes_;
  const Shape shape_;
  AlignedBuffer<uint16_t> forward_weights_;   // as VectorSecond<uint16_t>'s
  AlignedBuffer<uint16_t> backward_weights_;  // [half of o][b of kLanes][k][o / 2][c][2]
  AlignedBuffer<float> sums_;                 // of half of o before the pool: [i][2][column][32]
  AlignedBuffer<float> values_;               // behind it: [i][j][o]
  AlignedBuffer<uint8_t> winners_by_position_;
  AlignedBuffer<uint32_t> winners_by_channel_;
  // The gradient before the pool: by place ([half of o][place][32], a border of zeros around the
  // map) and by channel ([o][place]).
  AlignedBuffer<uint16_t> by_place_;
  AlignedBuffer<uint16_t> by_channel_;
  // The first map, neighbours in a row interleaved: [first of the two is odd][b of kLanes][pair][c]
  // [2].
  AlignedBuffer<uint16_t> pairs_;
  BlankOutputs blank_outputs_;
};

}  // namespace tacet::lab::kernels::conv

#endif  // TACET_LAB_KERNELS_CONV_SECOND_H_
