#include "gtest/gtest.h"

#include "tacet/member/testing/machine_world.h"

namespace tacet::member {
namespace {

TEST(MemberMachineLongTest, AMillionSequencesKeepTheInvariants) {
  testing::RunSequences(20'000, 1'000'000);
}

}  // namespace
}  // namespace tacet::member
