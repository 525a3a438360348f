// Limit of processor time that Linux control groups set for a process, such as a container's.
#ifndef TACET_BASE_CPU_QUOTA_H_
#define TACET_BASE_CPU_QUOTA_H_

#include <cstddef>
#include <filesystem>
#include <optional>

namespace tacet::base {

// Number of processors that the quotas of this process's groups amount to, rounded up and at least
// 1. Nothing where no group sets a quota. The smallest quota counts, whether it is the group's own
// or that of a group above it: `cpu.max` of version 2, `cpu.cfs_quota_us` of version 1.
// `system` is the folder with `proc` and the mounts that it names; tests give another one.
std::optional<size_t> CpuQuota(const std::filesystem::path& system = "/");

}  // namespace tacet::base

#endif  // TACET_BASE_CPU_QUOTA_H_
