#include "lab/load/load_meter.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace tacet::app::load {

void LoadMeter::Begun(uint32_t round) {
  const base::MutexLock lock(mutex_);
  progress_.try_emplace(round, Progress{.begun = Clock::now()});
}

void LoadMeter::Sealed(uint32_t round, double cpu_seconds) {
  const base::MutexLock lock(mutex_);
  progress_[round].sealing_cpu_seconds += cpu_seconds;
}

void LoadMeter::Uploaded(uint32_t round, double seconds, uint64_t bytes) {
  const base::MutexLock lock(mutex_);
  ++progress_[round].uploads;
  result_.upload_seconds.push_back(seconds);
  result_.upload_bytes = bytes;
}

void LoadMeter::Fetched(double seconds) {
  const base::MutexLock lock(mutex_);
  result_.fetch_seconds.push_back(seconds);
}

void LoadMeter::Applied(uint32_t round) {
  const base::MutexLock lock(mutex_);
  Progress& progress = progress_[round];
  if (++progress.applied < members_) return;
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  const Clock::time_point begun = std::max(progress.begun, std::exchange(ended_, Clock::now()));
  result_.rounds.push_back({.round = round,
                            .participants = progress.uploads,
                            .seconds = std::chrono::duration<double>(ended_ - begun).count(),
                            .sealing_seconds = progress.sealing_cpu_seconds / cores});
  on_round_(result_.rounds.back());
}

void LoadMeter::Fail(const absl::Status& why) {
  const base::MutexLock lock(mutex_);
  failure_.Update(why);
  failed_.SignalAll();
}

bool LoadMeter::Wait(double seconds) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  const base::MutexLock lock(mutex_);
  while (failure_.ok() && Clock::now() < end) failed_.WaitUntil(mutex_, end);
  return failure_.ok();
}

absl::StatusOr<LoadResult> LoadMeter::Result() {
  const base::MutexLock lock(mutex_);
  if (!failure_.ok()) return failure_;
  return result_;
}

}  // namespace tacet::app::load
