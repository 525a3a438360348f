// Benchmarks whose first argument is a base::Simd.
#ifndef TACET_BENCH_CHOOSE_SIMD_H_
#define TACET_BENCH_CHOOSE_SIMD_H_

#include <string>

#include "benchmark/benchmark.h"

#include "tacet/base/cpu.h"

namespace tacet::bench {

// False, with a note, when this processor lacks the set.
inline bool Choose(benchmark::State& state, base::Simd& simd) {
  simd = static_cast<base::Simd>(state.range(0));
  state.SetLabel(std::string(base::SimdName(simd)));
  if (simd <= base::DetectedSimd()) return true;
  state.SkipWithError("this processor lacks the instruction set");
  return false;
}

}  // namespace tacet::bench

#endif  // TACET_BENCH_CHOOSE_SIMD_H_
