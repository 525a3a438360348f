#include "tacet/models/max_pool.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace tacet::models {
namespace {

// Calls visit(offset of the four's first source, offset of the result) for runs of `inner` values.
template <typename Visit>
void ForEachFour(const PoolShape& shape, const Visit& visit) {
  const size_t row = shape.width * shape.inner;
  size_t result = 0;
  for (size_t map = 0; map < shape.outer; ++map) {
    for (size_t i = 0; i + 1 < shape.height; i += 2) {
      const size_t first = (map * shape.height + i) * row;
      for (size_t j = 0; j + 1 < shape.width; j += 2) {
        visit(first + j * shape.inner, result);
        result += shape.inner;
      }
    }
  }
}

// The loops over `inner` choose by masks of bits, which compilers turn into vector code.
uint32_t Mask(bool condition) { return 0u - static_cast<uint32_t>(condition); }

uint32_t Select(uint32_t mask, uint32_t yes, uint32_t no) { return (yes & mask) | (no & ~mask); }

template <size_t kInner>
void PoolRun(size_t inner, float floor, const float* __restrict top, const float* __restrict bottom,
             float* __restrict result, int32_t* __restrict winner) {
  const size_t count = kInner != 0 ? kInner : inner;
  for (size_t i = 0; i < count; ++i) {
    float best = floor;
    uint32_t index = 4;
    const float values[4] = {top[i], top[count + i], bottom[i], bottom[count + i]};
    for (uint32_t k = 0; k < 4; ++k) {
      const uint32_t larger = Mask(values[k] > best);
      index = Select(larger, k, index);
      best = std::bit_cast<float>(
          Select(larger, std::bit_cast<uint32_t>(values[k]), std::bit_cast<uint32_t>(best)));
    }
    result[i] = best;
    winner[i] = static_cast<int32_t>(index);
  }
}

template <size_t kInner>
void SpreadRun(size_t inner, const float* __restrict gradient, const int32_t* __restrict winner,
               float* __restrict top, float* __restrict bottom) {
  const size_t count = kInner != 0 ? kInner : inner;
  for (size_t i = 0; i < count; ++i) {
    const auto value = std::bit_cast<uint32_t>(gradient[i]);
    const int32_t index = winner[i];
    top[i] = std::bit_cast<float>(value & Mask(index == 0));
    top[count + i] = std::bit_cast<float>(value & Mask(index == 1));
    bottom[i] = std::bit_cast<float>(value & Mask(index == 2));
    bottom[count + i] = std::bit_cast<float>(value & Mask(index == 3));
  }
}

}  // namespace

void MaxPool(const PoolShape& shape, bool relu, const float* source, float* result,
             int32_t* winner) {
  const float floor = relu ? 0.0f : -std::numeric_limits<float>::infinity();
  const size_t row = shape.width * shape.inner;
  ForEachFour(shape, [&](size_t from, size_t to) {
    if (shape.inner == 16) {
      PoolRun<16>(16, floor, source + from, source + from + row, result + to, winner + to);
    } else {
      PoolRun<0>(shape.inner, floor, source + from, source + from + row, result + to, winner + to);
    }
  });
}

void MaxPoolBackward(const PoolShape& shape, const float* gradient, const int32_t* winner,
                     float* source_gradient) {
  const size_t row = shape.width * shape.inner;
  if (shape.height % 2 != 0 || shape.width % 2 != 0) {
    std::fill_n(source_gradient, shape.outer * shape.height * row, 0.0f);
  }
  ForEachFour(shape, [&](size_t from, size_t to) {
    if (shape.inner == 16) {
      SpreadRun<16>(16, gradient + to, winner + to, source_gradient + from,
                    source_gradient + from + row);
    } else {
      SpreadRun<0>(shape.inner, gradient + to, winner + to, source_gradient + from,
                   source_gradient + from + row);
    }
  });
}

}  // namespace tacet::models
