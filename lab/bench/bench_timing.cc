#include "lab/bench/bench_timing.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "tacet/base/status.h"
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

double MedianThreadSeconds(uint32_t repetitions, const std::function<void()>& work) {
  constexpr double kMinSeconds = 1e-3;
  const auto seconds_of = [&work](uint64_t calls) {
    const double before = ThreadSeconds();
    for (uint64_t i = 0; i < calls; ++i) work();
    return ThreadSeconds() - before;
  };
  uint64_t calls = 1;
  while (seconds_of(calls) < kMinSeconds) calls *= 2;
  std::vector<double> seconds;
  for (uint32_t i = 0; i < repetitions; ++i) {
    seconds.push_back(seconds_of(calls) / static_cast<double>(calls));
  }
  return Median(std::move(seconds));
}

absl::Status CheckRepetitions(uint32_t repetitions) {
  if (repetitions >= 1 && repetitions <= 1001) return absl::OkStatus();
  return base::InvalidArgument("repetitions is {}, it must be from 1 to 1001", repetitions);
}

}  // namespace tacet::app::bench
