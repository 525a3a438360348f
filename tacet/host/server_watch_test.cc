#include "tacet/host/server_watch.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/host/log_for_test.h"
#include "tacet/protocol/small_federation_for_test.h"

namespace tacet::host {
namespace {

using protocol::AttemptPhase;
using tacet::server::AttemptRecord;
using tacet::server::ServerStatus;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

AttemptRecord Record(uint32_t round, uint32_t attempt, AttemptPhase phase,
                     uint32_t participants = 0, std::string failure = "") {
  return {.attempt = {.number = {.epoch = 1, .round = round, .attempt = attempt}},
          .phase = phase,
          .begun = 100,
          .deadline = 200,
          .participants = participants,
          .failure = std::move(failure)};
}

agreement::ManifestSpec TwoRounds() {
  agreement::ManifestSpec agreement = protocol::testing::SmallAgreement();
  agreement.rounds = 2;
  return agreement;
}

// Members 1 and 4 are absent, one of them since the start.
ServerStatus WaitingForTwo() {
  ServerStatus status;
  status.here = 3;
  status.waiting = true;
  status.gathering = {.here = 3, .needed = 4, .seats_here = 3, .seats_needed = 4};
  status.awaited = {{.member = 1, .last_seen = 1000}, {.member = 4, .last_seen = std::nullopt}};
  return status;
}

class ServerWatchTest : public ::testing::Test {
 protected:
  void Note(const std::vector<AttemptRecord>& attempts, uint32_t accepted = 0,
            std::string stopped = "") {
    ServerStatus status;
    status.invited = 5;
    status.accepted = accepted;
    status.attempts = attempts.size();
    status.stopped = std::move(stopped);
    if (!attempts.empty()) status.last = attempts.back();
    for (const AttemptRecord& record : attempts) {
      status.finished += record.phase == AttemptPhase::kPublished ? 1 : 0;
    }
    watch_.Note(status, attempts);
  }
  std::string Metrics() { return metrics_.Text(0); }

  LogForTest log_;
  ServerMetrics metrics_;
  std::chrono::steady_clock::time_point now_{};
  protocol::testing::SmallFederation members_{TwoRounds()};
  ServerWatch watch_{members_.manifest(), *log_.log, metrics_, [this] { return now_; }};
};

TEST_F(ServerWatchTest, FollowsARoundToItsEnd) {
  Note({});
  Note({Record(0, 0, AttemptPhase::kCollecting)});
  Note({Record(0, 0, AttemptPhase::kCollecting)}, 3);
  now_ += std::chrono::seconds(40);
  Note({Record(0, 0, AttemptPhase::kUnmasking, 5)}, 5);
  now_ += std::chrono::seconds(7);
  Note({Record(0, 0, AttemptPhase::kPublished, 5)}, 5);
  Note({Record(0, 0, AttemptPhase::kPublished, 5)}, 5);
  EXPECT_THAT(
      log_.Events(),
      ElementsAre(
          R"(info attempt-begun {"epoch":1,"round":0,"attempt":0,"deadline":200,"invited":5})",
          R"(info attempt-closed {"epoch":1,"round":0,"attempt":0,"participants":5,"deadline":200})",
          R"(info attempt-published {"epoch":1,"round":0,"attempt":0,"participants":5})"));
  const std::string metrics = Metrics();
  EXPECT_THAT(metrics, HasSubstr("tacet_uploads_accepted_total 5"));
  EXPECT_THAT(metrics, HasSubstr("tacet_published_attempts_total 1"));
  EXPECT_THAT(metrics, HasSubstr("tacet_phase_seconds_sum{phase=\"collecting\"} 40"));
  EXPECT_THAT(metrics, HasSubstr("tacet_phase_seconds_sum{phase=\"unmasking\"} 7"));
  EXPECT_THAT(metrics, HasSubstr("tacet_phase{phase=\"published\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("tacet_phase{phase=\"collecting\"} 0"));
}

TEST_F(ServerWatchTest, TellsOfACommitteeThatIsAwaited) {
  Note({Record(0, 0, AttemptPhase::kUnmasking, 5)}, 5);
  AttemptRecord extended = Record(0, 0, AttemptPhase::kUnmasking, 5);
  extended.deadline = 500;
  ServerStatus status;
  status.attempts = 1;
  status.last = extended;
  status.votes = 2;
  status.awaited = {{.member = 1, .last_seen = 1000}};
  for (int look = 0; look < 2; ++look) watch_.Note(status, {extended});
  EXPECT_THAT(
      log_.Events(),
      ElementsAre(
          HasSubstr("attempt-found"),
          R"(warning attempt-extended {"epoch":1,"round":0,"attempt":0,"deadline":500,"votes":2,"unmask_shares":0,)"
          R"("away":[{"name":")" +
              members_.manifest().members()[1].name + R"(","last_seen":1000,"silent":false}]})"));
}

// Where every member uploads, an attempt with too few uploads continues.
TEST_F(ServerWatchTest, TellsOfUploadsThatAreAwaited) {
  Note({});
  Note({Record(0, 0, AttemptPhase::kCollecting)});
  AttemptRecord extended = Record(0, 0, AttemptPhase::kCollecting);
  extended.deadline = 500;
  ServerStatus status;
  status.attempts = 1;
  status.last = extended;
  status.accepted = 4;
  status.awaited = {{.member = 1, .last_seen = 1000}};
  for (int look = 0; look < 2; ++look) watch_.Note(status, {extended});
  EXPECT_THAT(
      log_.Events().back(),
      R"(warning attempt-extended {"epoch":1,"round":0,"attempt":0,"deadline":500,"accepted":4,)"
      R"("away":[{"name":")" +
          members_.manifest().members()[1].name + R"(","last_seen":1000,"silent":false}]})");
  EXPECT_EQ(log_.Events().size(), 2u);
}

TEST_F(ServerWatchTest, NamesParticipantsWithWrongSharesOnce) {
  Note({Record(0, 0, AttemptPhase::kUnmasking, 5)}, 5);
  const AttemptRecord failed = Record(0, 0, AttemptPhase::kFailed, 5, "wrong-shares");
  ServerStatus status;
  status.attempts = 1;
  status.last = failed;
  status.left_out = {3};
  for (int look = 0; look < 2; ++look) watch_.Note(status, {failed});
  EXPECT_THAT(log_.Events(),
              ElementsAre(HasSubstr("attempt-found"), HasSubstr(R"("reason":"wrong-shares")"),
                          R"(warning participants-left-out {"names":[")" +
                              members_.manifest().members()[3].name + R"("]})"));
}

TEST_F(ServerWatchTest, NamesThemAgainAfterAStart) {
  ServerStatus status;
  status.left_out = {3};
  for (int look = 0; look < 2; ++look) watch_.Note(status, {});
  EXPECT_THAT(log_.Events(), ElementsAre(HasSubstr("participants-left-out")));
}

TEST_F(ServerWatchTest, NamesEachParticipantThatIsLeftOutInsteadOfAnother) {
  ServerStatus status;
  for (const uint64_t member : {3, 1, 1, 3}) {
    status.left_out = {member};
    watch_.Note(status, {});
  }
  EXPECT_EQ(log_.Events().size(), 3u);
  EXPECT_THAT(log_.Events().at(1), HasSubstr(members_.manifest().members()[1].name));
}

TEST_F(ServerWatchTest, MissesNothingBetweenTwoLooks) {
  Note({});
  Note({Record(0, 0, AttemptPhase::kCollecting)}, 2);
  Note({Record(0, 0, AttemptPhase::kFailed, 0, "too-few-uploads"),
        Record(0, 1, AttemptPhase::kPublished, 4), Record(1, 0, AttemptPhase::kCollecting)},
       1);
  EXPECT_THAT(
      log_.Events(),
      ElementsAre(HasSubstr("info attempt-begun"), HasSubstr(R"("reason":"too-few-uploads")"),
                  HasSubstr("info attempt-begun"), HasSubstr("info attempt-published"),
                  HasSubstr(R"(attempt-begun {"epoch":1,"round":1)")));
  EXPECT_THAT(log_.Events().at(1), HasSubstr("warning attempt-failed"));
  const std::string metrics = Metrics();
  EXPECT_THAT(metrics, HasSubstr("tacet_uploads_accepted_total 7"));
  EXPECT_THAT(metrics, HasSubstr("tacet_failed_attempts_total{reason=\"too-few-uploads\"} 1"));
}

// A process that was killed may have decided this after its last look.
TEST_F(ServerWatchTest, WhatWasThereBeforeIsCountedAndTheLastOfItLogged) {
  Note({Record(0, 0, AttemptPhase::kFailed, 0, "refused"),
        Record(0, 1, AttemptPhase::kPublished, 4), Record(1, 0, AttemptPhase::kCollecting)},
       3);
  const std::vector<std::string> found = {
      R"(info attempt-found {"epoch":1,"round":0,"attempt":1,"phase":"published","deadline":200,)"
      R"("participants":4})",
      R"(info attempt-found {"epoch":1,"round":1,"attempt":0,"phase":"collecting","deadline":200,)"
      R"("participants":0})"};
  EXPECT_EQ(log_.Events(), found);
  EXPECT_THAT(Metrics(), HasSubstr("tacet_failed_attempts_total{reason=\"refused\"} 1"));
  EXPECT_THAT(Metrics(), HasSubstr("tacet_uploads_accepted_total 0"));
  now_ += std::chrono::seconds(9);
  Note({Record(0, 0, AttemptPhase::kFailed, 0, "refused"),
        Record(0, 1, AttemptPhase::kPublished, 4), Record(1, 0, AttemptPhase::kUnmasking, 5)},
       5);
  EXPECT_THAT(log_.Events(), ElementsAre(found[0], found[1], HasSubstr("attempt-closed")));
  EXPECT_THAT(Metrics(), HasSubstr("tacet_uploads_accepted_total 2"));
  // When it began is not known to this process.
  EXPECT_THAT(Metrics(), Not(HasSubstr("tacet_phase_seconds_sum")));
}

TEST_F(ServerWatchTest, SaysOnceThatNoAttemptFollows) {
  Note({Record(0, 0, AttemptPhase::kPublished, 4), Record(1, 0, AttemptPhase::kPublished, 4)}, 4,
       "all 2 rounds are done");
  Note({Record(0, 0, AttemptPhase::kPublished, 4), Record(1, 0, AttemptPhase::kPublished, 4)}, 4,
       "all 2 rounds are done");
  EXPECT_THAT(log_.Events(),
              ElementsAre(HasSubstr("attempt-found"), HasSubstr("attempt-found"),
                          R"(info all-rounds-published {"reason":"all 2 rounds are done"})"));
  EXPECT_THAT(Metrics(), HasSubstr("tacet_stopped 1"));
}

TEST_F(ServerWatchTest, AFederationThatEndsEarlyIsAnError) {
  Note({Record(0, 0, AttemptPhase::kFailed, 0, "refused")}, 0,
       "round 0 failed in all its attempts");
  EXPECT_THAT(log_.Events(),
              ElementsAre(HasSubstr(R"("phase":"failed")"), HasSubstr("error federation-stopped")));
}

TEST_F(ServerWatchTest, WhoIsWaitedForIsLoggedOnce) {
  watch_.Note(WaitingForTwo(), {});
  EXPECT_THAT(log_.Events(), IsEmpty());  // they may come within seconds
  now_ += ServerWatch::kBeforeWaitingIsLogged;
  watch_.Note(WaitingForTwo(), {});
  watch_.Note(WaitingForTwo(), {});
  now_ += std::chrono::hours(1);
  watch_.Note(WaitingForTwo(), {});
  EXPECT_THAT(
      log_.Events(),
      ElementsAre(AllOf(HasSubstr(R"(warning waiting-for-members {"here":3,"needed":4,)"),
                        HasSubstr(R"("last_seen":1000)"), HasSubstr(R"("last_seen":null)"))));
  EXPECT_THAT(Metrics(),
              AllOf(HasSubstr("tacet_waiting_for_members 1"), HasSubstr("tacet_members_here 3"),
                    HasSubstr("tacet_members_needed 4")));

  ServerStatus enough = WaitingForTwo();
  enough.gathering->here = 4;
  enough.gathering->seats_here = 4;
  watch_.Note(enough, {});
  watch_.Note(enough, {});
  EXPECT_THAT(log_.Events(), ElementsAre(_, "info members-are-back {}"));
  EXPECT_THAT(Metrics(), HasSubstr("tacet_waiting_for_members 0"));
}

TEST_F(ServerWatchTest, OthersWhoGoAwayAreLoggedAMinuteLater) {
  watch_.Note(WaitingForTwo(), {});
  now_ += ServerWatch::kBeforeWaitingIsLogged;
  watch_.Note(WaitingForTwo(), {});
  ServerStatus more = WaitingForTwo();
  more.awaited.push_back({.member = 2, .last_seen = 1500});
  watch_.Note(more, {});
  EXPECT_THAT(log_.Events(), SizeIs(1));
  now_ += ServerWatch::kBetweenWaitingLines;
  watch_.Note(more, {});
  EXPECT_THAT(log_.Events(), SizeIs(2));
}

// Members come and go while an attempt collects: that would tell who takes part.
TEST_F(ServerWatchTest, NobodyIsNamedDuringAnAttempt) {
  ServerStatus status = WaitingForTwo();
  status.waiting = false;
  status.gathering.reset();
  status.awaited.clear();
  watch_.Note(status, {});
  now_ += std::chrono::hours(1);
  watch_.Note(status, {});
  EXPECT_THAT(log_.Events(), IsEmpty());
}

}  // namespace
}  // namespace tacet::host
