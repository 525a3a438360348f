// Times of repeated work.
#ifndef TACET_LAB_BENCH_BENCH_TIMING_H_
#define TACET_LAB_BENCH_BENCH_TIMING_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"

namespace tacet::app::bench {

// The middle one (the upper of two); `values` is not empty.
double Median(std::vector<double> values);

// Seconds of one call of `work`: the median of `repetitions` after one that is not counted, which
// warms caches and memory.
double MedianSeconds(uint32_t repetitions, const std::function<void()>& work);

// Processor time of the calling thread: what others run meanwhile does not count.
double ThreadSeconds();

// Processor time of one call of `work`, which may take less than a microsecond: the median over
// `repetitions` of the mean over as many calls as take about a millisecond.
double MedianThreadSeconds(uint32_t repetitions, const std::function<void()>& work);

// InvalidArgument unless `repetitions` is from 1 to 1001.
absl::Status CheckRepetitions(uint32_t repetitions);

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_BENCH_TIMING_H_
