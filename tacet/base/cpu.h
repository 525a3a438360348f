// Detection and choice of the instruction set that vector code uses.
#ifndef TACET_BASE_CPU_H_
#define TACET_BASE_CPU_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tacet::base {

enum class Simd { kScalar, kAvx2, kAvx512 };

// The widest set this processor has, lowered by TACET_SIMD=scalar|avx2|avx512 in the environment.
// Read once. An unknown value, or one the processor lacks, is reported by CheckSimdEnvironment()
// and otherwise ignored.
Simd ActiveSimd();
// The widest set of the processor itself.
Simd DetectedSimd();
std::string_view SimdName(Simd simd);

// Whether kAvx512 has AES on whole vectors too (VAES).
bool HasVectorAes();
// Whether kAvx512 has 52-bit integer multiply-add and counts bits too (IFMA and VPOPCNTDQ).
bool HasAvx512Ifma();

// InvalidArgument when TACET_SIMD asks for something that cannot be had; programs call it first.
absl::Status CheckSimdEnvironment();

// The processor's marketing name, for benchmark output.
std::string CpuModelName();

}  // namespace tacet::base

#endif  // TACET_BASE_CPU_H_
