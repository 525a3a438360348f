// Wall time for reports.
#ifndef TACET_BASE_STOPWATCH_H_
#define TACET_BASE_STOPWATCH_H_

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tacet::base {

// Seconds since construction or the last Restart().
class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  double Restart() {
    const double seconds = Seconds();
    start_ = std::chrono::steady_clock::now();
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// A sum of durations that several threads add to.
class SharedSeconds {
 public:
  void Add(double seconds) { nanoseconds_ += static_cast<int64_t>(seconds * 1e9); }
  double Total() const { return static_cast<double>(nanoseconds_.load()) * 1e-9; }

 private:
  std::atomic<int64_t> nanoseconds_ = 0;
};

}  // namespace tacet::base

#endif  // TACET_BASE_STOPWATCH_H_
