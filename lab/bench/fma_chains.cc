#include "lab/bench/fma_chains.h"

#include "tacet/base/kernel_sets.h"

namespace tacet::app::bench {
namespace {

double Run() {
  double x[kChains] = {};
  for (size_t step = 0; step < kChainSteps; ++step) {
    for (double& value : x) {
      value = value * 0.5 + 1;
      asm("" : "+x"(value));  // one by one: this is the rate without vectors
    }
  }
  double sum = 0;
  for (const double value : x) sum += value;
  return sum;
}

constexpr FmaChains kScalar = {.target = base::Target::kScalar, .lanes = 1, .run = Run};

}  // namespace

const FmaChains& ScalarFmaChains() { return kScalar; }

const FmaChains& ActiveFmaChains() {
  static const base::KernelSets<FmaChains> sets(ScalarFmaChains(), VectorFmaChains());
  return sets.active();
}

}  // namespace tacet::app::bench
