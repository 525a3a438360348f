#include "tacet/ring/kernels.h"

#include <vector>

#include "tacet/base/kernel_sets.h"

namespace tacet::ring {
namespace {

std::vector<const Kernels*> AllVectorKernels() {
  const std::span<const Kernels* const> vectors = VectorKernels();
  std::vector<const Kernels*> all(vectors.begin(), vectors.end());
#if defined(__x86_64__)
  all.push_back(&Avx512IfmaKernels());
#endif
  return all;
}

const base::KernelSets<Kernels>& Sets() {
  static const base::KernelSets<Kernels> sets(ScalarKernels(), AllVectorKernels());
  return sets;
}

}  // namespace

const Kernels& ActiveKernels() { return Sets().active(); }
std::span<const Kernels* const> AvailableKernels() { return Sets().available(); }

AlignedWords ArrangeRoots(std::span<const uint64_t> roots, size_t lanes) {
  AlignedWords arranged(roots.begin(), roots.end());
  for (size_t half = 1; half < lanes; half *= 2) {
    const size_t rows = lanes / (2 * half);
    const size_t blocks = roots.size() / (2 * half);
    for (size_t block = 0; block < blocks; ++block) {
      const size_t square = block / (rows * lanes);
      const size_t lane = block / rows % lanes;
      const size_t row = block % rows;
      arranged[blocks + square * rows * lanes + row * lanes + lane] = roots[blocks + block];
    }
  }
  return arranged;
}

}  // namespace tacet::ring
