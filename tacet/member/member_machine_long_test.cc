#include "gtest/gtest.h"

#include "tacet/member/machine_world_for_test.h"

namespace tacet::member {
namespace {

TEST(MemberMachineLongTest, AMillionSequencesKeepTheInvariants) {
  testing::RunSequences(20'000, 1'000'000);
}

}  // namespace
}  // namespace tacet::member
