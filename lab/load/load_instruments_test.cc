#include "lab/load/load_instruments.h"

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/member/member_state_contract_for_test.h"
#include "tacet/member/memory_member_state.h"
#include "tacet/member/memory_node_log_for_test.h"
#include "tacet/protocol/announcement.h"
#include "tacet/protocol/member_request.h"
#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/protocol/whole_requests_for_test.h"

namespace tacet::app::load {
namespace {

using member::NodeEvent;
using member::NodeEventKind;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class InstrumentsTest : public ::testing::Test {
 protected:
  NodeEvent Event(NodeEventKind kind, std::string what, uint32_t round) {
    NodeEvent event;
    event.kind = kind;
    event.what = std::move(what);
    event.attempt = secagg::AttemptNumber{.epoch = 0, .round = round, .attempt = 0};
    event.bytes = 100;
    event.text = "because";
    return event;
  }
  base::Bytes Announced(uint32_t round) {
    protocol::Announcement told{.listed = {{.round = round}}, .finished = round};
    told.current = protocol::AnnouncedAttempt{.attempt = {.number = {.round = round}}};
    return protocol::WriteAnnouncement(told);
  }
  LoadResult Result() { return meter_.Result().value(); }

  LoadMeter meter_{{.members = 1, .rounds = 3, .on_round = [](const LoadRound&) {}}};
  MemberTimes times_{meter_};
  MeasuredLog log_{nullptr, times_};
};

TEST_F(InstrumentsTest, ARunWithAViolationHasNoFigures) {
  const absl::Status violation = log_.Write(Event(NodeEventKind::kViolation, "fork", 0));
  EXPECT_EQ(base::Message(violation), "protocol violation: fork: because");
  EXPECT_FALSE(protocol::IsRetryable(violation));
  EXPECT_EQ(base::Message(log_.Write(Event(NodeEventKind::kRefused, "upload", 0))),
            "the member refused: upload: because");
  EXPECT_EQ(base::Message(log_.Write(Event(NodeEventKind::kNote, "not-admitted", 0))),
            "the server refused: not-admitted: because");
  EXPECT_TRUE(log_.Write(Event(NodeEventKind::kNote, "upload-not-taken", 0)).ok());
}

TEST_F(InstrumentsTest, WhatIsMeasuredIsStillWritten) {
  auto inner = std::make_unique<member::testing::MemoryNodeLog>();
  const member::testing::MemoryNodeLog& written = *inner;
  MeasuredLog log(std::move(inner), times_);
  EXPECT_TRUE(log.Write(Event(NodeEventKind::kSent, "upload", 0)).ok());
  EXPECT_FALSE(log.Write(Event(NodeEventKind::kViolation, "fork", 0)).ok());
  EXPECT_THAT(written.events(), SizeIs(2));
}

// Sealing is what is done between the update and the saved upload; sending follows.
TEST_F(InstrumentsTest, UploadsAreSealedAndSent) {
  SyntheticUpdates updates(times_);
  MeasuredState state(std::make_unique<member::MemoryMemberState>(), times_);
  const secagg::Attempt attempt{.number = {.round = 0}};
  const std::vector<float> model(5);
  std::vector<float> update(5);
  times_.IsAnswered(Announced(0));
  ASSERT_TRUE(updates.Update({}, model, update).ok());
  for (const float value : update) EXPECT_NE(value, 0);
  ASSERT_TRUE(state.SaveUpload(attempt, base::Bytes(100, 1)).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_TRUE(log_.Write(Event(NodeEventKind::kSent, "upload", 0)).ok());
  ASSERT_TRUE(log_.Write(Event(NodeEventKind::kApplied, "sum", 0)).ok());
  times_.IsAnswered(Announced(1));
  ASSERT_THAT(Result().upload_seconds, SizeIs(1));
  EXPECT_GE(Result().upload_seconds[0], 0.02);
  EXPECT_EQ(Result().upload_bytes, 100u);
  ASSERT_THAT(Result().rounds, SizeIs(1));
  EXPECT_LT(Result().rounds[0].sealing_seconds, 0.02);  // sleeping needs no processor
}

TEST_F(InstrumentsTest, AMemberThatTakesALaterStateHasAllRoundsBefore) {
  for (uint32_t round = 0; round < 4; ++round) times_.IsAnswered(Announced(round));
  EXPECT_TRUE(log_.Write(Event(NodeEventKind::kApplied, "sum", 0)).ok());
  EXPECT_TRUE(log_.Write(Event(NodeEventKind::kApplied, "checkpoint", 3)).ok());
  EXPECT_THAT(Result().rounds, SizeIs(3));
  EXPECT_THAT(Result().fetch_seconds, SizeIs(1));
}

// Answers with what is there, and notes whether the member's turn was free meanwhile.
class RecordingWire final : public protocol::Wire {
 public:
  explicit RecordingWire(Turns& turns, std::vector<bool>& free) : turns_(turns), free_(free) {}
  absl::StatusOr<base::Bytes> Call(std::span<const uint8_t> request, uint32_t) override {
    free_.push_back(turns_.TryTake());
    if (free_.back()) turns_.Give();
    return base::Bytes(request.begin(), request.end());
  }
  void Stop() override {}

 private:
  Turns& turns_;
  std::vector<bool>& free_;
};

TEST_F(InstrumentsTest, WhoWaitsForAnAnnouncementLeavesTheTurnToOthers) {
  const protocol::testing::SmallFederation members;
  const auto written = [&](protocol::RequestBody body) {
    return protocol::WriteMemberRequest({.member = 0, .time = 0, .body = std::move(body)},
                                        members.manifest(), members.site(0).signing);
  };
  Turns turns(1);
  Turn turn(turns);
  turn.Take();
  std::vector<bool> free;
  TurnWire wire(std::make_unique<RecordingWire>(turns, free), turn, times_);
  EXPECT_TRUE(wire.Call(written(protocol::AwaitRequest{}), 1).ok());
  EXPECT_TRUE(wire.Call(written(protocol::FetchAttestationsRequest{}), 1).ok());
  turn.Give();
  turn.Give();
  EXPECT_TRUE(wire.Call(written(protocol::FetchAttestationsRequest{}), 1).ok());
  EXPECT_EQ(free, (std::vector<bool>{true, false, true}));
  // As a session does: head and content apart.
  turn.Take();
  free.clear();
  const base::Bytes await = written(protocol::AwaitRequest{});
  const base::Bytes fetch = written(protocol::FetchAttestationsRequest{});
  EXPECT_EQ(wire.CallWithContent(await, {}, 1).value(), await);
  base::Bytes whole = fetch;
  whole.push_back(7);
  EXPECT_EQ(wire.CallWithContent(fetch, base::Bytes{7}, 1).value(), whole);
  EXPECT_EQ(free, (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace tacet::app::load

namespace tacet::member::testing {
namespace {

struct MeasuredBackend {
  MemberState& state() { return measured; }
  void Reopen() {}
  app::load::LoadMeter meter{
      {.members = 1, .rounds = 1, .on_round = [](const app::load::LoadRound&) {}}};
  app::load::MemberTimes times{meter};
  app::load::MeasuredState measured{std::make_unique<MemoryMemberState>(), times};
};
INSTANTIATE_TYPED_TEST_SUITE_P(Measured, MemberStateContract, MeasuredBackend);

}  // namespace
}  // namespace tacet::member::testing
