// Refused sums: check rows dispute a participant's shares, and the round continues without it.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/secagg/check_row.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/small_round_for_test.h"
#include "tacet/secagg/upload.h"
#include "tacet/server/round_server_for_test.h"

namespace tacet::server {
namespace {

using protocol::BulkKind;
using protocol::testing::SmallAgreement;
using protocol::testing::ValueOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr uint64_t kBad = 6;
constexpr uint32_t kSeats = 5;

class WrongSharesTest : public testing::RoundServerFixture {
 protected:
  explicit WrongSharesTest(uint64_t cohort = 8, uint64_t clients = 9,
                           const he::CommitteeShape& committee = {}, uint32_t min_participants = 3)
      : RoundServerFixture(
            [&] {
              agreement::ManifestSpec spec = SmallAgreement();
              spec.sampling.cohort = cohort;
              spec.sampling.min_participants = min_participants;
              spec.spare_attempts = 40;
              spec.rounds = 8;
              if (committee.seats > 0) spec.committee = committee;
              return spec;
            }(),
            static_cast<int>(clients)) {}

  // Until an attempt with kBad collects; then all upload, kBad with wrong shares for every seat.
  void CollectWithBad() {
    Tick();
    ASSERT_EQ(Phase(), protocol::AttemptPhase::kCollecting);
    ASSERT_THAT(Invited(), Contains(kBad));
    const he::AggregationParams& params = members_.terms().aggregation();
    for (const uint64_t member : Invited()) {
      base::Bytes upload = members_.Upload(member, Current());
      if (member == kBad) {
        const size_t words = params.sharing().mask_words();
        for (size_t seat = 0; seat < params.sharing().shared_seats(); ++seat) {
          secagg::testing::AlterShareWord(&upload[secagg::SharesOffset(params) + 2 * words * seat]);
        }
        secagg::testing::FixChecksum(upload);
      }
      ASSERT_EQ(Give(member, BulkKind::kUpload, upload), absl::OkStatus());
    }
    Tick();
    ASSERT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  }
  // For all seats: votes and unmask shares, which are given, and the check rows, which are not.
  std::vector<base::Bytes> UnmaskAll() {
    const Seats seats = Vote(kSeats);
    const std::vector<base::Bytes> votes =
        ValueOf(server_->Listed(protocol::FetchVotesRequest{Current()}));
    std::vector<base::Bytes> rows;
    for (size_t seat = 0; seat < kSeats; ++seat) {
      EXPECT_TRUE(Give(MemberOn(seat), BulkKind::kUnmaskShare, seats[seat]->Unmask(votes)).ok());
      rows.push_back(seats[seat]->CheckShares());
    }
    return rows;
  }
  bool InvitesBad() {
    const std::vector<uint64_t> invited = Invited();
    return std::ranges::find(invited, kBad) != invited.end();
  }
  absl::Status GiveRow(size_t seat, const base::Bytes& row) {
    return Give(MemberOn(seat), BulkKind::kCheckRow, row);
  }
  void FailByRows() {
    const std::vector<base::Bytes> rows = UnmaskAll();
    const secagg::Attempt attempt = Current();
    for (size_t seat = 0; seat < kSeats; ++seat) {
      ASSERT_TRUE(GiveRow(seat, rows[seat]).ok());
      if (seat >= 2) continue;
      ASSERT_TRUE(Refuse(seat, attempt).ok());
    }
    ASSERT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  }
  const std::string& Failure() {
    failure_ = server_->Attempts().back().failure;
    return failure_;
  }

 private:
  std::string failure_;
};

TEST_F(WrongSharesTest, ShowAParticipantWhichIsLeftOutForTheRestOfTheRound) {
  CollectWithBad();
  FailByRows();
  EXPECT_EQ(Failure(), "disputed-shares");
  EXPECT_THAT(server_->Status().left_out, ElementsAre(kBad));
  for (int attempt = 1; attempt < 4; ++attempt) {
    if (attempt == 2) Restart();  // it remembers
    Tick();
    EXPECT_THAT(server_->Status().left_out, ElementsAre(kBad));
    EXPECT_THAT(Invited(), Not(Contains(kBad)));
    EXPECT_GE(Invited().size(), 7u);  // not halved
    EXPECT_EQ(Give(kBad, BulkKind::kUpload, members_.Upload(kBad, Current())).code(),
              absl::StatusCode::kPermissionDenied);
    if (attempt == 3) break;
    now_ += 100;  // nobody uploads
    Tick();
    ASSERT_EQ(Failure(), "too-few-uploads");
    now_ += 1000;
  }
  for (const uint64_t member : Invited()) ASSERT_TRUE(Upload(member).ok());
  Tick();
  Publish();
  // Named for one round, not for ever.
  EXPECT_THAT(server_->Status().left_out, IsEmpty());
  for (uint64_t member = 0; member < 9; ++member) State(member, 1, 5);
  for (int attempt = 0; attempt < 10; ++attempt) {
    Tick();
    if (InvitesBad()) return;
    TickAfter(100);
    now_ += 2000;
  }
  ADD_FAILURE() << "never invited again";
}

// Refusals come before the other seats' rows: the attempt waits for these.
TEST_F(WrongSharesTest, AreFoundWithRowsThatComeAfterTheRefusals) {
  CollectWithBad();
  const std::vector<base::Bytes> rows = UnmaskAll();
  const secagg::Attempt attempt = Current();
  for (const size_t seat : {0, 1, 2}) ASSERT_TRUE(Refuse(seat, attempt).ok());
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  for (size_t seat = 0; seat < kSeats; ++seat) {
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
    if (seat == 3) Restart();  // rows, shares and refusals are in the store
    ASSERT_TRUE(GiveRow(seat, rows[seat]).ok());
  }
  EXPECT_EQ(Failure(), "disputed-shares");
}

// A row that does not come costs time, and the cohort is halved as if nobody checked.
TEST_F(WrongSharesTest, WithoutAllRowsTheCohortIsHalved) {
  CollectWithBad();
  const std::vector<base::Bytes> rows = UnmaskAll();
  const secagg::Attempt attempt = Current();
  for (const size_t seat : {0, 1, 2, 3}) {
    ASSERT_TRUE(GiveRow(seat, rows[seat]).ok());
    ASSERT_TRUE(Refuse(seat, attempt).ok());
  }
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  TickAfter(100);
  EXPECT_EQ(Failure(), "refused");
  EXPECT_THAT(server_->Status().left_out, IsEmpty());
  Tick();
  EXPECT_THAT(Invited(), SizeIs(4));
}

// Rows of as many seats as could be lying, and even all, end no attempt whose sum is confirmed.
TEST_F(WrongSharesTest, RowsAloneEndNothing) {
  Tick();
  for (const uint64_t member : Invited()) ASSERT_TRUE(Upload(member).ok());
  Tick();
  const std::vector<base::Bytes> rows = UnmaskAll();
  const secagg::Attempt attempt = Current();
  const size_t participants = For(0).current->participants;
  const crypto::Digest hash = ValueOf(secagg::ReadCheckRow(rows[0], attempt, members_.committee(),
                                                           static_cast<uint32_t>(participants)))
                                  .round_hash;
  // Seat 0 lies about everybody.
  const std::vector<he::ShareCombination> lies(participants);
  ASSERT_TRUE(
      GiveRow(0, secagg::WriteCheckRow(attempt, hash, 0, lies, members_.site(MemberOn(0)).signing))
          .ok());
  for (const size_t seat : {1, 2}) ASSERT_TRUE(Confirm(seat, attempt).ok());
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kPublished);
}

TEST_F(WrongSharesTest, RowsAreTakenFromTheCommitteeWhileUnmaskingAndGivenToNobody) {
  CollectWithBad();
  const std::vector<base::Bytes> rows = UnmaskAll();
  EXPECT_EQ(Give(kBad, BulkKind::kCheckRow, rows[0]).code(), absl::StatusCode::kPermissionDenied);
  const absl::Status longer = GiveRow(0, base::Bytes(rows[0].size() + 1));
  EXPECT_THAT(base::Message(longer), ::testing::HasSubstr("check-row of"));
  ASSERT_TRUE(GiveRow(0, rows[0]).ok());
  ASSERT_TRUE(GiveRow(0, rows[0]).ok());
  EXPECT_EQ(GiveRow(0, rows[1]).code(), absl::StatusCode::kAlreadyExists);
  for (const BulkKind kind : {BulkKind::kCheckRow, BulkKind::kShares, BulkKind::kUpload}) {
    EXPECT_EQ(FetchAs(MemberOn(1), kind, Current()).status().code(),
              absl::StatusCode::kPermissionDenied);
  }
  EXPECT_EQ(Give(MemberOn(1), BulkKind::kShares, rows[1]).code(),
            absl::StatusCode::kPermissionDenied);
  // Neither rows nor shares outlive their attempt.
  const secagg::Attempt attempt = Current();
  const BlobKey shares{.name = {BulkKind::kShares, attempt}};
  const BlobKey row{.name = {BulkKind::kCheckRow, attempt}, .member = MemberOn(0)};
  EXPECT_TRUE(blobs_.Open(shares).ok());
  EXPECT_TRUE(blobs_.Open(row).ok());
  for (const size_t seat : {0, 1, 2}) ASSERT_TRUE(Refuse(seat, attempt).ok());
  TickAfter(100);
  ASSERT_EQ(Failure(), "refused");
  EXPECT_FALSE(blobs_.Open(shares).ok());
  EXPECT_FALSE(blobs_.Open(row).ok());
}

// Where two shares determine a key, four honest rows name the participant.
class UnpackedWrongSharesTest : public WrongSharesTest {
 protected:
  UnpackedWrongSharesTest()
      : WrongSharesTest(8, 9, {.seats = kSeats, .corrupt = 1, .packing = 1}) {}
};

TEST_F(UnpackedWrongSharesTest, NameTheParticipant) {
  CollectWithBad();
  FailByRows();
  EXPECT_EQ(Failure(), "wrong-shares");
  EXPECT_THAT(server_->Status().left_out, ElementsAre(kBad));
}

class FewToSpareTest : public WrongSharesTest {
 protected:
  explicit FewToSpareTest(uint64_t cohort = 4) : WrongSharesTest(cohort) {}

  void FailWithBad() {
    for (int attempt = 0; attempt < 15; ++attempt) {
      Tick();
      if (InvitesBad()) break;
      TickAfter(100);
      now_ += 4000;
    }
    CollectWithBad();
    FailByRows();
  }
};

// A participant that is left out is left out of every draw, also of one of K_min. An absence that
// depended on the draw would break what accountants assume.
TEST_F(FewToSpareTest, LeavesOutWhateverTheDrawIs) {
  FailWithBad();
  ASSERT_EQ(Failure(), "disputed-shares");
  size_t without = 0;
  for (int attempt = 0; attempt < 12; ++attempt) {
    TickAfter(1000);
    ASSERT_EQ(Phase(), protocol::AttemptPhase::kCollecting);
    ASSERT_THAT(Invited(), Not(Contains(kBad)));
    ASSERT_GE(Invited().size(), 3u);
    without += Invited().size() == 3 ? 1 : 0;
    if (attempt < 2) {  // refused sums halve the cohort, and K_min others stay in it
      for (const uint64_t member : Invited()) ASSERT_TRUE(Upload(member).ok());
      Tick();
      UnmaskAll();
      for (const size_t seat : {0, 1, 2}) ASSERT_TRUE(Refuse(seat, Current()).ok());
    }
    TickAfter(100);
  }
  EXPECT_GT(without, 0u);  // kBad was drawn: missed with probability (5/9)^12, below 1e-3
}

class NobodyToSpareTest : public FewToSpareTest {
 protected:
  NobodyToSpareTest() : FewToSpareTest(3) {}
};

// Cohorts of K_min keep everybody: a hint stops nobody's round.
TEST_F(NobodyToSpareTest, KeepsTheCohortAtKMin) {
  FailWithBad();
  ASSERT_EQ(Failure(), "refused");
  EXPECT_THAT(server_->Status().left_out, IsEmpty());
  Tick();
  EXPECT_THAT(Invited(), SizeIs(3));
}

class NobodyToMissTest : public WrongSharesTest {
 protected:
  NobodyToMissTest() : WrongSharesTest(9, 9, {}, 8) {}
};

// A participant that was left out does not count as one that is here. Until 0.3 such an attempt
// began, was charged, and could not close before somebody else came.
TEST_F(NobodyToMissTest, NothingBeginsBeforeKMinOthersAreHere) {
  CollectWithBad();
  FailByRows();
  ASSERT_EQ(Failure(), "disputed-shares");
  away_ = {2};
  TickAfter(kHereSeconds + 1);
  EXPECT_THAT(server_->Attempts(), SizeIs(1));
  const ServerStatus status = server_->Status();
  ASSERT_TRUE(status.gathering.has_value());
  EXPECT_EQ(status.gathering->here, 7u);
  EXPECT_EQ(status.gathering->needed, 8u);
  ASSERT_THAT(status.awaited, SizeIs(1));
  EXPECT_EQ(status.awaited.front().member, 2u);
  away_ = {kBad};
  Tick();
  ASSERT_THAT(server_->Attempts(), SizeIs(2));
  EXPECT_THAT(Invited(), SizeIs(8));
  EXPECT_THAT(Invited(), Not(Contains(kBad)));
}

// Everybody uploads, and four honest rows name the participant.
class PersistentLiarTest : public WrongSharesTest {
 protected:
  PersistentLiarTest() : WrongSharesTest(9, 9, {.seats = kSeats, .corrupt = 1, .packing = 1}, 8) {}

  void PublishWithoutBad(uint32_t round) {
    Tick();
    ASSERT_EQ(Current().number.round, round);
    ASSERT_THAT(Invited(), Not(Contains(kBad)));
    ASSERT_THAT(server_->Status().left_out, ElementsAre(kBad));
    for (const uint64_t member : Invited()) ASSERT_TRUE(Upload(member).ok());
    Tick();
    Publish();
    for (uint64_t member = 0; member < 9; ++member) {
      State(member, round + 1, static_cast<uint8_t>(round + 10));
    }
  }
};

// It is left out of one round, of two, of four. The server keeps two rounds, and is restarted after
// each: it remembers the names of earlier ones.
TEST_F(PersistentLiarTest, IsLeftOutOfTwiceAsManyRoundsEachTime) {
  uint32_t round = 0;
  for (const uint32_t rounds : {1, 2, 4}) {
    SCOPED_TRACE(rounds);
    CollectWithBad();
    FailByRows();
    ASSERT_EQ(Failure(), "wrong-shares");
    for (uint32_t i = 0; i < rounds; ++i) {
      PublishWithoutBad(round++);
      Restart();
    }
    EXPECT_THAT(server_->Status().left_out, IsEmpty());
  }
}

class RefusedQueryTest : public WrongSharesTest {
 protected:
  RefusedQueryTest() : WrongSharesTest(9, 9, {}, 9) {}
};

TEST_F(RefusedQueryTest, EndsWithWhatWouldHelp) {
  for (int attempt = 0; attempt <= 40; ++attempt) {
    CollectWithBad();
    UnmaskAll();
    for (const size_t seat : {0, 1}) ASSERT_TRUE(Refuse(seat, Current()).ok());
    TickAfter(100);
    ASSERT_EQ(Failure(), "refused");
  }
  Tick();
  EXPECT_THAT(server_->Status().stopped,
              ::testing::HasSubstr("since min_participants is 9: a smaller one lets the server"));
}

// The check of shares tells who it was, although nobody can be left out.
TEST_F(RefusedQueryTest, NamesWhomTheCheckOfSharesSuspects) {
  for (int attempt = 0; attempt <= 40; ++attempt) {
    CollectWithBad();
    FailByRows();
    ASSERT_EQ(Failure(), "refused");
  }
  Tick();
  EXPECT_THAT(
      server_->Status().stopped,
      ::testing::AllOf(::testing::HasSubstr("the check of shares suspects " +
                                            members_.manifest().members()[kBad].name + ", whom"),
                       ::testing::HasSubstr("since min_participants is 9: a smaller one")));
}

// The refused attempt that was the last one has no rows.
TEST_F(RefusedQueryTest, NamesNoSuspectsOfAnEarlierAttempt) {
  for (int attempt = 0; attempt <= 40; ++attempt) {
    CollectWithBad();
    if (attempt < 40) {
      FailByRows();
    } else {
      UnmaskAll();
      for (const size_t seat : {0, 1}) ASSERT_TRUE(Refuse(seat, Current()).ok());
      TickAfter(100);
    }
    ASSERT_EQ(Failure(), "refused");
  }
  Tick();
  EXPECT_THAT(server_->Status().stopped, ::testing::Not(::testing::HasSubstr("suspects")));
}

}  // namespace
}  // namespace tacet::server
