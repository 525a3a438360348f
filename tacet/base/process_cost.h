// Resources that a process of this machine has used so far.
#ifndef TACET_BASE_PROCESS_COST_H_
#define TACET_BASE_PROCESS_COST_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include <sys/types.h>

namespace tacet::base {

struct ProcessCost {
  double cpu_seconds = 0;    // user and system
  uint64_t memory = 0;       // resident bytes now
  uint64_t memory_peak = 0;  // resident bytes at most
};

// NotFound when no such process runs.
absl::StatusOr<ProcessCost> CostOf(pid_t process);

// For this process; zeros when the system does not tell.
ProcessCost OwnCost();

// Processor time of the calling thread so far.
double ThreadCpuSeconds();

}  // namespace tacet::base

#endif  // TACET_BASE_PROCESS_COST_H_
