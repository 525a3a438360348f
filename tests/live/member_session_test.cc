// Members of a live federation whose server is honest, but may be slow, away or full.
#include "tacet/member/member_session.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/member/attestors.h"
#include "tests/live/live_members_for_test.h"

namespace tacet::live {
namespace {

using protocol::testing::AgreementWith;
using protocol::testing::kSmallDimension;
using protocol::testing::ValueOf;
using testing::ExactAgreement;
using testing::FixedUpdates;
using ::testing::HasSubstr;
using testing::LiveFederation;
using testing::SevenOfNine;

const std::vector<uint64_t> kAll = {0, 1, 2, 3, 4};

TEST(MemberSessionTest, AFederationReachesTheAverageOfItsCohorts) {
  LiveFederation live;
  live.RunWithoutFault(3, kAll);
  for (const auto& cohort : live.published) EXPECT_EQ(cohort.second.size(), 3u);
  for (const auto& site : live.sites) {
    EXPECT_EQ(site->ledger->entries().size(), 3u);  // every attempt, in it or not
    EXPECT_EQ(site->log.Count(member::NodeEventKind::kApplied, "sum"), 3u);
  }
  EXPECT_EQ(live.server->Status().attempts, 3u);
}

// Every request of a training is lost once, so each round costs a training for each of its
// requests.
agreement::ManifestSpec TwoRounds(agreement::ManifestSpec spec) {
  spec.rounds = 2;
  return spec;
}

// Every request of one member is lost, or its answer, and the member is started again from what it
// kept: nobody notices.
TEST(MemberSessionTest, ARestartAtEveryRequestChangesNothing) {
  for (const bool answer : {false, true}) {
    for (int lost = 0;; ++lost) {
      SCOPED_TRACE(fmt::format("member 0 loses {} {}", answer ? "answer" : "request", lost));
      LiveFederation live(TwoRounds(ExactAgreement()));
      LiveFederation::Site& site = live.site(0);
      (answer ? site.wire.lose_answer : site.wire.lose_request) = lost;
      live.RunWithoutFault(2, kAll);
      EXPECT_EQ(site.ledger->entries().size(), 2u);
      ASSERT_EQ(live.server->Status().attempts, 2u);
      if (::testing::Test::HasFailure() || site.wire.calls <= lost) break;
    }
  }
}

// As above without a new process: it continues where it was, in time, although both seats are
// needed and the server has nothing new to say.
TEST(MemberSessionTest, ALostRequestIsMadeAgain) {
  for (const bool answer : {false, true}) {
    for (int lost = 0;; ++lost) {
      LiveFederation live(TwoRounds(ExactAgreement(AgreementWith(0, {3, 1}))));
      live.restarts = false;
      live.RunUntil([&] { return live.IsAt(protocol::AttemptPhase::kCollecting); });
      // Among the two, the one that has to wait for the other's vote.
      LiveFederation::Site& site = live.site(1);
      SCOPED_TRACE(
          fmt::format("member {} loses {} {}", site.number, answer ? "answer" : "request", lost));
      (answer ? site.wire.lose_answer : site.wire.lose_request) = lost;
      live.RunWithoutFault(2, kAll);
      EXPECT_EQ(live.server->Status().attempts, 2u);
      if (::testing::Test::HasFailure() || site.wire.calls <= lost) break;
    }
  }
}

// As above with a new process after every single step of everybody.
TEST(MemberSessionTest, NewProcessesAllTheTimeChangeNothing) {
  LiveFederation live;
  for (int turn = 0; turn < 60; ++turn) {
    live.Turn(5);
    live.RestartServer();
    for (auto& site : live.sites) live.Restart(*site);
  }
  live.ExpectModels(3, kAll);
  live.ExpectNoViolations();
  live.ExpectNobodySpokeTwice();
  int trained = 0;
  for (const auto& site : live.sites) trained += site->updates.asked;
  EXPECT_EQ(trained, 9);
}

TEST(MemberSessionTest, SessionsOfOneProcessShareTheStateThatTheyHold) {
  member::SharedCheckpoints checkpoints;
  LiveFederation live;
  live.checkpoints = &checkpoints;
  for (auto& site : live.sites) live.Restart(*site);
  live.Run();
  live.ExpectModels(3, kAll);
  live.ExpectNoViolations();
  for (const auto& site : live.sites) {
    EXPECT_EQ(&site->session->model(), &live.site(0).session->model()) << site->number;
  }
}

// A member holds what it computed or accepted itself, whatever the others hold.
TEST(MemberSessionTest, AMemberWithAnotherStateSharesNothing) {
  member::SharedCheckpoints checkpoints;
  LiveFederation live;
  protocol::Checkpoint forged{.federation = live.members.manifest().manifest().federation(),
                              .next_round = 0,
                              .model = std::vector<float>(kSmallDimension, 1),
                              .velocity = {}};
  ASSERT_TRUE(live.site(4).state.SaveCheckpoint(protocol::WriteCheckpoint(forged)).ok());
  live.checkpoints = &checkpoints;
  for (auto& site : live.sites) live.Restart(*site);
  EXPECT_EQ(live.site(4).session->model(), forged.model);
  EXPECT_EQ(live.site(0).session->model(), std::vector<float>(kSmallDimension));
  live.options.collecting_seconds = 20;
  live.RestartServer();
  live.RunUntil([&] { return live.site(0).session->next_round() == 1; });
  EXPECT_NE(live.site(4).session->model(), live.site(0).session->model());
  EXPECT_GE(live.site(4).log.Count(member::NodeEventKind::kViolation, "fork"), 1u);
}

TEST(MemberSessionTest, OneThatComesLateAppliesTheRoundsThatAreKept) {
  LiveFederation live(ExactAgreement(), 5);
  live.site(4).away = true;
  live.options.collecting_seconds = 20;
  live.RestartServer();
  live.Run();
  live.site(4).away = false;
  live.Run();
  live.ExpectModels(3, kAll);
  live.ExpectNoViolations();
  EXPECT_EQ(live.site(4).log.Count(member::NodeEventKind::kApplied, "sum"), 3u);
  EXPECT_EQ(live.site(4).updates.asked, 0);
  // It is charged for all of them: their model is what the others released.
  EXPECT_EQ(live.site(4).ledger->entries().size(), live.server->Status().attempts);
}

TEST(MemberSessionTest, OneThatComesVeryLateTakesTheCheckpoint) {
  LiveFederation live(ExactAgreement(), 1);
  live.site(4).away = true;
  live.options.collecting_seconds = 20;
  live.RestartServer();
  live.Run();
  live.site(4).away = false;
  live.Run();
  live.ExpectModels(3, kAll);
  live.ExpectNoViolations();
  EXPECT_EQ(live.site(4).log.Count(member::NodeEventKind::kApplied, "checkpoint"), 1u);
  EXPECT_EQ(live.site(4).log.Count(member::NodeEventKind::kApplied, "sum"), 0u);
}

// Attestors put the state with which a round begins; others do when the server has it from too few.
TEST(MemberSessionTest, ACheckpointIsEncryptedOnlyForAServerThatTakesIt) {
  constexpr uint64_t kAttestor = 1, kOthers[] = {3, 6};
  for (const bool all_attestors : {true, false}) {
    SCOPED_TRACE(all_attestors);
    LiveFederation live(SevenOfNine(), 3, 9);
    size_t asked = 0, put = 0;
    for (const uint64_t other : kOthers) {
      live.site(other).wire.lie = [&](const protocol::RequestBody& body, auto answer) {
        const auto of_checkpoint = [&](const auto* request) {
          return request != nullptr && request->name.kind == protocol::BulkKind::kCheckpoint;
        };
        asked += of_checkpoint(std::get_if<protocol::FetchPartRequest>(&body)) ? 1 : 0;
        put += of_checkpoint(std::get_if<protocol::PutPartRequest>(&body)) ? 1 : 0;
        return answer;
      };
    }
    live.RunUntil([&] { return live.IsAt(protocol::AttemptPhase::kPublished); }, 1);
    live.server->Obey(server::DrainAsked());
    live.site(kAttestor).away = !all_attestors;
    for (int turn = 0; turn < 6; ++turn) live.Turn(member::MemberMachine::kAttestorSeconds / 2);
    size_t sent = 0;
    for (const uint64_t other : kOthers) {
      EXPECT_EQ(live.site(other).session->next_round(), 1u);
      sent += live.site(other).log.Count(member::NodeEventKind::kSent, "checkpoint");
    }
    EXPECT_EQ(asked, 2u);
    EXPECT_EQ(put > 0, !all_attestors);
    EXPECT_EQ(sent, all_attestors ? 0u : 1u);
    live.ExpectNoViolations();
  }
}

// Steps of one member after another, until the server has published: nobody has attested since.
void Publish(LiveFederation& live) {
  for (int turn = 0; turn < 200; ++turn) {
    live.Tick(1);
    for (auto& site : live.sites) {
      if (live.IsAt(protocol::AttemptPhase::kPublished)) return;
      ASSERT_TRUE(site->session->Step().ok());
    }
  }
  ADD_FAILURE() << "nothing was published";
}

// Members without the published model: the server of an epoch that ends waits for those that
// are connected. Behind the last round all of them say so at once, drawn or not.
TEST(MemberSessionTest, AServerKnowsWhoHasNotThePublishedModel) {
  agreement::ManifestSpec agreement = ExactAgreement();
  agreement.rounds = 1;
  agreement.sampling.cohort = 3;
  LiveFederation live(agreement);
  Publish(live);
  live.server->Obey(server::DrainAsked());
  // One that confirmed the sum has it, and says so in its next step.
  EXPECT_EQ(live.server->Status().without_result.size(), 5u);
  const uint64_t cut = live.published.at(0).contains(4) ? 3 : 4;
  live.site(cut).wire.cut = true;
  for (int turn = 0; turn < 4; ++turn) live.Turn(1);
  EXPECT_EQ(live.server->Status().without_result.size(), 1u);
  EXPECT_EQ(live.site(cut).session->next_round(), 0u);
  live.site(cut).wire.cut = false;
  for (int turn = 0; turn < 4; ++turn) live.Turn(1);
  EXPECT_EQ(live.site(cut).session->next_round(), 1u);
  EXPECT_EQ(live.server->Status().without_result.size(), 0u);
  live.ExpectNoViolations();
}

// One that does not call for 90 s is not waited for.
TEST(MemberSessionTest, AServerWaitsForNoMemberThatIsAbsent) {
  agreement::ManifestSpec agreement = ExactAgreement();
  agreement.rounds = 1;
  LiveFederation live(agreement);
  Publish(live);
  live.server->Obey(server::DrainAsked());
  live.site(4).away = true;
  for (int turn = 0; turn < 4; ++turn) live.Turn(1);
  EXPECT_EQ(live.server->Status().without_result.size(), 1u);
  for (int turn = 0; turn < 10; ++turn) live.Turn(10);
  EXPECT_EQ(live.server->Status().without_result.size(), 0u);
}

// A server that was put back to its state from before it took the uploads.
TEST(MemberSessionTest, UploadsThatAServerHasLostAreSentAgain) {
  agreement::ManifestSpec agreement = ExactAgreement();
  agreement.sampling.cohort = 5;
  LiveFederation live(agreement);
  live.site(4).wire.cut = true;
  live.RunUntil([&] { return live.published[0].size() == 4; }, 1);
  live.store.Lose(server::ItemKind::kAccepted);
  ASSERT_TRUE(live.blobs.KeepOnly({}).ok());
  live.RestartServer();
  live.site(4).wire.cut = false;
  live.RunWithoutFault(3, kAll);
  EXPECT_EQ(live.server->Status().attempts, 3u);
}

// A server that loses what it acknowledges, whenever it is asked.
TEST(MemberSessionTest, ALostUploadIsSentAFewTimes) {
  agreement::ManifestSpec agreement = ExactAgreement();
  agreement.sampling.cohort = 5;
  LiveFederation live(agreement);
  live.site(4).wire.cut = true;
  int sent = 0;
  live.site(0).wire.watch = [&](const protocol::RequestBody& body) {
    const auto* put = std::get_if<protocol::PutPartRequest>(&body);
    const bool upload = put != nullptr && put->name.kind == protocol::BulkKind::kUpload;
    if (upload && !put->part.empty()) ++sent;
  };
  for (int turn = 0; turn < 20; ++turn) {
    live.Turn(1);
    live.store.Lose(server::ItemKind::kAccepted);
    ASSERT_TRUE(live.blobs.KeepOnly({}).ok());
    live.RestartServer();
  }
  EXPECT_EQ(sent, 1 + member::MemberMachine::kMaxRefusals);
  EXPECT_TRUE(live.site(0).last.ok()) << live.site(0).last;
}

// n - v seats may be absent at no cost: no attempt and no charge more than otherwise.
TEST(MemberSessionTest, AnAbsentSeatCostsNothing) {
  for (uint32_t seat = 0; seat < 5; ++seat) {
    SCOPED_TRACE(seat);
    LiveFederation live;
    LiveFederation::Site& absent = live.site(live.MemberOn(seat));
    // It uploads where it is invited, and is absent for everything else.
    live.between = [&] { absent.away = !live.IsAt(protocol::AttemptPhase::kCollecting); };
    live.Run();
    std::vector<uint64_t> others;
    for (const auto& site : live.sites) {
      if (site->number == absent.number) continue;
      others.push_back(site->number);
      EXPECT_EQ(site->ledger->entries().size(), 3u);
      EXPECT_EQ(site->log.Count(member::NodeEventKind::kApplied, "sum"), 3u);
    }
    live.ExpectModels(3, others);
    live.ExpectNoViolations();
    live.ExpectNobodySpokeTwice();
    EXPECT_EQ(live.server->Status().attempts, 3u);
    for (const char* const what : {"vote", "unmask-share", "confirmation"}) {
      EXPECT_EQ(absent.log.Count(member::NodeEventKind::kSent, what), 0u) << what;
    }
  }
}

TEST(MemberSessionTest, WithoutAQuorumNothingIsReleased) {
  LiveFederation live;
  live.RunUntil([&] { return live.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  for (const uint32_t seat : {0, 1}) live.site(live.MemberOn(seat)).away = true;
  for (int turn = 0; turn < 20; ++turn) live.Turn(20);  // eight times the committee's time
  for (const auto& site : live.sites) {
    EXPECT_EQ(site->log.Count(member::NodeEventKind::kSent, "unmask-share"), 0u);
    EXPECT_EQ(site->session->next_round(), 0u);
  }
  // They come back: the same attempt continues, with the uploads that were there.
  for (const uint32_t seat : {0, 1}) live.site(live.MemberOn(seat)).away = false;
  live.Run();
  live.ExpectModels(3, kAll);
  live.ExpectNoViolations();
  EXPECT_EQ(live.server->Status().attempts, 3u);
  for (const auto& site : live.sites) EXPECT_EQ(site->ledger->entries().size(), 3u);
}

TEST(MemberSessionTest, ASeatThatDiesIsNotMissed) {
  for (const uint32_t seat : {0, 4}) {
    LiveFederation live;
    live.RunUntil([&] { return live.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
    const uint64_t dead = live.MemberOn(seat);
    live.site(dead).away = true;
    live.options.collecting_seconds = 20;
    live.RestartServer();
    live.Run();
    std::vector<uint64_t> others;
    for (const uint64_t number : kAll) {
      if (number != dead) others.push_back(number);
    }
    live.ExpectModels(3, others);
    live.ExpectNoViolations();
  }
}

// The seat cannot be missed, since another one is absent. It is killed after its vote and before
// its unmask share, several times.
TEST(MemberSessionTest, ASeatKilledBetweenVoteAndUnmaskShareGoesOn) {
  LiveFederation live;
  LiveFederation::Site& killed = live.site(live.MemberOn(1));
  LiveFederation::Site& absent = live.site(live.MemberOn(3));
  live.between = [&] { absent.away = !live.IsAt(protocol::AttemptPhase::kCollecting); };
  int kills = 0;
  killed.wire.lie = [&](const protocol::RequestBody& body,
                        absl::StatusOr<base::Bytes> answer) -> absl::StatusOr<base::Bytes> {
    if (!std::holds_alternative<protocol::FetchVotesRequest>(body) || ++kills % 4 == 0) {
      return answer;
    }
    EXPECT_GT(killed.log.Count(member::NodeEventKind::kSent, "vote"), 0u);
    return base::Unavailable("killed");  // LiveFederation::Steps starts another process
  };
  live.Run();
  EXPECT_GT(kills, 9);
  EXPECT_EQ(killed.log.Count(member::NodeEventKind::kSent, "unmask-share"), 3u);
  live.ExpectModels(3, {0, 2, 3, 4});
  live.ExpectNoViolations();
  live.ExpectNobodySpokeTwice();
  EXPECT_EQ(live.server->Status().attempts, 3u);
  EXPECT_EQ(killed.ledger->entries().size(), 3u);
}

// A full disk at the journal is not taken for a missing quorum. Nobody can do without this seat,
// and it has to act last: no notification follows.
TEST(MemberSessionTest, AJournalThatFailsIsAskedAgain) {
  LiveFederation live;
  live.restarts = false;
  LiveFederation::Site& site = live.site(4);
  LiveFederation::Site& absent = live.site(live.MemberOn(3));
  live.between = [&] { absent.away = !live.IsAt(protocol::AttemptPhase::kCollecting); };
  int failures = 0;
  site.state.fail_record = [&](secagg::JournalStep step) {
    if (failures == 2 || step != secagg::JournalStep::kUnmaskShare) return false;
    ++failures;
    return true;
  };
  live.Run();
  EXPECT_EQ(failures, 2);
  live.ExpectModels(3, {0, 2, 3, 4});
  live.ExpectNoViolations();
  live.ExpectNobodySpokeTwice();
  EXPECT_EQ(live.server->Status().attempts, 3u);
}

// Members 3 and 6 of nine have no seat. They decrypt and apply what the committee unmasked.
TEST(MemberSessionTest, MembersWithoutASeatDecryptForThemselves) {
  LiveFederation live(SevenOfNine(), 3, 9);
  live.RunWithoutFault(3, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(live.server->Status().attempts, 3u);
  for (const uint64_t number : {3, 6}) {
    const LiveFederation::Site& site = live.site(number);
    EXPECT_EQ(site.log.Count(member::NodeEventKind::kApplied, "sum"), 3u);
    for (const char* const what : {"vote", "unmask-share", "confirmation", "refusal"}) {
      EXPECT_EQ(site.log.Count(member::NodeEventKind::kSent, what), 0u) << what;
    }
    EXPECT_EQ(site.ledger->entries().size(), 3u);
  }
}

TEST(MemberSessionTest, TwoAbsentSeatsOfSevenCostNothing) {
  LiveFederation live(SevenOfNine(), 3, 9);
  std::vector<LiveFederation::Site*> absent = {&live.site(live.MemberOn(0)),
                                               &live.site(live.MemberOn(6))};
  live.between = [&] {
    for (LiveFederation::Site* site : absent) {
      site->away = !live.IsAt(protocol::AttemptPhase::kCollecting);
    }
  };
  live.Run();
  live.ExpectModels(3, {0, 1, 2, 3, 4, 6, 8});
  live.ExpectNoViolations();
  EXPECT_EQ(live.server->Status().attempts, 3u);
}

TEST(MemberSessionTest, MembersDecideByCoinsOfTheirOwn) {
  agreement::ManifestSpec agreement = ExactAgreement();
  agreement.sampling.method = accounting::Sampling::kPoisson;
  agreement.sampling.min_participants = 2;
  agreement.rounds = 3;
  agreement.spare_attempts = 10;
  LiveFederation live(agreement);
  live.options.collecting_seconds = 20;
  live.RestartServer();
  // A coin that were tossed again by a new process would fall on the other side sometimes.
  live.RunInNewProcesses();
  live.ExpectModels(3, kAll);
  live.ExpectNoViolations();
  live.ExpectNobodySpokeTwice();
  int trained = 0, uploads = 0;
  for (const auto& site : live.sites) {
    trained += site->updates.asked;
    uploads += static_cast<int>(site->log.Count(member::NodeEventKind::kSent, "upload"));
    // A member that stayed out was charged so, and its ledger would refuse a coin tossed again.
    EXPECT_EQ(site->log.Count(member::NodeEventKind::kRefused, "upload"), 0u);
  }
  EXPECT_EQ(trained, uploads);  // also of attempts that had too few
  EXPECT_GT(trained, 3);
  EXPECT_LT(trained, 15);
}

agreement::ManifestSpec CoveredAgreement() {
  agreement::ManifestSpec agreement = ExactAgreement();
  agreement.sampling.method = accounting::Sampling::kPoisson;
  agreement.sampling.dummy_uploads = true;
  agreement.sampling.cohort = 2;
  agreement.sampling.min_participants = 4;
  agreement.mechanism.scale = 1e-8;  // more uploads are quantised than are divided by
  return agreement;
}

TEST(MemberSessionTest, WithDummyUploadsEverybodyTrainsAndUploads) {
  LiveFederation live(CoveredAgreement());
  live.RunInNewProcesses();
  live.ExpectModels(3, kAll);
  live.ExpectNoViolations();
  live.ExpectNobodySpokeTwice();
  size_t given = 0;
  for (uint32_t round = 0; round < 3; ++round) {
    EXPECT_EQ(live.published[round].size(), 5u);
    given += live.given[round].size();
  }
  EXPECT_GT(given, 0u);
  EXPECT_LT(given, 15u);
  for (const auto& site : live.sites) {
    EXPECT_EQ(site->updates.asked, 3);  // as long as those who were chosen
    EXPECT_EQ(site->ledger->entries().size(), 3u);
    EXPECT_EQ(site->log.Count(member::NodeEventKind::kSent, "upload"), 3u);
  }
}

TEST(MemberSessionTest, WithDummyUploadsALostMemberIsNotWaitedForLongerThanTheDeadline) {
  LiveFederation live(CoveredAgreement());
  live.site(4).away = true;
  live.options.collecting_seconds = 20;
  live.RestartServer();
  live.Run();
  live.ExpectModels(3, {0, 1, 2, 3});
  EXPECT_EQ(live.server->Attempts().front().participants, 4u);
}

// A refusal of the ledger shows no more than a coin.
TEST(MemberSessionTest, WithDummyUploadsASpentBudgetSendsZeros) {
  agreement::ManifestSpec agreement = protocol::testing::SmallAgreement();
  agreement.sampling.method = accounting::Sampling::kPoisson;
  agreement.sampling.dummy_uploads = true;
  agreement.sampling.cohort = 5;  // every coin falls on yes
  LiveFederation live(agreement);
  ledger::LedgerHeader header;
  header.population = "ward 3";
  header.spending.budget_epsilon = 1e-3;
  live.site(0).memory_ledger = ledger::testing::NewMemoryLedger(header);
  live.Restart(live.site(0));
  live.Run();
  EXPECT_EQ(live.site(0).log.Count(member::NodeEventKind::kRefused, "upload"), 3u);
  EXPECT_EQ(live.site(0).log.Count(member::NodeEventKind::kSent, "upload"), 3u);
  EXPECT_EQ(live.site(1).log.Count(member::NodeEventKind::kRefused, "upload"), 0u);
  live.ExpectNoViolations();
}

TEST(MemberSessionTest, GivesItsDataAsOftenAsAgreedAndZerosAfterwards) {
  agreement::ManifestSpec agreement = ExactAgreement();
  agreement.sampling.cohort = 5;
  agreement.sampling.max_participations = 2;
  LiveFederation live(agreement);
  live.RunInNewProcesses();
  EXPECT_EQ(live.given[0].size(), 5u);
  EXPECT_EQ(live.given[1].size(), 5u);
  EXPECT_EQ(live.given[2].size(), 0u);
  EXPECT_EQ(live.published[2].size(), 5u);
  live.ExpectModels(3, kAll);
  live.ExpectNoViolations();
  live.ExpectNobodySpokeTwice();
}

TEST(MemberSessionTest, ABudgetThatIsSpentSealsNothing) {
  LiveFederation live(protocol::testing::SmallAgreement());
  ledger::LedgerHeader header;
  header.population = "ward 3";
  header.spending.budget_epsilon = 1e-3;
  for (auto& site : live.sites) {
    if (site->number != 0 && site->number != 1) continue;
    site->memory_ledger = ledger::testing::NewMemoryLedger(header);
    live.Restart(*site);
  }
  live.options.collecting_seconds = 20;
  live.RestartServer();
  live.RunUntil([&] {
    return live.site(0).log.Count(member::NodeEventKind::kRefused, "upload") > 0 ||
           live.site(1).log.Count(member::NodeEventKind::kRefused, "upload") > 0;
  });
  for (int turn = 0; turn < 60; ++turn) live.Turn(5);
  for (const uint64_t number : {0, 1}) {
    EXPECT_EQ(live.site(number).updates.asked, 0);
    EXPECT_FALSE(live.site(number).wire.cut);
    // It unmasks and applies like everybody else.
    EXPECT_EQ(live.site(number).session->model(), live.site(2).session->model());
    // A refused attempt is never charged.
    const ledger::PrivacyLedger& ledger = *live.site(number).ledger;
    EXPECT_GT(ledger.refusals().size(), 0u);
    EXPECT_EQ(ledger.entries().size() + ledger.refusals().size(), live.server->Status().attempts);
  }
  live.ExpectNoViolations();
}

// Whether something is sent must not depend on data: what cannot be trained is sealed as zeros.
TEST(MemberSessionTest, WhatCannotBeTrainedIsSealedAsZeros) {
  for (const bool fails : {true, false}) {
    LiveFederation live;
    for (auto& site : live.sites) {
      if (fails) site->updates.fail = "no such patient";
      site->updates.not_finite = !fails;
    }
    live.Run();
    for (auto& site : live.sites) {
      EXPECT_EQ(site->session->next_round(), 3u);
      for (const float value : site->session->model()) EXPECT_NEAR(value, 0, 3e-3);
    }
    size_t noted = 0;
    for (auto& site : live.sites) {
      noted += site->log.Count(member::NodeEventKind::kNote,
                               fails ? "update-failed" : "update-not-finite");
    }
    EXPECT_EQ(noted, 9u);
    live.ExpectNoViolations();
  }
}

TEST(MemberSessionTest, TrainingThatIsStoppedGoesOnLater) {
  LiveFederation live;
  for (auto& site : live.sites) site->updates.stopped = true;
  for (int turn = 0; turn < 5; ++turn) live.Turn();
  for (auto& site : live.sites) {
    EXPECT_TRUE(site->said.empty());
    if (site->updates.asked > 0) {
      EXPECT_EQ(site->last.code(), absl::StatusCode::kCancelled);
    }
    site->updates.stopped = false;
  }
  live.Run();
  live.ExpectModels(3, kAll);
  for (auto& site : live.sites) EXPECT_EQ(site->ledger->entries().size(), 3u);
}

// Three of five are on the committee and attest the next round's beginning: not enough of them do.
TEST(MemberSessionTest, WithoutTheCommitteeOthersSayWhereTheFederationStands) {
  LiveFederation live(ExactAgreement(AgreementWith(0, {0, 1, 2})));
  live.RunUntil([&] { return live.IsAt(protocol::AttemptPhase::kUnmasking); }, 1);
  live.RunUntil([&] { return live.IsAt(protocol::AttemptPhase::kPublished); }, 1);
  for (const uint64_t attestor : member::AttestorsOf(live.members.manifest())) {
    if (live.site(attestor).session->next_round() == 0) live.site(attestor).away = true;
  }
  EXPECT_LT(ValueOf(live.server->Listed(protocol::FetchAttestationsRequest{1})).size(),
            2u);  // of 3
  live.RunUntil([&] { return live.Current().number.round == 1; });
}

TEST(MemberSessionTest, AServerThatIsAwayIsAskedAgain) {
  LiveFederation live;
  LiveFederation::Site& site = live.site(2);
  site.wire.cut = true;
  const auto progress = site.session->Step();
  EXPECT_TRUE(protocol::IsRetryable(progress.status())) << progress.status();
  site.wire.cut = false;
  live.Run();
  live.ExpectModels(3, kAll);
}

TEST(MemberSessionTest, NobodyActsInAnothersName) {
  LiveFederation live;
  LiveFederation::Site& site = live.site(0);
  // Also an exchange key that is not this member's: all its shares would be garbage.
  for (const bool signing : {true, false}) {
    const auto made = member::MemberSession::Create(
        {.manifest = live.members.manifest(),
         .member = 1,
         .signing_key = live.members.site(signing ? 0 : 1).signing,
         .exchange_keys = live.members.exchange_keys(signing ? 1 : 0),
         .epoch_key = live.members.epoch_key(),
         .server = site.remote,
         .state = site.state,
         .updates = site.updates,
         .log = site.log,
         .ledger = *site.ledger,
         .permission = protocol::testing::ValueOf(
             policy::Permission::WithoutPolicy(std::nullopt, live.members.manifest())),
         .entropy = site.entropy},
        protocol::testing::ZerosOf(kSmallDimension));
    EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(base::Message(made.status()), HasSubstr("are not those of member 1"));
  }
}

}  // namespace
}  // namespace tacet::live
