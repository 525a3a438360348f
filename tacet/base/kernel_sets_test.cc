#include "tacet/base/kernel_sets.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tacet::base {
namespace {

using testing::ElementsAre;

struct Table {
  Target target = Target::kScalar;
};
constexpr Table kScalar = {Target::kScalar};
constexpr Table kAvx2 = {Target::kAvx2};
constexpr Table kAvx512 = {Target::kAvx512};
constexpr Table kTiles = {Target::kAmxBf16};
constexpr Table kNeon = {Target::kNeon};
constexpr const Table* kVectors[] = {&kNeon, &kAvx2, &kAvx512, &kTiles};

TEST(KernelSetsTest, TheOracleAloneIsUsed) {
  const KernelSets<Table> sets(kScalar);
  EXPECT_EQ(&sets.active(), &kScalar);
  EXPECT_THAT(sets.available(), ElementsAre(&kScalar));
}

TEST(KernelSetsTest, OnlyWhatTheProcessorHasIsAvailable) {
  const KernelSets<Table> sets(kScalar, kVectors);
  ASSERT_FALSE(sets.available().empty());
  EXPECT_EQ(sets.available().front(), &kScalar);
  size_t expected = 1;
  for (const Table* table : kVectors) {
    if (!HasTarget(table->target)) continue;
    ASSERT_LT(expected, sets.available().size());
    EXPECT_EQ(sets.available()[expected++], table);
  }
  EXPECT_EQ(expected, sets.available().size());
}

// The level is read once a process: each case leaves a process of its own with status 0 when the
// widest version that the level allows is active.
class ActiveVersionTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static void ExpectActive(const char* level, const Table& expected) {
    EXPECT_EXIT(LeaveIfActive(level, expected), testing::ExitedWithCode(0), "");
  }

 private:
  static void LeaveIfActive(const char* level, const Table& expected) {
    setenv("TACET_SIMD", level, 1);
    const KernelSets<Table> sets(kScalar, kVectors);
    std::_Exit(&sets.active() == &expected ? 0 : 1);
  }
};

TEST_F(ActiveVersionTest, ScalarMeansTheOracle) { ExpectActive("scalar", kScalar); }

TEST_F(ActiveVersionTest, NeonIsUsed) {
  if (!HasTarget(Target::kNeon)) GTEST_SKIP() << "this processor has no NEON";
  ExpectActive("neon", kNeon);
}

TEST_F(ActiveVersionTest, Avx2LeavesWiderVersionsAlone) {
  if (!HasTarget(Target::kAvx2)) GTEST_SKIP() << "this processor has no AVX2";
  ExpectActive("avx2", kAvx2);
}

TEST_F(ActiveVersionTest, Avx512LeavesTilesAlone) {
  if (!HasTarget(Target::kAvx512)) GTEST_SKIP() << "this processor has no AVX-512";
  ExpectActive("avx512", kAvx512);
}

}  // namespace
}  // namespace tacet::base
