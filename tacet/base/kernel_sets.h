// Choice among the versions of a table of kernels (docs/design/vector-code.md).
#ifndef TACET_BASE_KERNEL_SETS_H_
#define TACET_BASE_KERNEL_SETS_H_

#include <initializer_list>
#include <span>
#include <vector>

#include "tacet/base/cpu.h"

namespace tacet::base {

// The versions of `Kernels`, a struct of plain functions with a member `Target target`, that this
// processor can run.
template <typename Kernels>
class KernelSets {
 public:
  // `versions`: static tables, the scalar oracle first, then from the narrowest target to the
  // widest.
  KernelSets(std::initializer_list<const Kernels*> versions) {
    for (const Kernels* version : versions) {
      if (!HasTarget(version->target)) continue;
      available_.push_back(version);
      if (MayUse(version->target)) active_ = version;
    }
  }

  // The widest version that TACET_SIMD allows.
  const Kernels& active() const { return *active_; }
  // Every version, the oracle first, for tests and benchmarks.
  std::span<const Kernels* const> available() const { return available_; }

 private:
  std::vector<const Kernels*> available_;
  const Kernels* active_ = nullptr;
};

}  // namespace tacet::base

#endif  // TACET_BASE_KERNEL_SETS_H_
