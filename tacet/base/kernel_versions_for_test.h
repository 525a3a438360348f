// Helpers for tests that compare every version of a table of kernels with its scalar oracle.
#ifndef TACET_BASE_KERNEL_VERSIONS_FOR_TEST_H_
#define TACET_BASE_KERNEL_VERSIONS_FOR_TEST_H_

#include <algorithm>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/cpu.h"

namespace tacet::base {

inline void PrintTo(Target target, std::ostream* out) { *out << TargetName(target); }

// For INSTANTIATE_TEST_SUITE_P, which takes letters and digits.
inline std::string NameOfTarget(const testing::TestParamInfo<Target>& test) {
  std::string name(TargetName(test.param));
  std::erase(name, '-');
  return name;
}

// Expects the oracle and a version for each of `targets` that the processor has, so that no test
// leaves one out unnoticed.
template <typename Kernels>
void ExpectVersions(std::span<const Kernels* const> available, const std::vector<Target>& targets) {
  std::vector<Target> expected = {Target::kScalar};
  std::ranges::copy_if(targets, std::back_inserter(expected), HasTarget);
  std::vector<Target> found;
  for (const Kernels* version : available) found.push_back(version->target);
  EXPECT_EQ(found, expected);
}

// Fixture of the tests of one version, skipped where the processor lacks its target. `available`
// lists the versions of the set.
template <typename Kernels, std::span<const Kernels* const> (*available)()>
class KernelVersionTest : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    const auto versions = available();
    const auto found = std::ranges::find(versions, GetParam(), &Kernels::target);
    if (found == versions.end()) GTEST_SKIP() << "this processor lacks it";
    tested_ = *found;
  }
  const Kernels& Tested() const { return *tested_; }

 private:
  const Kernels* tested_ = nullptr;
};

}  // namespace tacet::base

#endif  // TACET_BASE_KERNEL_VERSIONS_FOR_TEST_H_
