#include "tacet/ring/kernels.h"

#include <vector>

namespace tacet::ring {
namespace {

std::vector<const Kernels*> Available() {
  std::vector<const Kernels*> sets = {&ScalarKernels()};
  if (base::DetectedSimd() >= base::Simd::kAvx2) sets.push_back(&Avx2Kernels());
  if (base::DetectedSimd() >= base::Simd::kAvx512) sets.push_back(&Avx512Kernels());
  if (base::HasAvx512Ifma()) sets.push_back(&Avx512IfmaKernels());
  return sets;
}

}  // namespace

const Kernels& ActiveKernels() {
  switch (base::ActiveSimd()) {
    case base::Simd::kAvx512:
      return base::HasAvx512Ifma() ? Avx512IfmaKernels() : Avx512Kernels();
    case base::Simd::kAvx2:
      return Avx2Kernels();
    case base::Simd::kScalar:
      break;
  }
  return ScalarKernels();
}

std::span<const Kernels* const> AvailableKernels() {
  static const std::vector<const Kernels*> sets = Available();
  return sets;
}

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
