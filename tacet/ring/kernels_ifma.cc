// The kernels on vectors of 52-bit integers: AVX-512 with IFMA and VPOPCNTDQ, which Highway's own
// targets do not name.
#include "tacet/base/target_attributes.h"
#include "tacet/ring/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tacet/ring/kernels_ifma.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#if HWY_TARGET == HWY_AVX3
#define TACET_RING_NAMESPACE avx512_ifma
#define TACET_RING_TARGET base::Target::kAvx512Ifma
#define TACET_RING_BEFORE_NAMESPACE() \
  TACET_BEFORE_NAMESPACE(HWY_TARGET_STR ",avx512ifma,avx512vpopcntdq")
#define TACET_RING_AFTER_NAMESPACE TACET_AFTER_NAMESPACE
// Each stands on those before.
// clang-format off
#include "tacet/ring/vectors-inl.h"
#include "tacet/ring/field_ifma-inl.h"
#include "tacet/ring/transform-inl.h"
#include "tacet/ring/coefficients-inl.h"
// clang-format on
#endif  // HWY_TARGET == HWY_AVX3

#if HWY_ONCE
namespace tacet::ring {

const Kernels& Avx512IfmaKernels() { return avx512_ifma::kKernels; }

}  // namespace tacet::ring
#endif  // HWY_ONCE
