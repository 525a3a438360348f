#include "tacet/base/cpu_quota.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tacet/base/parallel.h"
#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::base {
namespace {

constexpr char kVersionTwo[] = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
constexpr char kVersionOne[] =
    "31 23 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n";

// A system's folder with the files that a test writes.
class CpuQuotaTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) const {
    const auto path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // `groups` is /proc/self/cgroup, `mounts` /proc/self/mountinfo.
  void WriteProcess(const std::string& groups, const std::string& mounts) const {
    Write("proc/self/cgroup", groups);
    Write("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/root rw\n" + mounts);
  }
  std::optional<size_t> Quota() const { return CpuQuota(folder_.path()); }

  TemporaryFolder folder_;
};

TEST_F(CpuQuotaTest, AContainerOfVersionTwoSeesItsOwnGroup) {
  WriteProcess("0::/\n", kVersionTwo);
  Write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(Quota(), 2);
}

TEST_F(CpuQuotaTest, APartOfAProcessorCountsAsOne) {
  WriteProcess("0::/\n", kVersionTwo);
  Write("sys/fs/cgroup/cpu.max", "250000 100000\n");
  EXPECT_EQ(Quota(), 3);
  Write("sys/fs/cgroup/cpu.max", "5000 100000\n");
  EXPECT_EQ(Quota(), 1);
}

TEST_F(CpuQuotaTest, TheSmallestQuotaOfTheGroupsAboveCounts) {
  WriteProcess("0::/system.slice/tacet-client.service\n", kVersionTwo);
  Write("sys/fs/cgroup/system.slice/tacet-client.service/cpu.max", "800000 100000\n");
  EXPECT_EQ(Quota(), 8);
  Write("sys/fs/cgroup/system.slice/cpu.max", "300000 100000\n");
  EXPECT_EQ(Quota(), 3);
  Write("sys/fs/cgroup/system.slice/tacet-client.service/cpu.max", "max 100000\n");
  EXPECT_EQ(Quota(), 3);
  Write("sys/fs/cgroup/other.slice/cpu.max", "100000 100000\n");
  EXPECT_EQ(Quota(), 3);
}

TEST_F(CpuQuotaTest, VersionOneHasQuotaAndPeriodInTwoFiles) {
  WriteProcess("4:cpuset:/\n3:cpu,cpuacct:/work\n0::/\n", kVersionOne);
  Write("sys/fs/cgroup/cpu,cpuacct/work/cpu.cfs_quota_us", "150000\n");
  Write("sys/fs/cgroup/cpu,cpuacct/work/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(Quota(), 3);
  Write("sys/fs/cgroup/cpu,cpuacct/work/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(Quota(), std::nullopt);
}

// Without a namespace of its own, a container's group has the host's name, and the mount shows it.
TEST_F(CpuQuotaTest, AContainerOfVersionOneKnowsItsGroupByTheHostsName) {
  WriteProcess("3:cpu,cpuacct:/docker/1f2e\n",
               "32 23 0:28 /docker/1f2e /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), 4);
}

TEST_F(CpuQuotaTest, AGroupOutsideOfTheMountCountsAsTheMountItself) {
  WriteProcess("0::/../../elsewhere\n", kVersionTwo);
  Write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  Write("elsewhere/cpu.max", "700000 100000\n");
  EXPECT_EQ(Quota(), 1);
}

TEST_F(CpuQuotaTest, ASystemWithoutQuotasSetsNoLimit) {
  EXPECT_EQ(Quota(), std::nullopt);
  WriteProcess("0::/\n", kVersionTwo);
  EXPECT_EQ(Quota(), std::nullopt);
  for (const char* text : {"max 100000\n", "", "x\n", "0 100000\n", "100000 0\n", "-1 -1\n"}) {
    Write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(Quota(), std::nullopt) << text;
  }
  WriteProcess("::\n0\n", "- cgroup2\n30 23 0:26 / /sys/fs/cgroup rw -\n");
  EXPECT_EQ(Quota(), std::nullopt);
}

TEST_F(CpuQuotaTest, TheDefaultNumberOfThreadsKeepsToTheQuota) {
  const size_t all = Processors(folder_.path());
  EXPECT_GE(all, 1);
  WriteProcess("0::/\n", kVersionTwo);
  Write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(Processors(folder_.path()), 1);
  Write("sys/fs/cgroup/cpu.max", "90000000000 100000\n");
  EXPECT_EQ(Processors(folder_.path()), all);
}

}  // namespace
}  // namespace tacet::base
