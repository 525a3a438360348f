// The chains on vectors, compiled for AVX2 and AVX-512 (Highway's AVX3), or for NEON.
#include "lab/bench/fma_chains.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lab/bench/fma_chains_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "tacet/base/vector_targets.h"

#if TACET_IS_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace tacet::app::bench::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;

double Run() {
  hn::Vec<D> x[kChains];
  for (auto& value : x) value = hn::Zero(D());
  const auto half = hn::Set(D(), 0.5);
  const auto one = hn::Set(D(), 1.0);
  for (size_t step = 0; step < kChainSteps; ++step) {
    for (auto& value : x) value = hn::MulAdd(value, half, one);
  }
  for (size_t i = 1; i < kChains; ++i) x[0] = hn::Add(x[0], x[i]);
  return hn::GetLane(x[0]);
}

constexpr FmaChains kChainsOfTarget = {
    .target = TACET_VECTOR_TARGET, .lanes = hn::MaxLanes(D()), .run = Run};

}  // namespace tacet::app::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TACET_IS_VECTOR_TARGET

#if HWY_ONCE
namespace tacet::app::bench {

std::span<const FmaChains* const> VectorFmaChains() {
  static constexpr const FmaChains* kVersions[] = {TACET_VECTOR_VERSIONS(kChainsOfTarget)};
  return kVersions;
}

}  // namespace tacet::app::bench
#endif  // HWY_ONCE
