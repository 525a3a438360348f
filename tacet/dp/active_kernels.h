// Choice of the inner loops at run time, for interfaces that only pass it on.
#ifndef TACET_DP_ACTIVE_KERNELS_H_
#define TACET_DP_ACTIVE_KERNELS_H_

namespace tacet::dp {

struct Kernels;  // dp/kernels.h

// The widest version that may be used (base/kernel_sets.h).
const Kernels& ActiveKernels();

}  // namespace tacet::dp

#endif  // TACET_DP_ACTIVE_KERNELS_H_
