#include "tacet/base/parallel.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "tacet/base/cpu_quota.h"

namespace tacet::base {

size_t Processors(const std::filesystem::path& system) {
  const size_t all = std::max(1u, std::thread::hardware_concurrency());
  return std::min(all, CpuQuota(system).value_or(all));
}

void RunOnThreads(size_t tasks, const std::function<void(size_t)>& task) {
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < tasks; ++i) threads.emplace_back([&task, i] { task(i); });
  if (tasks > 0) task(0);
}

}  // namespace tacet::base
