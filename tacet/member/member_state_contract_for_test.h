// Contract tests of every MemberState. A `Backend` has `state()`, empty at first, and `Reopen()`,
// after which `state()` holds what a new process would find.
#ifndef TACET_MEMBER_MEMBER_STATE_CONTRACT_FOR_TEST_H_
#define TACET_MEMBER_MEMBER_STATE_CONTRACT_FOR_TEST_H_

#include <cstdint>
#include <optional>

#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/member/member_state.h"

namespace tacet::member::testing {

template <typename Backend>
class MemberStateContract : public ::testing::Test {
 protected:
  MemberState& state() { return backend_.state(); }
  void Reopen() { backend_.Reopen(); }

  static secagg::Attempt Numbered(uint32_t round, uint32_t attempt, uint8_t model = 1) {
    secagg::Attempt made{.number = {.epoch = 2, .round = round, .attempt = attempt}};
    made.manifest_hash.fill(7);
    made.model_digest.fill(model);
    return made;
  }

  Backend backend_;
};
TYPED_TEST_SUITE_P(MemberStateContract);

TYPED_TEST_P(MemberStateContract, HasNothingAtFirst) {
  constexpr auto kNotFound = absl::StatusCode::kNotFound;
  EXPECT_EQ(this->state().LoadCheckpoint().status().code(), kNotFound);
  EXPECT_EQ(this->state().LoadMemory().status().code(), kNotFound);
  EXPECT_EQ(this->state().LoadOpeningVote().status().code(), kNotFound);
  EXPECT_EQ(this->state().LoadUpload(this->Numbered(0, 0)).status().code(), kNotFound);
  EXPECT_EQ(this->state().Find(this->Numbered(0, 0), secagg::JournalStep::kVote).status().code(),
            kNotFound);
  EXPECT_TRUE(this->state().KeepOnly({2, 0, 0}).ok());
}

TYPED_TEST_P(MemberStateContract, KeepsTheLastStateAndMemory) {
  for (const uint8_t value : {uint8_t{1}, uint8_t{2}}) {
    ASSERT_TRUE(this->state().SaveCheckpoint(base::Bytes(1000, value)).ok());
    ASSERT_TRUE(this->state().SaveMemory(base::Bytes(10, value)).ok());
    ASSERT_TRUE(this->state().SaveOpeningVote(base::Bytes(20, value)).ok());
    this->Reopen();
    EXPECT_EQ(this->state().LoadCheckpoint().value(), base::Bytes(1000, value));
    EXPECT_EQ(this->state().LoadMemory().value(), base::Bytes(10, value));
    EXPECT_EQ(this->state().LoadOpeningVote().value(), base::Bytes(20, value));
  }
}

TYPED_TEST_P(MemberStateContract, GoesBackToTheEarlierCheckpointOnce) {
  constexpr auto kNotFound = absl::StatusCode::kNotFound;
  const auto one = [](uint8_t value) { return base::Bytes(1000, value); };
  const auto expect = [&](uint8_t last, std::optional<uint8_t> earlier) {
    this->Reopen();
    EXPECT_EQ(this->state().LoadCheckpoint().value(), one(last));
    const auto found = this->state().LoadEarlierCheckpoint();
    if (earlier.has_value()) {
      EXPECT_EQ(found.value(), one(*earlier));
    } else {
      EXPECT_EQ(found.status().code(), kNotFound);
    }
  };
  EXPECT_EQ(this->state().LoadEarlierCheckpoint().status().code(), kNotFound);
  EXPECT_EQ(this->state().StepBack().code(), kNotFound);
  ASSERT_TRUE(this->state().ForgetEarlierCheckpoint().ok());
  ASSERT_TRUE(this->state().SaveCheckpoint(one(1)).ok());
  expect(1, std::nullopt);
  EXPECT_EQ(this->state().StepBack().code(), kNotFound);
  for (const uint8_t value : {uint8_t{2}, uint8_t{3}}) {
    ASSERT_TRUE(this->state().SaveCheckpoint(one(value)).ok());
    expect(value, value - 1);
  }
  ASSERT_TRUE(this->state().StepBack().ok());
  expect(2, std::nullopt);
  EXPECT_EQ(this->state().StepBack().code(), kNotFound);
  ASSERT_TRUE(this->state().SaveCheckpoint(one(4)).ok());
  expect(4, 2);
  ASSERT_TRUE(this->state().ForgetEarlierCheckpoint().ok());
  expect(4, std::nullopt);
  EXPECT_EQ(this->state().StepBack().code(), kNotFound);
  expect(4, std::nullopt);
}

TYPED_TEST_P(MemberStateContract, SaysOneThingAnAttemptAndStep) {
  const secagg::Attempt attempt = this->Numbered(3, 1);
  const base::Bytes first = {1, 2}, second = {1, 3};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(this->state().SaveUpload(attempt, first).ok());
    ASSERT_TRUE(this->state().Record(attempt, secagg::JournalStep::kVote, first).ok());
    ASSERT_TRUE(this->state().Record(attempt, secagg::JournalStep::kUnmaskShare, second).ok());
    EXPECT_EQ(this->state().SaveUpload(attempt, second).code(), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(this->state().Record(attempt, secagg::JournalStep::kVote, second).code(),
              absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(this->state().LoadUpload(attempt).value(), first);
    EXPECT_EQ(this->state().Find(attempt, secagg::JournalStep::kVote).value(), first);
    EXPECT_EQ(this->state().Find(attempt, secagg::JournalStep::kUnmaskShare).value(), second);
    this->Reopen();
  }
}

// The same number with another model: nothing is said about that one any more.
TYPED_TEST_P(MemberStateContract, ANumberHasOneAttempt) {
  const base::Bytes message = {1, 2};
  const secagg::Attempt forked = this->Numbered(3, 1, 9);
  constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
  ASSERT_TRUE(this->state().Record(this->Numbered(3, 1), secagg::JournalStep::kVote, message).ok());
  EXPECT_EQ(this->state().Find(forked, secagg::JournalStep::kVote).status().code(), kRefused);
  EXPECT_EQ(this->state().Record(forked, secagg::JournalStep::kVote, message).code(), kRefused);
  ASSERT_TRUE(this->state().SaveUpload(this->Numbered(3, 1), message).ok());
  EXPECT_EQ(this->state().SaveUpload(forked, message).code(), kRefused);
}

TYPED_TEST_P(MemberStateContract, ForgetsOtherAttempts) {
  const base::Bytes message = {1, 2};
  // 3-1 is the beginning of 3-10 and 3-11 as text.
  for (const auto& [round, attempt] : {std::pair(3u, 0u), {3u, 1u}, {3u, 10u}, {31u, 1u}}) {
    ASSERT_TRUE(this->state().SaveUpload(this->Numbered(round, attempt), message).ok());
    ASSERT_TRUE(this->state()
                    .Record(this->Numbered(round, attempt), secagg::JournalStep::kVote, message)
                    .ok());
  }
  ASSERT_TRUE(this->state().SaveMemory(message).ok());
  ASSERT_TRUE(this->state().SaveOpeningVote(message).ok());
  const secagg::Attempt of_epoch = this->Numbered(secagg::kRoundOfEpoch, 1);
  secagg::Attempt of_another = of_epoch;
  of_another.number.epoch = 1;
  for (const secagg::Attempt& entry : {of_epoch, of_another}) {
    ASSERT_TRUE(this->state().Record(entry, secagg::JournalStep::kLists, message).ok());
  }
  ASSERT_TRUE(this->state().KeepOnly({2, 3, 1}).ok());
  this->Reopen();
  EXPECT_TRUE(this->state().Find(of_epoch, secagg::JournalStep::kLists).ok());
  EXPECT_EQ(this->state().Find(of_another, secagg::JournalStep::kLists).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(this->state().LoadUpload(this->Numbered(3, 1)).ok());
  EXPECT_TRUE(this->state().Find(this->Numbered(3, 1), secagg::JournalStep::kVote).ok());
  EXPECT_TRUE(this->state().LoadMemory().ok());
  EXPECT_TRUE(this->state().LoadOpeningVote().ok());
  for (const auto& [round, attempt] : {std::pair(3u, 0u), {3u, 10u}, {31u, 1u}}) {
    const secagg::Attempt other = this->Numbered(round, attempt);
    EXPECT_EQ(this->state().LoadUpload(other).status().code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(this->state().Find(other, secagg::JournalStep::kVote).status().code(),
              absl::StatusCode::kNotFound);
  }
}

REGISTER_TYPED_TEST_SUITE_P(MemberStateContract, HasNothingAtFirst, KeepsTheLastStateAndMemory,
                            GoesBackToTheEarlierCheckpointOnce, SaysOneThingAnAttemptAndStep,
                            ANumberHasOneAttempt, ForgetsOtherAttempts);

}  // namespace tacet::member::testing

#endif  // TACET_MEMBER_MEMBER_STATE_CONTRACT_FOR_TEST_H_
