// The kernels on vectors of double, compiled once for AVX2 and once for AVX-512 (Highway's AVX3).
#include "tacet/ring/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tacet/ring/kernels_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#undef TACET_RING_NAMESPACE
#undef TACET_RING_TARGET
#if HWY_TARGET == HWY_AVX2
#define TACET_RING_NAMESPACE avx2
#define TACET_RING_TARGET base::Target::kAvx2
#else
#define TACET_RING_NAMESPACE avx512
#define TACET_RING_TARGET base::Target::kAvx512
#endif
#define TACET_RING_BEFORE_NAMESPACE HWY_BEFORE_NAMESPACE
#define TACET_RING_AFTER_NAMESPACE HWY_AFTER_NAMESPACE
// Each stands on those before.
// clang-format off
#include "tacet/ring/vectors-inl.h"
#include "tacet/ring/field_fma-inl.h"
#include "tacet/ring/transform-inl.h"
#include "tacet/ring/coefficients-inl.h"
// clang-format on
#endif  // HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

#if HWY_ONCE
namespace tacet::ring {

const Kernels& Avx2Kernels() { return avx2::kKernels; }
const Kernels& Avx512Kernels() { return avx512::kKernels; }

}  // namespace tacet::ring
#endif  // HWY_ONCE
