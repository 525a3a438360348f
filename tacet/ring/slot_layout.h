// Place of the values of an update in the coefficients of a polynomial.
#ifndef TACET_RING_SLOT_LAYOUT_H_
#define TACET_RING_SLOT_LAYOUT_H_

#include <cstdint>

namespace tacet::ring {

// Layout of the values in a coefficient: slot l holds bits kappa + w l ... of it (he/compact.h).
struct SlotLayout {
  uint32_t slots = 0;       // L, 1 to kMaxSlots
  uint32_t slot_bits = 0;   // w, 8 to 54
  uint32_t scale_bits = 0;  // kappa, 1 to 17; kappa + w L <= 100
};
inline constexpr uint32_t kMaxSlots = 12;

}  // namespace tacet::ring

#endif  // TACET_RING_SLOT_LAYOUT_H_
