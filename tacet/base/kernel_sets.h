// Choice among the versions of a table of kernels (docs/design/vector-code.md).
#ifndef TACET_BASE_KERNEL_SETS_H_
#define TACET_BASE_KERNEL_SETS_H_

#include <span>
#include <vector>

#include "tacet/base/cpu.h"

namespace tacet::base {

// The versions of `Kernels`, a struct of plain functions with a member `Target target`, that this
// processor can run.
template <typename Kernels>
class KernelSets {
 public:
  // Static tables: the scalar oracle, and versions from the narrowest target to the widest.
  explicit KernelSets(const Kernels& oracle, std::span<const Kernels* const> vectors = {})
      : available_{&oracle}, active_(&oracle) {
    for (const Kernels* version : vectors) {
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
  const Kernels* active_;
};

}  // namespace tacet::base

#endif  // TACET_BASE_KERNEL_SETS_H_
