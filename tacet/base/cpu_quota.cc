#include "tacet/base/cpu_quota.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tacet::base {
namespace {

using Path = std::filesystem::path;

enum class Version { kOne, kTwo };

// A mount of /proc/self/mountinfo that has quotas of processor time.
struct QuotaMount {
  Version version;
  Path root;  // the group that is seen at `point`
  Path point;
};

bool Lists(const std::string& names, std::string_view name) {
  std::istringstream parts(names);
  for (std::string part; std::getline(parts, part, ',');) {
    if (part == name) return true;
  }
  return false;
}

// "ID PARENT DEVICE ROOT POINT OPTIONS ... - TYPE SOURCE OPTIONS-OF-THE-FILE-SYSTEM"
std::optional<QuotaMount> ParseMount(const std::string& line) {
  const size_t dash = line.find(" - ");
  if (dash == std::string::npos) return std::nullopt;
  std::istringstream before(line), after(line.substr(dash + 3));
  std::string skipped, root, point, type, source, options;
  if (!(before >> skipped >> skipped >> skipped >> root >> point)) return std::nullopt;
  if (!(after >> type >> source >> options)) return std::nullopt;
  if (type == "cgroup2") return QuotaMount{Version::kTwo, root, point};
  if (type == "cgroup" && Lists(options, "cpu")) return QuotaMount{Version::kOne, root, point};
  return std::nullopt;
}

// The process's group in the hierarchy of `version`, from lines "NUMBER:CONTROLLERS:GROUP" of
// /proc/self/cgroup.
std::optional<Path> GroupOf(Version version, const Path& file) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool found = version == Version::kTwo ? controllers.empty() : Lists(controllers, "cpu");
    if (found) return line.substr(second + 1);
  }
  return std::nullopt;
}

// Number that `file` begins with; nothing where the file is missing or begins with "max".
std::optional<double> FirstNumber(const Path& file) {
  double number = 0;
  if (std::ifstream(file) >> number) return number;
  return std::nullopt;
}

// Processors of the quota in `folder`; nothing where it has none (-1 in version 1, max in 2).
std::optional<double> QuotaIn(const Path& folder, Version version) {
  std::optional<double> quota, period;
  if (version == Version::kTwo) {
    double first = 0, second = 0;
    if (std::ifstream(folder / "cpu.max") >> first >> second) quota = first, period = second;
  } else {
    quota = FirstNumber(folder / "cpu.cfs_quota_us");
    period = FirstNumber(folder / "cpu.cfs_period_us");
  }
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

// Folders of the group and of all groups above it that the mount shows.
std::vector<Path> FoldersOf(const QuotaMount& mount, const Path& group, const Path& system) {
  const Path point = system / mount.point.relative_path();
  std::vector<Path> folders = {point};
  const Path below = group.lexically_relative(mount.root);
  // A container may see its own group at the mount while the name of the group is the host's.
  if (below.empty() || *below.begin() == "..") return folders;
  for (const Path& name : below) {
    if (name != ".") folders.push_back(folders.back() / name);
  }
  return folders;
}

}  // namespace

std::optional<size_t> CpuQuota(const Path& system) {
  const Path process = system / "proc" / "self";
  std::optional<double> smallest;
  std::ifstream mounts(process / "mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const auto mount = ParseMount(line);
    if (!mount) continue;
    const auto group = GroupOf(mount->version, process / "cgroup");
    if (!group) continue;
    for (const Path& folder : FoldersOf(*mount, *group, system)) {
      const auto quota = QuotaIn(folder, mount->version);
      if (quota) smallest = std::min(smallest.value_or(*quota), *quota);
    }
  }
  if (!smallest) return std::nullopt;
  return static_cast<size_t>(std::ceil(std::clamp(*smallest, 1.0, 1e6)));
}

}  // namespace tacet::base
