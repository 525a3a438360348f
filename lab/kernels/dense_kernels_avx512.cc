#include <algorithm>

#include "lab/kernels/avx512.h"
#include "lab/kernels/dense_kernels.h"

TACET_BEFORE_NAMESPACE(TACET_AVX512);
namespace tacet::lab::kernels::dense {
namespace {

constexpr size_t kLanes = 16;
constexpr size_t kInputBlock = 448;  // so much of 20 samples stays in the first-level cache

HWY_INLINE __m512 Load(const float* from) { return _mm512_load_ps(from); }

// The sums of four vectors.
HWY_INLINE __m128 SumEach(__m512 a, __m512 b, __m512 c, __m512 d) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const __m512 all =
      _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xee));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

constexpr size_t kForwardOutputs = 4;

// kSamples x 4 sums over a block of inputs, added to y. `rows` are the four outputs' weights.
template <size_t kSamples>
void ForwardTile(const Sizes& sizes, size_t block, const float* x,
                 const float* const (&rows)[kForwardOutputs], size_t outputs, float* y) {
  __m512 a[kSamples][kForwardOutputs];
  TACET_UNROLL
  for (size_t s = 0; s < kSamples; ++s) {
    TACET_UNROLL
    for (size_t o = 0; o < kForwardOutputs; ++o) a[s][o] = _mm512_setzero_ps();
  }
  const float* row0 = rows[0];
  const float* row1 = rows[1];
  const float* row2 = rows[2];
  const float* row3 = rows[3];
  for (size_t i = 0; i < block; i += kLanes) {
    const __m512 w0 = Load(row0 + i);
    const __m512 w1 = Load(row1 + i);
    const __m512 w2 = Load(row2 + i);
    const __m512 w3 = Load(row3 + i);
    TACET_UNROLL
    for (size_t s = 0; s < kSamples; ++s) {
      const __m512 value = Load(x + s * sizes.inputs + i);
      a[s][0] = _mm512_fmadd_ps(value, w0, a[s][0]);
      a[s][1] = _mm512_fmadd_ps(value, w1, a[s][1]);
      a[s][2] = _mm512_fmadd_ps(value, w2, a[s][2]);
      a[s][3] = _mm512_fmadd_ps(value, w3, a[s][3]);
    }
  }
  const auto some = static_cast<__mmask8>((1u << outputs) - 1);
  TACET_UNROLL
  for (size_t s = 0; s < kSamples; ++s) {
    const __m128 sums = SumEach(a[s][0], a[s][1], a[s][2], a[s][3]);
    float* to = y + s * sizes.outputs;
    _mm_mask_storeu_ps(to, some, _mm_add_ps(_mm_maskz_loadu_ps(some, to), sums));
  }
}

constexpr size_t kBlockVectors = 4;  // of inputs, in the backward pass

// x_gradients of kSamples samples in 32 inputs.
template <size_t kSamples>
void DataTile(const Sizes& sizes, const float* y_gradients, const float* weights,
              float* x_gradients) {
  __m512 a[kSamples][2];
  TACET_UNROLL
  for (size_t s = 0; s < kSamples; ++s) {
    a[s][0] = _mm512_setzero_ps();
    a[s][1] = _mm512_setzero_ps();
  }
  for (size_t o = 0; o < sizes.outputs; ++o, weights += sizes.inputs) {
    const __m512 low = Load(weights);
    const __m512 high = Load(weights + kLanes);
    TACET_UNROLL
    for (size_t s = 0; s < kSamples; ++s) {
      const __m512 g = _mm512_set1_ps(y_gradients[s * sizes.outputs + o]);
      a[s][0] = _mm512_fmadd_ps(g, low, a[s][0]);
      a[s][1] = _mm512_fmadd_ps(g, high, a[s][1]);
    }
  }
  TACET_UNROLL
  for (size_t s = 0; s < kSamples; ++s) {
    _mm512_store_ps(x_gradients + s * sizes.inputs, a[s][0]);
    _mm512_store_ps(x_gradients + s * sizes.inputs + kLanes, a[s][1]);
  }
}

// The step of kOutputs outputs' weights in 64 inputs; steps[sample][output] = -rate * gradient.
template <size_t kOutputs>
void WeightTile(const Sizes& sizes, const float* x, const float* steps, float* weights) {
  __m512 a[kOutputs][kBlockVectors];
  TACET_UNROLL
  for (size_t n = 0; n < kOutputs * kBlockVectors; ++n) {
    a[n / kBlockVectors][n % kBlockVectors] =
        Load(weights + n / kBlockVectors * sizes.inputs + n % kBlockVectors * kLanes);
  }
  for (size_t s = 0; s < sizes.batch; ++s, x += sizes.inputs, steps += sizes.outputs) {
    const __m512 x0 = Load(x);
    const __m512 x1 = Load(x + kLanes);
    const __m512 x2 = Load(x + 2 * kLanes);
    const __m512 x3 = Load(x + 3 * kLanes);
    TACET_UNROLL
    for (size_t o = 0; o < kOutputs; ++o) {
      const __m512 step = _mm512_set1_ps(steps[o]);
      a[o][0] = _mm512_fmadd_ps(step, x0, a[o][0]);
      a[o][1] = _mm512_fmadd_ps(step, x1, a[o][1]);
      a[o][2] = _mm512_fmadd_ps(step, x2, a[o][2]);
      a[o][3] = _mm512_fmadd_ps(step, x3, a[o][3]);
    }
  }
  TACET_UNROLL
  for (size_t n = 0; n < kOutputs * kBlockVectors; ++n) {
    _mm512_store_ps(weights + n / kBlockVectors * sizes.inputs + n % kBlockVectors * kLanes,
                    a[n / kBlockVectors][n % kBlockVectors]);
  }
}

constexpr size_t kSamplesTogether = 5;
constexpr size_t kDataSamples = 10;
constexpr size_t kWeightOutputs = 6;

}  // namespace

void Forward(const Sizes& sizes, const float* x, const float* weights, const float* biases,
             float* y) {
  for (size_t s = 0; s < sizes.batch; ++s)
    std::copy_n(biases, sizes.outputs, y + s * sizes.outputs);
  for (size_t i = 0; i < sizes.inputs; i += kInputBlock) {
    const size_t block = std::min(kInputBlock, sizes.inputs - i);
    for (size_t o = 0; o < sizes.outputs; o += kForwardOutputs) {
      const size_t outputs = std::min(kForwardOutputs, sizes.outputs - o);
      const float* rows[kForwardOutputs];
      for (size_t n = 0; n < kForwardOutputs; ++n) {
        rows[n] = weights + (o + std::min(n, outputs - 1)) * sizes.inputs + i;
      }
      size_t s = 0;
      for (; s + kSamplesTogether <= sizes.batch; s += kSamplesTogether) {
        ForwardTile<kSamplesTogether>(sizes, block, x + s * sizes.inputs + i, rows, outputs,
                                      y + s * sizes.outputs + o);
      }
      for (; s < sizes.batch; ++s) {
        ForwardTile<1>(sizes, block, x + s * sizes.inputs + i, rows, outputs,
                       y + s * sizes.outputs + o);
      }
    }
  }
}

void Backward(const Sizes& sizes, const float* x, const float* y_gradients, float learning_rate,
              float* weights, float* biases, float* x_gradients, float* scratch) {
  for (size_t n = 0; n < sizes.batch * sizes.outputs; ++n) {
    scratch[n] = -learning_rate * y_gradients[n];
  }
  for (size_t s = 0; s < sizes.batch; ++s) {
    for (size_t o = 0; o < sizes.outputs; ++o) biases[o] += scratch[s * sizes.outputs + o];
  }
  for (size_t i = 0; i < sizes.inputs; i += kUnit) {
    // The next columns of W, whose rows lie far apart.
    if (i + kUnit < sizes.inputs) {
      for (size_t o = 0; o < sizes.outputs; ++o) {
        const float* next = weights + o * sizes.inputs + i + kUnit;
        for (size_t n = 0; n < kBlockVectors; ++n) {
          _mm_prefetch(reinterpret_cast<const char*>(next + n * kLanes), _MM_HINT_T1);
        }
      }
    }
    for (size_t part = 0; part < kUnit; part += 2 * kLanes) {
      const float* columns = weights + i + part;
      size_t s = 0;
      for (; s + kDataSamples <= sizes.batch; s += kDataSamples) {
        DataTile<kDataSamples>(sizes, y_gradients + s * sizes.outputs, columns,
                               x_gradients + s * sizes.inputs + i + part);
      }
      for (; s + 4 <= sizes.batch; s += 4) {
        DataTile<4>(sizes, y_gradients + s * sizes.outputs, columns,
                    x_gradients + s * sizes.inputs + i + part);
      }
      for (; s < sizes.batch; ++s) {
        DataTile<1>(sizes, y_gradients + s * sizes.outputs, columns,
                    x_gradients + s * sizes.inputs + i + part);
      }
    }
    size_t o = 0;
    for (; o + kWeightOutputs <= sizes.outputs; o += kWeightOutputs) {
      WeightTile<kWeightOutputs>(sizes, x + i, scratch + o, weights + o * sizes.inputs + i);
    }
    for (; o < sizes.outputs; ++o) {
      WeightTile<1>(sizes, x + i, scratch + o, weights + o * sizes.inputs + i);
    }
  }
}

}  // namespace tacet::lab::kernels::dense
TACET_AFTER_NAMESPACE();
