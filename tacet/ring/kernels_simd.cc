// The kernels on vectors of double, compiled for AVX2 and AVX-512 (Highway's AVX3), or for NEON.
#include "tacet/ring/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tacet/ring/kernels_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "tacet/base/vector_targets.h"

#if TACET_IS_VECTOR_TARGET
#undef TACET_RING_NAMESPACE
#undef TACET_RING_TARGET
#define TACET_RING_NAMESPACE HWY_NAMESPACE
#define TACET_RING_TARGET TACET_VECTOR_TARGET
#define TACET_RING_BEFORE_NAMESPACE HWY_BEFORE_NAMESPACE
#define TACET_RING_AFTER_NAMESPACE HWY_AFTER_NAMESPACE
// Each stands on those before.
// clang-format off
#include "tacet/ring/vectors-inl.h"
#include "tacet/ring/field_fma-inl.h"
#include "tacet/ring/transform-inl.h"
#include "tacet/ring/coefficients-inl.h"
// clang-format on
#endif  // TACET_IS_VECTOR_TARGET

#if HWY_ONCE
namespace tacet::ring {

std::span<const Kernels* const> VectorKernels() {
  static constexpr const Kernels* kVersions[] = {TACET_VECTOR_VERSIONS(kKernels)};
  return kVersions;
}

}  // namespace tacet::ring
#endif  // HWY_ONCE
