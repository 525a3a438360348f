// Permission of the operating system to use the processor's tile registers (AMX).
#ifndef TACET_BASE_AMX_H_
#define TACET_BASE_AMX_H_

namespace tacet::base {

// Whether beside Simd::kAvx512 there are tiles and products of bf16 values in them (AMX), and the
// system lends them to this process, which the first call asks for. False where TACET_SIMD is set:
// each of its values means a set without tiles.
bool HasAmxBf16();

}  // namespace tacet::base

#endif  // TACET_BASE_AMX_H_
