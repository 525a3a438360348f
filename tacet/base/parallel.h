// Interface for work that is spread over threads, independent of who owns the threads.
#ifndef TACET_BASE_PARALLEL_H_
#define TACET_BASE_PARALLEL_H_

#include <cstddef>
#include <filesystem>
#include <functional>

namespace tacet::base {

// Runs task(0), ..., task(tasks - 1), perhaps at the same time, and returns when all are done.
// The owner of the threads passes one in; results do not depend on it.
using ParallelFor = std::function<void(size_t tasks, const std::function<void(size_t)>& task)>;

// One after the other in the calling thread.
inline void RunInTurn(size_t tasks, const std::function<void(size_t)>& task) {
  for (size_t i = 0; i < tasks; ++i) task(i);
}

// Default number of threads: the processors of this machine, or the quota of this process's control
// groups where that is smaller (`cpu_quota.h`, with the meaning of `system`). At least 1.
size_t Processors(const std::filesystem::path& system = "/");

// On as many threads as there are tasks, the calling one among them.
void RunOnThreads(size_t tasks, const std::function<void(size_t)>& task);

}  // namespace tacet::base

#endif  // TACET_BASE_PARALLEL_H_
