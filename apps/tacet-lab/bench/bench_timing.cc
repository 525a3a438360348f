#include "apps/tacet-lab/bench/bench_timing.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "tacet/base/stopwatch.h"

namespace tacet::app::bench {

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double MedianSeconds(uint32_t repetitions, const std::function<void()>& work) {
  work();
  std::vector<double> seconds;
  for (uint32_t i = 0; i < repetitions; ++i) {
    const base::Stopwatch watch;
    work();
    seconds.push_back(watch.Seconds());
  }
  return Median(std::move(seconds));
}

double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace tacet::app::bench
