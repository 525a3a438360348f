#include "tacet/member/member_memory.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"

namespace tacet::member {
namespace {

MemberMemory Sample() {
  MemberMemory memory{.attempt = {.number = {.epoch = 2, .round = 7, .attempt = 1}},
                      .phase = protocol::AttemptPhase::kUnmasking,
                      .participants = 9,
                      .participation = Participation::kYes,
                      .accepted = true,
                      .distrusted = {{2, 6, 0}, {2, 7, 0}}};
  memory.attempt.manifest_hash.fill(3);
  memory.attempt.model_digest.fill(4);
  return memory;
}

TEST(MemberMemoryTest, IsReadAsItWasWritten) {
  ASSERT_OK_AND_ASSIGN(const auto read, ReadMemberMemory(WriteMemberMemory(Sample())));
  EXPECT_EQ(read, Sample());
}

TEST(MemberMemoryTest, ParticipationsAreKept) {
  MemberMemory memory = Sample();
  memory.participation = Participation::kSpent;
  memory.participations = 12;
  memory.watched = true;
  memory.watched_attempts = 9;
  memory.invitations = 4;
  const base::Bytes bytes = WriteMemberMemory(memory);
  ASSERT_OK_AND_ASSIGN(const auto read, ReadMemberMemory(bytes));
  EXPECT_EQ(read, memory);
}

TEST(MemberMemoryTest, DamageIsNoticed) {
  const base::Bytes whole = WriteMemberMemory(Sample());
  for (size_t i = 0; i < whole.size(); ++i) {
    base::Bytes bytes = whole;
    bytes[i] ^= 1;
    EXPECT_EQ(ReadMemberMemory(bytes).status().code(), absl::StatusCode::kDataLoss) << i;
    EXPECT_FALSE(ReadMemberMemory(std::span(whole).first(i)).ok()) << i;
  }
  base::Bytes longer = whole;
  longer.push_back(0);
  EXPECT_FALSE(ReadMemberMemory(longer).ok());
}

}  // namespace
}  // namespace tacet::member
