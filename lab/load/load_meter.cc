#include "lab/load/load_meter.h"

#include <algorithm>
#include <thread>

namespace tacet::app::load {
namespace {

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void LoadMeter::Connects() {
  const base::MutexLock lock(mutex_);
  if (!connecting_.begun.has_value()) connecting_.begun = spec_.clock();
}

void LoadMeter::IsConnected() {
  const base::MutexLock lock(mutex_);
  if (++connecting_.connected != spec_.members || !connecting_.begun.has_value()) return;
  result_.connecting_seconds = Seconds(spec_.clock() - *connecting_.begun);
}

void LoadMeter::Begun(uint32_t round) {
  const base::MutexLock lock(mutex_);
  std::optional<Time>& begun = progress_[round].begun;
  if (begun.has_value()) return;
  begun = spec_.clock();
  TellRounds();
}

// The end of the last round is kept as the beginning of one behind it.
void LoadMeter::Published(uint32_t finished) {
  if (finished >= spec_.rounds) Begun(spec_.rounds);
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
  ++progress_[round].applied;
  TellRounds();
}

void LoadMeter::TellRounds() {
  while (result_.rounds.size() < spec_.rounds) {
    const auto round = static_cast<uint32_t>(result_.rounds.size());
    const Progress& progress = progress_[round];
    const std::optional<Time>& ended = progress_[round + 1].begun;
    if (progress.applied < spec_.members || !progress.begun.has_value() || !ended.has_value()) {
      return;
    }
    const double cores = std::max(1U, std::thread::hardware_concurrency());
    result_.rounds.push_back({.round = round,
                              .participants = progress.uploads,
                              .seconds = Seconds(*ended - *progress.begun),
                              .sealing_seconds = progress.sealing_cpu_seconds / cores});
    spec_.on_round(result_.rounds.back());
  }
}

void LoadMeter::Fail(const absl::Status& why) {
  const base::MutexLock lock(mutex_);
  failure_.Update(why);
  failed_.SignalAll();
}

bool LoadMeter::Wait(double seconds) {
  using Clock = std::chrono::steady_clock;
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
