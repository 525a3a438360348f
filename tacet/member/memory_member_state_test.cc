#include "tacet/member/memory_member_state.h"

#include <optional>

#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/member/member_state_contract_for_test.h"

namespace tacet::member {
namespace testing {
namespace {

struct MemoryBackend {
  MemberState& state() { return memory; }
  void Reopen() {}
  MemoryMemberState memory;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, MemberStateContract, MemoryBackend);

struct SharedMemoryBackend {
  MemberState& state() { return memory; }
  void Reopen() {}
  MemoryMemberState::Checkpoints checkpoints;
  MemoryMemberState memory{&checkpoints};
};
INSTANTIATE_TYPED_TEST_SUITE_P(SharedMemory, MemberStateContract, SharedMemoryBackend);

}  // namespace
}  // namespace testing

namespace {

TEST(MemoryMemberStateTest, OneMembersNextCheckpointIsNotTheOthers) {
  MemoryMemberState::Checkpoints checkpoints;
  MemoryMemberState first(&checkpoints);
  std::optional<MemoryMemberState> second(&checkpoints);
  const base::Bytes round0 = {1, 2, 3}, round1 = {1, 2, 4};
  ASSERT_TRUE(first.SaveCheckpoint(round0).ok());
  ASSERT_TRUE(second->SaveCheckpoint(round0).ok());
  ASSERT_TRUE(second->SaveCheckpoint(round1).ok());
  EXPECT_EQ(first.LoadCheckpoint().value(), round0);
  EXPECT_EQ(second->LoadCheckpoint().value(), round1);
  ASSERT_TRUE(first.SaveCheckpoint(round1).ok());
  second.reset();
  EXPECT_EQ(first.LoadCheckpoint().value(), round1);
}

}  // namespace
}  // namespace tacet::member
