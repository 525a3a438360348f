// Loops over the words of uploads and counts: adding, checking and authenticating, once for every
// instruction set. They use integers only, so all sets give the same bytes; the scalar loops
// (sum_kernels_scalar.cc) are the oracle.
#ifndef TACET_HE_SUM_KERNELS_H_
#define TACET_HE_SUM_KERNELS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/base/target.h"
#include "tacet/he/word_sums.h"

namespace tacet::he {

// Uploads that are added in one pass over the sum: the sum of a large update does not stay in the
// second-level cache, so that its way there and back costs more than an upload's own words.
inline constexpr size_t kAddedAtOnce = 4;

// Elements of a field of 50 bits in two limbs of 25 bits, in arrays of their own (field_row.h):
// products with 32-bit words stay below 2^57, and 128 of them fit a 64-bit lane.
inline constexpr size_t kLimbs = 2;
inline constexpr uint32_t kLimbBits = 25;
inline constexpr size_t kRowsAtOnce = 4;
using LimbProducts = std::array<unsigned __int128, kLimbs>;

struct SumKernels {
  base::Target target = base::Target::kScalar;

  // sums[i] += Σ_u w_u[i] for i < words, where w_u[i] are little-endian u32 at sources[u] + 4 i,
  // u < count <= kAddedAtOnce; of_sources[u] become the sums of w_u.
  void (*add_words)(const uint8_t* const* sources, size_t count, size_t words, uint64_t* sums,
                    WordSums* of_sources) = nullptr;
  // Without adding them anywhere.
  WordSums (*sum_words)(const uint8_t* bytes, size_t words) = nullptr;
  // The largest word; 0 of none.
  uint32_t (*largest_word)(const uint8_t* bytes, size_t words) = nullptr;
  // products[r][limb] = Σ_b limbs[limb stride + b] rows[r][b] for b < size <= 4096, exactly, for
  // `count` <= kRowsAtOnce rows: the limbs are loaded once for all of them.
  void (*limb_products)(const uint32_t* limbs, size_t stride, const uint32_t* const* rows,
                        size_t count, size_t size, LimbProducts* products) = nullptr;
};

// Choice at run time (base/kernel_sets.h): the widest version that may be used, and every version
// of this processor.
const SumKernels& ActiveSumKernels();
std::span<const SumKernels* const> AvailableSumKernels();

// The versions themselves, those on vectors from the narrowest to the widest.
const SumKernels& ScalarSumKernels();
std::span<const SumKernels* const> VectorSumKernels();

}  // namespace tacet::he

#endif  // TACET_HE_SUM_KERNELS_H_
