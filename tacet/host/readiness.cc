#include "tacet/host/readiness.h"

#include "fmt/core.h"

namespace tacet::host {

void Readiness::SetListening(bool listening) {
  const base::MutexLock lock(mutex_);
  listening_ = listening;
}

void Readiness::SetDraining() {
  const base::MutexLock lock(mutex_);
  draining_ = true;
}

void Readiness::NoteTick(bool store_works) {
  const base::MutexLock lock(mutex_);
  ticked_ = true;
  last_tick_ = clock_();
  store_works_ = store_works;
}

std::vector<std::string> Readiness::Problems() const {
  const base::MutexLock lock(mutex_);
  std::vector<std::string> problems;
  if (!listening_) problems.emplace_back("it does not listen for members");
  if (draining_) problems.emplace_back("it is about to end");
  if (!ticked_) {
    problems.emplace_back("it has not begun its work");
    return problems;
  }
  if (!store_works_) problems.emplace_back("its store does not work");
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(clock_() - last_tick_);
  if (age > kMaxTickAge) {
    problems.push_back(fmt::format("its work has stood still for {} s", age.count()));
  }
  return problems;
}

}  // namespace tacet::host
