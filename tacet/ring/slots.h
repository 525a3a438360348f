// Packing: several values in the slots of one integer.
//
// L values v_0, ..., v_{L-1} with w bits a slot make m = Σ_l v_l 2^(w l), an integer that is never
// reduced: values larger than a slot carry into the next, and sums of such integers are the integer
// of the sums. Value i is in coefficient i / L, slot i mod L.
#ifndef TACET_RING_SLOTS_H_
#define TACET_RING_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/ring/modulus.h"

namespace tacet::ring {

// Σ_l values[l] 2^(bits l). The caller's plan keeps it below 2^127.
template <typename Value>
Int128 PackSlots(std::span<const Value> values, uint32_t bits) {
  Int128 packed = 0;
  for (size_t l = values.size(); l-- > 0;) packed = (packed << bits) + values[l];
  return packed;
}

// The one way to write m = Σ_l slots[l] 2^(bits l) with every slot but the rest in
// [-2^(bits-1), 2^(bits-1) - 1], lowest slot first; what does not fit the last slot is dropped.
// 1 <= bits <= 63. Neither branches nor divides.
template <typename Value>
void UnpackSlots(Int128 m, uint32_t bits, std::span<Value> slots) {
  const uint32_t unused = 64 - bits;
  for (Value& slot : slots) {
    // The low `bits` bits, sign-extended.
    const int64_t value = static_cast<int64_t>(static_cast<uint64_t>(m) << unused) >> unused;
    slot = static_cast<Value>(value);
    m = (m - value) >> bits;
  }
}

// m nearest to phase / 2^bits: floor(phase / 2^bits + 1/2).
constexpr Int128 RoundToMultiple(Int128 phase, uint32_t bits) {
  return (phase + (Int128{1} << (bits - 1))) >> bits;
}

}  // namespace tacet::ring

#endif  // TACET_RING_SLOTS_H_
