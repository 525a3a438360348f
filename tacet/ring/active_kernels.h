// Choice of the inner loops at run time, for interfaces that only pass it on.
#ifndef TACET_RING_ACTIVE_KERNELS_H_
#define TACET_RING_ACTIVE_KERNELS_H_

namespace tacet::ring {

struct Kernels;  // ring/kernels.h

// The widest version that may be used (base/kernel_sets.h).
const Kernels& ActiveKernels();

}  // namespace tacet::ring

#endif  // TACET_RING_ACTIVE_KERNELS_H_
