#include "tacet/base/cpu.h"

#include <cstdlib>

#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::base {
namespace {

// The choice is made once a process: every case runs in a process of its own, which leaves with
// status 0 when ActiveSimd() and CheckSimdEnvironment() answer as expected.
class SimdEnvironmentTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static void ExpectChoice(const char* wanted, Simd active, absl::StatusCode code) {
    EXPECT_EXIT(
        {
          if (wanted == nullptr) {
            unsetenv("TACET_SIMD");
          } else {
            setenv("TACET_SIMD", wanted, 1);
          }
          const bool as_expected = ActiveSimd() == active && CheckSimdEnvironment().code() == code;
          std::_Exit(as_expected ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
  }
};

TEST_F(SimdEnvironmentTest, UnsetMeansTheWidest) {
  ExpectChoice(nullptr, DetectedSimd(), absl::StatusCode::kOk);
}

TEST_F(SimdEnvironmentTest, ScalarIsAlwaysThere) {
  ExpectChoice("scalar", Simd::kScalar, absl::StatusCode::kOk);
}

TEST_F(SimdEnvironmentTest, WhatTheProcessorHasCanBeChosen) {
  const std::string name(SimdName(DetectedSimd()));
  ExpectChoice(name.c_str(), DetectedSimd(), absl::StatusCode::kOk);
}

TEST_F(SimdEnvironmentTest, MoreThanTheProcessorHasIsReportedAndNotUsed) {
  const bool has_it = DetectedSimd() == Simd::kAvx512;
  ExpectChoice("avx512", DetectedSimd(),
               has_it ? absl::StatusCode::kOk : absl::StatusCode::kInvalidArgument);
}

TEST_F(SimdEnvironmentTest, AnotherProcessorsLevelIsReportedAndNotUsed) {
  ExpectChoice(DetectedSimd() == Simd::kNeon ? "avx2" : "neon", DetectedSimd(),
               absl::StatusCode::kInvalidArgument);
}

TEST_F(SimdEnvironmentTest, UnknownNamesAreReportedAndIgnored) {
  ExpectChoice("sse9", DetectedSimd(), absl::StatusCode::kInvalidArgument);
  ExpectChoice("", DetectedSimd(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SimdEnvironmentTest, TheMessageNamesTheChoices) {
  const char* before = std::getenv("TACET_SIMD");
  const std::string saved = before == nullptr ? "" : before;
  setenv("TACET_SIMD", "sse9", 1);
  EXPECT_EQ(Message(CheckSimdEnvironment()),
            "TACET_SIMD is \"sse9\"; it must be scalar, neon, avx2 or avx512");
  if (before == nullptr) {
    unsetenv("TACET_SIMD");
  } else {
    setenv("TACET_SIMD", saved.c_str(), 1);
  }
}

TEST(CpuTest, NamesAreTheOnesTheEnvironmentTakes) {
  EXPECT_EQ(SimdName(Simd::kScalar), "scalar");
  EXPECT_EQ(SimdName(Simd::kNeon), "neon");
  EXPECT_EQ(SimdName(Simd::kAvx2), "avx2");
  EXPECT_EQ(SimdName(Simd::kAvx512), "avx512");
}

TEST(CpuTest, LevelsAreTargetsAndExtensionsNeedTheirLevel) {
  EXPECT_TRUE(HasTarget(Target::kScalar));
  EXPECT_EQ(HasTarget(Target::kNeon), DetectedSimd() == Simd::kNeon);
  EXPECT_EQ(HasTarget(Target::kAvx2), DetectedSimd() >= Simd::kAvx2);
  EXPECT_EQ(HasTarget(Target::kAvx512), DetectedSimd() == Simd::kAvx512);
  for (const Target target :
       {Target::kAvx512Ifma, Target::kAvx512Vaes, Target::kAvx512Bf16, Target::kAmxBf16}) {
    EXPECT_TRUE(HasTarget(Target::kAvx512) || !HasTarget(target)) << TargetName(target);
    EXPECT_TRUE(HasTarget(target) || !MayUse(target)) << TargetName(target);
  }
}

TEST_F(SimdEnvironmentTest, ALowerLevelForbidsWiderTargets) {
  EXPECT_EXIT(
      {
        setenv("TACET_SIMD", "scalar", 1);
        bool any = false;
        for (const Target target :
             {Target::kNeon, Target::kAvx2, Target::kAvx512, Target::kAvx512Ifma,
              Target::kAvx512Vaes, Target::kAvx512Bf16, Target::kAmxBf16}) {
          any = any || MayUse(target);
        }
        std::_Exit(any || !MayUse(Target::kScalar) ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(CpuTest, ModelNameIsOneLine) {
  const std::string name = CpuModelName();
  EXPECT_FALSE(name.empty());
  EXPECT_EQ(name.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace tacet::base
