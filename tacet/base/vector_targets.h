// The targets of Highway that vector kernels are compiled for (docs/design/vector-code.md).
#ifndef TACET_BASE_VECTOR_TARGETS_H_
#define TACET_BASE_VECTOR_TARGETS_H_

#include "hwy/highway.h"

#include "tacet/base/target.h"

// Whether the code around, included by Highway's foreach_target, is compiled for such a target.
#define TACET_IS_VECTOR_TARGET \
  (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON)

// Ours for Highway's.
#define TACET_VECTOR_TARGET                                  \
  (HWY_TARGET == HWY_AVX2   ? ::tacet::base::Target::kAvx2   \
   : HWY_TARGET == HWY_AVX3 ? ::tacet::base::Target::kAvx512 \
                            : ::tacet::base::Target::kNeon)

// The addresses of the constant `name` of every such target, from the narrowest to the widest.
#if HWY_ARCH_X86
#define TACET_VECTOR_VERSIONS(name) &N_AVX2::name, &N_AVX3::name
#else
#define TACET_VECTOR_VERSIONS(name) &N_NEON::name
#endif

#endif  // TACET_BASE_VECTOR_TARGETS_H_
