// Detection and choice of the instruction sets that vector code uses.
#ifndef TACET_BASE_CPU_H_
#define TACET_BASE_CPU_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "tacet/base/target.h"

namespace tacet::base {

// The levels that TACET_SIMD can name: kNeon of ARM, kAvx2 and kAvx512 of x86-64.
enum class Simd { kScalar, kNeon, kAvx2, kAvx512 };

// The widest level of the processor, lowered by TACET_SIMD=scalar|neon|avx2|avx512 in the
// environment.
// Read once. CheckSimdEnvironment() reports an unknown value, or one the processor lacks; this
// function ignores it.
Simd ActiveSimd();
// The widest level of the processor itself.
Simd DetectedSimd();
std::string_view SimdName(Simd simd);

// Whether the processor and the system have `target`. The first call for kAmxBf16 asks the system
// for permission.
bool HasTarget(Target target);
// Whether TACET_SIMD allows it too. A level allows its extensions, except that tiles are used only
// where TACET_SIMD is not set.
bool MayUse(Target target);
// "scalar", "neon", "avx2", "avx512", "avx512-ifma", ...
std::string_view TargetName(Target target);

// InvalidArgument when TACET_SIMD asks for something that cannot be had; programs call it first.
absl::Status CheckSimdEnvironment();

// The processor's marketing name, for benchmark output.
std::string CpuModelName();

}  // namespace tacet::base

#endif  // TACET_BASE_CPU_H_
