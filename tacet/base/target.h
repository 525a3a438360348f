// Names of the instruction sets that vector code uses. cpu.h detects them.
#ifndef TACET_BASE_TARGET_H_
#define TACET_BASE_TARGET_H_

namespace tacet::base {

// The instruction sets that code exists for: the levels of ARM and of x86-64, and extensions of
// AVX-512.
enum class Target {
  kScalar,
  kNeon,  // with fused multiply-add: every ARM processor of 64 bits
  kAvx2,
  kAvx512,
  kAvx512Ifma,  // 52-bit integer multiply-add, and counting bits (VPOPCNTDQ)
  kAvx512Vaes,  // AES on whole vectors
  kAvx512Bf16,  // dot products of bf16 values
  kAmxBf16,     // products of tiles of bf16 values, lent to the process by the system
};

}  // namespace tacet::base

#endif  // TACET_BASE_TARGET_H_
