#include "tacet/host/operator_desk.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/host/log_for_test.h"
#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/server/initial_attestations_for_test.h"
#include "tacet/server/memory_server_store_for_test.h"

namespace tacet::host {
namespace {

using protocol::testing::SmallFederation;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OperatorDeskTest : public ::testing::Test {
 protected:
  OperatorDeskTest() { Start(); }

  // The server once more, from its store.
  void Start() {
    desk_.reset();
    rounds_ = *tacet::server::RoundServer::Create(
        members_.manifest(), {.collecting_seconds = 100, .unmasking_seconds = 50}, store_, blobs_,
        [this] { return now_; }, entropy_);
    desk_ = std::make_unique<OperatorDesk>(members_.manifest(), store_, *rounds_, *log_.log,
                                           [this] { return now_; });
    ASSERT_TRUE(desk_->Refresh().ok());
  }
  // All members come, so that an attempt begins if one may.
  void Gather() {
    tacet::server::testing::AttestInitialModel(*rounds_, members_);
    for (uint64_t member = 0; member < members_.manifest().members().size(); ++member) {
      rounds_->NotePresence(member);
    }
    ASSERT_TRUE(rounds_->Tick().ok());
  }
  size_t Begun() const { return rounds_->Attempts().size(); }

  absl::Status Do(OperatorVerb verb, const std::string& note = "") {
    return Do({.revision = revision_, .action = {.verb = verb, .note = note}});
  }
  absl::Status Do(const OperatorRequest& request) {
    const absl::Status done = desk_->Do(request, "ann", shown_);
    if (done.ok()) ++revision_;
    return done;
  }
  OperatorRequest StartEpoch(uint32_t epoch, bool end_attempt = false) const {
    return {.revision = revision_,
            .action = {.verb = OperatorVerb::kStartEpoch, .epoch = epoch},
            .end_attempt = end_attempt};
  }

  SmallFederation members_;
  tacet::server::MemoryServerStore store_;
  tacet::server::MemoryBlobStore blobs_;
  crypto::InsecureSeededEntropy entropy_{3, "cohorts"};
  uint64_t now_ = 1'755'000'000;
  std::unique_ptr<tacet::server::RoundServer> rounds_;
  LogForTest log_;
  std::unique_ptr<OperatorDesk> desk_;
  std::vector<Problem> shown_;
  uint64_t revision_ = 0;
};

TEST_F(OperatorDeskTest, APauseIsDurable) {
  EXPECT_TRUE(Do(OperatorVerb::kPause, "power cut at six").ok());
  EXPECT_THAT(log_.Events(),
              ElementsAre(R"(info operator-acted {"revision":1,"action":"pause","by":"ann",)"
                          R"("note":"power cut at six"})"));
  Gather();
  EXPECT_EQ(Begun(), 0u);
  Start();
  EXPECT_THAT(log_.Events(), Contains(HasSubstr("warning pause-found")));
  EXPECT_TRUE(rounds_->Status().paused);
  Gather();
  EXPECT_EQ(Begun(), 0u);
  EXPECT_TRUE(Do(OperatorVerb::kResume).ok());
  ASSERT_TRUE(rounds_->Tick().ok());
  EXPECT_EQ(Begun(), 1u);
  Start();
  EXPECT_FALSE(rounds_->Status().paused);
}

TEST_F(OperatorDeskTest, APauseDuringAnAttemptLetsItEnd) {
  Gather();
  ASSERT_EQ(Begun(), 1u);
  ASSERT_TRUE(Do(OperatorVerb::kPause).ok());
  EXPECT_EQ(rounds_->Status().last->phase, protocol::AttemptPhase::kCollecting);
  now_ += 1000;
  ASSERT_TRUE(rounds_->Tick().ok());
  EXPECT_EQ(rounds_->Status().last->phase, protocol::AttemptPhase::kFailed);
  now_ += 1000;
  Gather();
  EXPECT_EQ(Begun(), 1u);
}

// The very same request again, of a script that repeats it or of somebody who recorded it.
TEST_F(OperatorDeskTest, AReplayIsRefused) {
  const OperatorRequest pause{.revision = 0, .action = {.verb = OperatorVerb::kPause}};
  ASSERT_TRUE(Do(pause).ok());
  EXPECT_EQ(Do(pause).code(), absl::StatusCode::kAborted);
  ASSERT_TRUE(Do(OperatorVerb::kResume).ok());
  EXPECT_EQ(Do(pause).code(), absl::StatusCode::kAborted);
  Start();
  EXPECT_EQ(Do(pause).code(), absl::StatusCode::kAborted);
  EXPECT_FALSE(rounds_->Status().paused);
}

TEST_F(OperatorDeskTest, WhatDoesNotFitIsRefusedAndNotKept) {
  EXPECT_EQ(Do(OperatorVerb::kResume).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(Do(OperatorVerb::kPause).ok());
  EXPECT_EQ(Do(OperatorVerb::kPause).code(), absl::StatusCode::kFailedPrecondition);
  const OperatorRequest seen{
      .revision = revision_,
      .action = {.verb = OperatorVerb::kAcknowledge, .note = "seen", .problem = "member-fork"}};
  EXPECT_THAT(base::Message(Do(seen)), HasSubstr("no problem `member-fork` is shown now"));
  EXPECT_EQ(store_.Items(tacet::server::kOperatorsPlace)->size(), 1u);
}

TEST_F(OperatorDeskTest, AnAcknowledgementNamesWhomItIsAbout) {
  shown_ = {{.code = ProblemCode::kMemberFork, .members = {{.member = 1}, {.member = 3}}}};
  ASSERT_TRUE(Do({.revision = 0,
                  .action = {.verb = OperatorVerb::kAcknowledge,
                             .note = "old backup",
                             .problem = "member-fork"}})
                  .ok());
  Start();
  EXPECT_THAT(desk_->Json().Dump(),
              HasSubstr(R"("acknowledged":[{"action":"acknowledge","by":"ann","at":1755000000,)"
                        R"("note":"old backup","problem":"member-fork",)"
                        R"("members":["site-1","site-3"]}])"));
}

TEST_F(OperatorDeskTest, OnlyAPreparedEpochStarts) {
  EXPECT_THAT(base::Message(Do(StartEpoch(1))), HasSubstr("no invitation to epoch 1"));
  desk_->SetPrepared(1);
  EXPECT_FALSE(Do(StartEpoch(2)).ok());
  EXPECT_FALSE(desk_->StartsEpoch());
  ASSERT_TRUE(Do(StartEpoch(1)).ok());
  EXPECT_TRUE(desk_->StartsEpoch());
  Gather();
  EXPECT_EQ(Begun(), 0u);  // until the server starts again
  EXPECT_EQ(Do(OperatorVerb::kPause).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(OperatorDeskTest, AnEpochThatWouldEndAnAttemptNeedsToBeToldSo) {
  Gather();
  desk_->SetPrepared(1);
  EXPECT_THAT(base::Message(Do(StartEpoch(1))), HasSubstr("charged again"));
  EXPECT_FALSE(desk_->StartsEpoch());
  EXPECT_FALSE(rounds_->Status().paused);  // as before
  ASSERT_TRUE(Do(StartEpoch(1, true)).ok());
  EXPECT_TRUE(desk_->StartsEpoch());
}

// Whether it happened shows by reading: not before the store works again.
TEST_F(OperatorDeskTest, AnActionWhoseStoreFailsIsFoundOrNot) {
  for (const bool happens : {false, true}) {
    store_.failure().After(0, happens ? tacet::server::InjectedFailure::When::kAfter
                                      : tacet::server::InjectedFailure::When::kBefore);
    EXPECT_EQ(Do(OperatorVerb::kPause).code(), absl::StatusCode::kUnavailable);
    EXPECT_FALSE(rounds_->Status().paused);
    store_.failure().Heal();
    ASSERT_TRUE(desk_->Refresh().ok());
    EXPECT_EQ(rounds_->Status().paused, happens);
  }
  EXPECT_EQ(Do(OperatorVerb::kPause).code(), absl::StatusCode::kAborted);
}

TEST_F(OperatorDeskTest, AThiefDoesNotFillTheStore) {
  for (size_t i = 0; i < OperatorDesk::kMostInTime; ++i) {
    ASSERT_TRUE(Do(i % 2 == 0 ? OperatorVerb::kPause : OperatorVerb::kResume).ok());
  }
  EXPECT_EQ(Do(OperatorVerb::kPause).code(), absl::StatusCode::kResourceExhausted);
  Start();
  EXPECT_EQ(Do(OperatorVerb::kPause).code(), absl::StatusCode::kResourceExhausted);
  now_ += OperatorDesk::kTime;
  EXPECT_TRUE(Do(OperatorVerb::kPause).ok());
}

// The store keeps what is in force and the last actions, and a server that starts again, or whose
// store fails in between, finds the same state and number of actions.
TEST_F(OperatorDeskTest, OldActionsAreForgotten) {
  shown_ = {{.code = ProblemCode::kMemberFork, .members = {{.member = 1}}},
            {.code = ProblemCode::kDiskFull}};
  const auto acknowledge = [this](const std::string& problem, const std::string& note) {
    return Do({.revision = revision_,
               .action = {.verb = OperatorVerb::kAcknowledge, .note = note, .problem = problem}});
  };
  ASSERT_TRUE(acknowledge("disk-full", "superseded").ok());
  ASSERT_TRUE(acknowledge("disk-full", "ordered a disk").ok());
  ASSERT_TRUE(acknowledge("member-fork", "old backup").ok());
  for (int i = 0; i < 198; ++i) {
    SCOPED_TRACE(i);
    now_ += OperatorDesk::kTime;
    // The action happens, and nothing is forgotten.
    if (i % 7 == 3) store_.failure().After(1);
    ASSERT_TRUE(Do(i % 2 == 0 ? OperatorVerb::kPause : OperatorVerb::kResume).ok());
    store_.failure().Heal();
    const std::string before = desk_->Json().Dump();
    if (i % 5 == 1) Start();
    EXPECT_EQ(desk_->Json().Dump(), before);
    EXPECT_EQ(rounds_->Status().paused, i % 2 == 0);
  }
  EXPECT_EQ(store_.Items(tacet::server::kOperatorsPlace)->size(), OperatorDesk::kMostInTime + 2);
  ASSERT_TRUE(Do(OperatorVerb::kPause, "holidays").ok());
  for (size_t i = 0; i < 2 * OperatorDesk::kMostInTime; ++i) {
    now_ += OperatorDesk::kTime;
    ASSERT_TRUE(acknowledge("disk-full", "still full").ok());
  }
  Start();
  EXPECT_TRUE(rounds_->Status().paused);
  EXPECT_THAT(desk_->Json().Dump(), HasSubstr(R"("note":"holidays")"));
  EXPECT_THAT(desk_->Json().Dump(), HasSubstr("old backup"));
  EXPECT_EQ(store_.Items(tacet::server::kOperatorsPlace)->size(), OperatorDesk::kMostInTime + 2);
  EXPECT_EQ(Do({.revision = 0, .action = {.verb = OperatorVerb::kResume}}).code(),
            absl::StatusCode::kAborted);
}

// A clock that was a year ahead is set right: an operator who paused can resume.
TEST_F(OperatorDeskTest, AClockThatIsSetBackLocksNobodyOut) {
  const uint64_t right = now_;
  now_ += 365 * 86'400;
  for (size_t i = 0; i + 1 < OperatorDesk::kMostInTime; ++i) {
    ASSERT_TRUE(Do(i % 2 == 0 ? OperatorVerb::kPause : OperatorVerb::kResume).ok());
  }
  now_ = right;
  EXPECT_TRUE(Do(OperatorVerb::kResume).ok());
  EXPECT_EQ(Do(OperatorVerb::kPause), absl::OkStatus());
  for (const bool restarts : {false, true}) {
    if (restarts) Start();
    EXPECT_EQ(Do(OperatorVerb::kResume), absl::OkStatus());
    EXPECT_EQ(Do(OperatorVerb::kPause), absl::OkStatus());
  }
}

TEST_F(OperatorDeskTest, RefusalsAreLoggedNowAndThen) {
  for (int i = 0; i < 5; ++i) desk_->NoteRefused("unknown-token");
  desk_->NoteRefused("not-now", "ann");
  EXPECT_THAT(log_.Events(),
              ElementsAre(R"(warning operator-refused {"reason":"unknown-token"})",
                          R"(warning operator-refused {"reason":"not-now","by":"ann"})"));
}

}  // namespace
}  // namespace tacet::host
