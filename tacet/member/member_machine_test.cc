// Random sequences of events, among them failures of everything at any time, new processes and a
// server that lies, against the invariants of docs/design/member.md.
#include "tacet/member/member_machine.h"

#include "gtest/gtest.h"

#include "tacet/member/machine_world_for_test.h"

namespace tacet::member {
namespace {

TEST(MemberMachineTest, FewSequencesKeepTheInvariants) { testing::RunSequences(0, 400); }

TEST(MemberMachineTest, TwentyThousandSequencesKeepTheInvariants) {
  testing::RunSequences(0, 20'000);
}

}  // namespace
}  // namespace tacet::member
