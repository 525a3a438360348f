#include "tacet/host/problems.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/failure_cause.h"
#include "tacet/base/status.h"
#include "tacet/host/log_for_test.h"
#include "tacet/host/problem_log.h"
#include "tacet/host/store_health.h"
#include "tacet/protocol/small_federation_for_test.h"

namespace tacet::host {
namespace {

using protocol::AttemptPhase;
using protocol::ObjectionReason;
using tacet::server::RefusedFor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kNow = 1'755'000'000;

class ProblemsTest : public ::testing::Test {
 protected:
  ProblemsTest() {
    status_.here = status_.taken = 5;
    status_.watched_since = kNow - 86'400;
  }
  std::vector<Problem> Found() const {
    return FindProblems({.manifest = members_.manifest(),
                         .status = status_,
                         .mail = mail_,
                         .own = own_,
                         .certificate_end = certificate_end_,
                         .now = kNow,
                         .unsettled = unsettled_});
  }
  // Members by code.
  std::map<std::string_view, std::vector<uint64_t>> Named() const {
    std::map<std::string_view, std::vector<uint64_t>> named;
    for (const Problem& problem : Found()) {
      std::vector<uint64_t>& members = named[KindOf(problem.code).name];
      for (const ConcernedMember& one : problem.members) members.push_back(one.member);
    }
    return named;
  }
  std::string Text() const {
    std::string text;
    for (const Problem& problem : Found()) text += ProblemText(problem, members_.manifest()) + "\n";
    return text;
  }
  void Open(AttemptPhase phase) {
    status_.last.emplace();
    status_.last->phase = phase;
    status_.last->begun = kNow - 600;
  }

  protocol::testing::SmallFederation members_;
  tacet::server::ServerStatus status_;
  tacet::server::MailStatus mail_;
  std::vector<Problem> own_;
  uint64_t certificate_end_ = kNow + 100 * 86'400;
  bool unsettled_ = false;
};

TEST_F(ProblemsTest, ThereAreNoneWhereAllIsWell) {
  EXPECT_THAT(Found(), IsEmpty());
  status_.waiting = true;
  EXPECT_THAT(Found(), IsEmpty());
  Open(AttemptPhase::kUnmasking);
  status_.waiting = false;
  status_.awaited = {{.member = 2, .last_seen = kNow - 5, .owes = "vote"}};
  EXPECT_THAT(Found(), IsEmpty());  // it has time
}

TEST_F(ProblemsTest, AMemberThatIsAwayHasCauseNameAndRemedy) {
  status_.waiting = true;
  status_.awaited = {{.member = 1, .last_seen = kNow - 7200}, {.member = 3, .last_seen = {}}};
  EXPECT_EQ(Text(),
            "member-away: a member does not call: site-1 (for 2 h), site-3 (since the server "
            "started). Start `tacet client run` at its site. If it runs, test the line there with "
            "`tacet client check`.\n");
  status_.watched_since = kNow - 80;  // nobody had time to come
  EXPECT_THAT(Named(), ElementsAre(Pair("member-away", ElementsAre(1))));
  unsettled_ = true;
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(ProblemsTest, MailThatWaitsHasAMemberAndATime) {
  mail_ = {.letters = {{.member = 1, .since = kNow - 3 * 3600}, {.member = 2, .since = kNow - 60}},
           .without_prekey = {3, 4}};
  status_.waiting = true;
  status_.awaited = {{.member = 4, .last_seen = kNow - 7200}};
  EXPECT_THAT(Named(),
              ElementsAre(Pair("letter-waits", ElementsAre(1)), Pair("member-away", ElementsAre(4)),
                          Pair("prekey-missing", ElementsAre(3))));
  EXPECT_THAT(Text(), HasSubstr("that has not fetched it: site-1 (for 3 h). Start"));
  status_.watched_since = kNow - 800;  // sites leave theirs about every ten minutes
  EXPECT_THAT(Text(), Not(HasSubstr("prekey-missing")));
}

TEST_F(ProblemsTest, APauseIsShownAsLongAsAnAttemptCouldFollow) {
  status_.paused = true;
  EXPECT_THAT(Named(), ElementsAre(Pair("paused", IsEmpty())));
  status_.stopped = "all 20 rounds are done";
  EXPECT_THAT(Text(), Not(HasSubstr("paused")));
}

TEST_F(ProblemsTest, AnOpenAttemptNamesWhoOwesWhat) {
  Open(AttemptPhase::kUnmasking);
  status_.awaited = {{.member = 0, .last_seen = kNow - 100, .owes = "vote"},
                     {.member = 1, .last_seen = kNow - 5, .owes = "vote"},
                     {.member = 4, .last_seen = kNow - 5, .owes = "unmask share", .silent = true}};
  EXPECT_THAT(Named(), UnorderedElementsAre(Pair("seat-away", ElementsAre(0)),
                                            Pair("seat-silent", ElementsAre(4))));
  EXPECT_THAT(Text(), HasSubstr("site-0 (vote, for 100 s)"));
  EXPECT_THAT(Text(), HasSubstr("site-4 (unmask share)"));
  Open(AttemptPhase::kCollecting);
  status_.extended = true;
  status_.awaited = {{.member = 0, .last_seen = kNow - 700, .owes = "upload"},
                     {.member = 1, .last_seen = kNow - 500, .owes = "upload"},
                     {.member = 2, .last_seen = kNow - 5, .owes = "upload"}};
  EXPECT_THAT(Named(), UnorderedElementsAre(Pair("member-away", ElementsAre(0)),
                                            Pair("upload-missing", ElementsAre(1, 2))));
}

TEST_F(ProblemsTest, OneClockIsAMembersSeveralAreTheServers) {
  status_.waiting = true;
  status_.taken = 4;
  status_.awaited = {{.member = 2, .last_seen = kNow - 100}};
  status_.refused = {{.member = 2, .ahead = -1200, .settled = true}};
  EXPECT_THAT(Named(), ElementsAre(Pair("member-clock", ElementsAre(2))));
  EXPECT_THAT(Text(), HasSubstr("site-2 (20 min behind)"));
  status_.refused[0].settled = false;  // the others may not have called yet
  EXPECT_THAT(Named(), ElementsAre(Pair("member-away", ElementsAre(2))));
  status_.taken = 0;
  status_.refused = {{.member = 2, .ahead = -1200, .settled = true},
                     {.member = 3, .ahead = -1210, .settled = false},
                     {.member = 4, .ahead = -1190, .settled = false}};
  EXPECT_THAT(Named(), ElementsAre(Pair("server-clock", IsEmpty())));
  EXPECT_THAT(Text(), Not(HasSubstr("site-")));
  status_.taken = 3;
  for (auto& call : status_.refused) call.settled = true;
  EXPECT_THAT(Named(), ElementsAre(Pair("member-clock", ElementsAre(2, 3, 4))));
  // They differ from each other, so most of them are wrong.
  status_.taken = 0;
  status_.refused = {{.member = 2, .ahead = -1200, .settled = true},
                     {.member = 3, .ahead = 1200, .settled = true}};
  EXPECT_THAT(Named(), ElementsAre(Pair("member-clock", ElementsAre(2, 3))));
}

TEST_F(ProblemsTest, CertificatesAreTheServersOrAMembers) {
  status_.waiting = true;
  status_.awaited = {{.member = 1, .last_seen = kNow - 100}};
  status_.refused = {
      {.member = 1, .why = RefusedFor::kCertificateEnded, .ahead = 0, .settled = true}};
  EXPECT_THAT(Named(), ElementsAre(Pair("member-certificate", ElementsAre(1))));
  status_.refused.clear();
  certificate_end_ = kNow + 86'400 * 3;
  EXPECT_THAT(Text(), StartsWith("server-certificate-ends: its certificate ends soon in 3 days."));
  certificate_end_ = kNow - 5;
  EXPECT_THAT(Named(), ElementsAre(Pair("server-certificate-ended", IsEmpty())));
  EXPECT_TRUE(AnyStops(Found()));
}

TEST_F(ProblemsTest, MembersAreNotNamedForTheServersFaults) {
  Open(AttemptPhase::kCollecting);
  status_.extended = true;
  status_.awaited = {{.member = 1, .last_seen = kNow - 5, .owes = "upload"}};
  for (const ProblemCode code :
       {ProblemCode::kDiskFull, ProblemCode::kDatabaseAway, ProblemCode::kStoreFailed,
        ProblemCode::kObjectLost, ProblemCode::kStandstill, ProblemCode::kNotListening}) {
    own_ = {{.code = code}};
    EXPECT_THAT(Found(), SizeIs(1)) << KindOf(code).name;
    EXPECT_TRUE(AnyStops(Found()));
  }
}

TEST_F(ProblemsTest, ObjectionsAreCountedAndStopNothing) {
  Open(AttemptPhase::kCollecting);
  const auto object = [this](uint64_t member, ObjectionReason reason) {
    status_.objections.push_back({.member = member,
                                  .revision = 1,
                                  .attempt = {.epoch = 0, .round = 3, .attempt = 1},
                                  .reason = reason});
  };
  object(4, ObjectionReason::kFork);
  EXPECT_THAT(Named(), ElementsAre(Pair("member-fork", ElementsAre(4))));
  object(1, ObjectionReason::kFork);
  object(2, ObjectionReason::kFork);
  EXPECT_THAT(Named(), ElementsAre(Pair("server-fork", IsEmpty())));
  EXPECT_THAT(Text(), HasSubstr("(so say 3 of 5 members)"));
  object(3, ObjectionReason::kRollback);
  EXPECT_THAT(Named(), ElementsAre(Pair("rollback", IsEmpty()), Pair("server-fork", IsEmpty())));
  EXPECT_THAT(Text(), HasSubstr("(so say 1 of 5 members, up to round 3 attempt 1)"));
  for (const uint64_t member : {0, 1, 2}) object(member, ObjectionReason::kRollback);
  EXPECT_THAT(Named(), ElementsAre(Pair("rollback", IsEmpty())));
  status_.objections.clear();
  object(0, ObjectionReason::kNoClosedRound);
  EXPECT_THAT(Named(), ElementsAre(Pair("no-closed-round", IsEmpty())));
  EXPECT_FALSE(AnyStops(Found()));
  EXPECT_THAT(Text(), Not(HasSubstr("site-")));
  status_.lost = {{protocol::BulkKind::kClosedRound, 1}, {protocol::BulkKind::kUnmaskShare, 3}};
  EXPECT_THAT(Named(), ElementsAre(Pair("object-lost", IsEmpty())));
  EXPECT_THAT(Text(), HasSubstr("(1 closed-round, 3 unmask-share)"));
  EXPECT_TRUE(AnyStops(Found()));
  // After the last round nobody misses them.
  status_.objections.clear();
  status_.finished = members_.manifest().manifest().spec().rounds;
  EXPECT_THAT(Found(), IsEmpty());
}

// Its word hides nothing else.
TEST_F(ProblemsTest, ASeatThatMayHaveVotedIsNamed) {
  Open(AttemptPhase::kUnmasking);
  for (const uint64_t member : {2, 4}) {
    status_.objections.push_back({.member = member,
                                  .revision = 1,
                                  .attempt = {.epoch = 0, .round = 3, .attempt = 1},
                                  .reason = ObjectionReason::kMayHaveVoted});
  }
  status_.awaited = {{.member = 4, .last_seen = kNow - 7200, .owes = "vote"}};
  EXPECT_THAT(Named(), UnorderedElementsAre(Pair("seat-away", ElementsAre(4)),
                                            Pair("may-have-voted", ElementsAre(2))));
  EXPECT_FALSE(AnyStops(Found()));
}

// A lying seat would hide its silence, and the silence of others.
TEST_F(ProblemsTest, OneMembersWordHidesNobody) {
  Open(AttemptPhase::kUnmasking);
  status_.here = 5;
  status_.awaited = {{.member = 1, .last_seen = kNow - 5, .owes = "vote", .silent = true}};
  status_.objections = {{.member = 1,
                         .revision = 1,
                         .attempt = {.epoch = 0, .round = 3, .attempt = 1},
                         .reason = ObjectionReason::kRollback},
                        {.member = 2,
                         .revision = 1,
                         .attempt = {.epoch = 0, .round = 3, .attempt = 1},
                         .reason = ObjectionReason::kNoClosedRound}};
  EXPECT_THAT(Named(), ElementsAre(Pair("no-closed-round", IsEmpty()), Pair("rollback", IsEmpty()),
                                   Pair("seat-silent", ElementsAre(1))));
}

TEST_F(ProblemsTest, BudgetsAndPoliciesAreNamedAndExplainAStop) {
  status_.abstainers = {{.member = 0, .reason = protocol::AbstentionReason::kBudget},
                        {.member = 2, .reason = protocol::AbstentionReason::kPolicy}};
  EXPECT_THAT(Named(),
              UnorderedElementsAre(Pair("budget", ElementsAre(0)), Pair("policy", ElementsAre(2))));
  status_.stopped = "a budget or a policy allows no further attempt";
  Open(AttemptPhase::kFailed);
  status_.last->failure = "too-few-givers";
  EXPECT_THAT(Found(), SizeIs(2));
  status_.abstainers.clear();
  status_.last->failure = "refused";
  EXPECT_THAT(Named(), ElementsAre(Pair("stopped", IsEmpty())));
  own_ = {{.code = ProblemCode::kDiskFull}};
  EXPECT_THAT(Named(), ElementsAre(Pair("disk-full", IsEmpty())));
  own_.clear();
  status_.objections.clear();
  status_.finished = members_.manifest().manifest().spec().rounds;
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(ProblemsTest, ALongListIsCut) {
  Problem problem{.code = ProblemCode::kMemberAway};
  for (int i = 0; i < 23; ++i) problem.members.push_back({.member = 0});
  EXPECT_THAT(ProblemText(problem, members_.manifest()), HasSubstr("site-0 and 3 more. Start"));
  EXPECT_EQ(ProblemJson(problem, members_.manifest()).Find("members")->items().size(), 20u);
}

TEST_F(ProblemsTest, TheLogHasWhatComesAndGoes) {
  LogForTest log;
  ProblemLog problems(members_.manifest(), *log.log);
  status_.waiting = true;
  status_.awaited = {{.member = 1, .last_seen = kNow - 100}};
  problems.Note(Found());
  status_.awaited = {{.member = 1, .last_seen = kNow - 200}};
  problems.Note(Found());  // the same, longer
  EXPECT_THAT(log.log->Recent(), SizeIs(1));
  status_.awaited.push_back({.member = 2, .last_seen = kNow - 100});
  problems.Note(Found());
  problems.Note({});
  problems.Note({});
  const auto lines = log.log->Recent();
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(*lines[1].Find("event")->AsString(), "problem");
  EXPECT_EQ(lines[1].Find("members")->Dump(), R"(["site-1","site-2"])");
  EXPECT_EQ(*lines[2].Find("event")->AsString(), "problem-over");
  const std::vector<protocol::Objection> said = {
      {.member = 3, .attempt = {}, .reason = ObjectionReason::kFork}};
  problems.NoteObjections(said);
  problems.NoteObjections(said);
  ASSERT_THAT(log.log->Recent(), SizeIs(4));
  EXPECT_EQ(*log.log->Recent()[3].Find("name")->AsString(), "site-3");
}

TEST(StoreHealthTest, TellsRoomAndDatabaseApart) {
  std::chrono::steady_clock::time_point now{};
  StoreHealth health([&now] { return now; });
  const auto failed = [](base::FailureCause cause) {
    return base::Annotate(base::WithCause(base::Unavailable("no"), cause), "the store");
  };
  EXPECT_EQ(health.Now(), std::nullopt);
  health.NoteTick(failed(base::FailureCause::kNotConnected));
  EXPECT_EQ(health.Now()->code, ProblemCode::kDatabaseAway);
  health.NoteTick(base::Unavailable("the state is read anew"));
  EXPECT_EQ(health.Now()->code, ProblemCode::kDatabaseAway);
  health.NoteTick(absl::OkStatus());
  EXPECT_EQ(health.Now(), std::nullopt);
  health.NoteTick(base::Unavailable("who knows"));
  EXPECT_EQ(health.Now()->code, ProblemCode::kStoreFailed);
  health.NoteTick(absl::OkStatus());
  // A disk that is full shows where something is written.
  health.NoteRequest(base::Unavailable("another part of this member"));
  EXPECT_EQ(health.Now(), std::nullopt);
  health.NoteRequest(failed(base::FailureCause::kNoRoom));
  health.NoteTick(absl::OkStatus());
  EXPECT_EQ(health.Now()->code, ProblemCode::kDiskFull);
  now += StoreHealth::kRequestsFailure;
  EXPECT_EQ(health.Now(), std::nullopt);
}

}  // namespace
}  // namespace tacet::host
