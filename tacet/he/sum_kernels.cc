#include "tacet/he/sum_kernels.h"

#include "tacet/base/kernel_sets.h"

namespace tacet::he {
namespace {

const base::KernelSets<SumKernels>& Sets() {
  static const base::KernelSets<SumKernels> sets(ScalarSumKernels(), VectorSumKernels());
  return sets;
}

}  // namespace

const SumKernels& ActiveSumKernels() { return Sets().active(); }
std::span<const SumKernels* const> AvailableSumKernels() { return Sets().available(); }

}  // namespace tacet::he
