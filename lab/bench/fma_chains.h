// Independent chains of double multiply-adds x <- x/2 + 1: the peak rate of a core's arithmetic.
#ifndef TACET_LAB_BENCH_FMA_CHAINS_H_
#define TACET_LAB_BENCH_FMA_CHAINS_H_

#include <cstddef>
#include <span>

#include "tacet/base/target.h"

namespace tacet::app::bench {

inline constexpr size_t kChains = 10;  // latency 4 or 5, two units
inline constexpr size_t kChainSteps = 1 << 20;

struct FmaChains {
  base::Target target = base::Target::kScalar;
  size_t lanes = 1;           // doubles in a chain
  double (*run)() = nullptr;  // kChainSteps steps of kChains chains; gives a use for the result
};

// The widest version that may be used (base/kernel_sets.h).
const FmaChains& ActiveFmaChains();

// The versions themselves, those on vectors from the narrowest to the widest.
const FmaChains& ScalarFmaChains();
std::span<const FmaChains* const> VectorFmaChains();

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_FMA_CHAINS_H_
