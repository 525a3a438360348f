#include "tacet/models/lane_kernels.h"

#include "tacet/base/kernel_sets.h"

namespace tacet::models::lanes {
namespace {

const base::KernelSets<Kernels>& Sets() {
  static const base::KernelSets<Kernels> sets(ScalarKernels(), VectorKernels());
  return sets;
}

}  // namespace

const Kernels& ActiveKernels() { return Sets().active(); }
std::span<const Kernels* const> AvailableKernels() { return Sets().available(); }

}  // namespace tacet::models::lanes
