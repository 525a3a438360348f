#include "tacet/secagg/check_row.h"

#include <algorithm>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/small_round_for_test.h"
#include "tacet/secagg/upload.h"
#include "tacet/secagg/whole_messages_for_test.h"

namespace tacet::secagg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace testing;  // NOLINT: tacet::secagg::testing

constexpr uint32_t kCheckedParticipants = 4;

TermsSpec Small(const he::CommitteeShape& shape = {.seats = 5, .corrupt = 2}) {
  TermsSpec spec = SmallTerms(300, kCheckedParticipants);
  spec.committee = shape;
  return spec;
}

class CheckRowTest : public ::testing::Test {
 protected:
  explicit CheckRowTest(const TermsSpec& spec = Small()) : round_(spec) {}

  // For all seats, which voted and unmasked before.
  std::vector<base::Bytes> RowsOf(const Aggregator::Closed& closed,
                                  const std::vector<base::Bytes>& uploads) {
    std::vector<MemoryJournal> journals(SmallRound::kSeats);
    std::vector<CommitteeMember> members;
    std::vector<base::Bytes> votes, rows;
    for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
      members.push_back(
          round_.NewMember(seat, journals[seat], SmallRound::OwnNonce(uploads, seat)));
      votes.push_back(ValueOf(members.back().Vote(closed.closed_round, closed.roster)));
    }
    for (CommitteeMember& member : members) {
      EXPECT_TRUE(member.Unmask(votes).ok());
      rows.push_back(ValueOf(member.CheckShares()));
      EXPECT_EQ(ValueOf(member.CheckShares()), rows.back());
    }
    return rows;
  }

  struct Found {
    std::vector<uint64_t> named;
    std::vector<uint64_t> disputed;
  };
  // The conclusion from rows, as members. `uploads` are by member, as the server keeps them.
  Found Find(const Aggregator::Closed& closed, const std::vector<base::Bytes>& uploads,
             const std::vector<base::Bytes>& rows) {
    const ClosedRound round = ValueOf(ReadClosedRound(closed.closed_round, round_.attempt(),
                                                      round_.params(), kCheckedParticipants));
    const Roster roster =
        ValueOf(ReadRoster(closed.roster, round_.attempt(), kCheckedParticipants));
    std::vector<std::span<const uint8_t>> shares;
    for (const uint64_t member : roster.members) {
      shares.push_back(ValueOf(ReadUpload(uploads[member], round_.attempt(), round_.params()))
                           .ciphertext.last(round_.params().share_bytes()));
    }
    const he::WrongShares wrong =
        FindWrongParticipants(round_.params(), round_.committee(), round_.attempt(),
                              ClosedRoundHash(round), rows, shares);
    Found found;
    for (const size_t place : wrong.named) found.named.push_back(roster.members[place]);
    for (const size_t place : wrong.disputed) found.disputed.push_back(roster.members[place]);
    return found;
  }
  std::vector<uint64_t> Disputed(const Aggregator::Closed& closed,
                                 const std::vector<base::Bytes>& uploads,
                                 const std::vector<base::Bytes>& rows) {
    return Find(closed, uploads, rows).disputed;
  }
  std::vector<uint64_t> Disputed(const std::vector<base::Bytes>& uploads) {
    const Aggregator::Closed closed = round_.Close(uploads);
    return Disputed(closed, uploads, RowsOf(closed, uploads));
  }
  // A row with a word of another seat's lie in it, signed by the seat.
  base::Bytes Lie(const base::Bytes& row, uint32_t seat, size_t place) {
    CheckRow read =
        ValueOf(ReadCheckRow(row, round_.attempt(), round_.committee(), kCheckedParticipants));
    uint16_t& word = read.combinations[place][0];
    word = static_cast<uint16_t>((word + 1) % he::kSharePrime);
    return WriteCheckRow(round_.attempt(), read.round_hash, seat, read.combinations,
                         round_.signing_key(seat));
  }

  SmallRound round_;
};

TEST_F(CheckRowTest, HonestParticipantsAreNotInDispute) {
  EXPECT_THAT(Disputed(round_.Uploads()), IsEmpty());
}

// (c) A copy of the victim's upload under the liar's own nonce, in the liar's name, with the MAC of
// a holder of the epoch key; and the same with an upload of the liar's own added, once or twice: a
// re-randomised copy and a multiple. The liar is found, the victim is not.
TEST_F(CheckRowTest, CopiesAndMultiplesOfAVictimsUploadShowTheLiar) {
  const size_t share_bytes = round_.params().share_bytes();
  constexpr size_t kChecksum = 16;
  for (const int times : {0, 1, 2}) {
    std::vector<base::Bytes> uploads = round_.Uploads();
    base::Bytes lie = uploads[3];
    const size_t shares = lie.size() - kChecksum - share_bytes;
    if (times == 0) {
      std::copy_n(uploads[0].begin() + kUploadCiphertext, shares + share_bytes - kUploadCiphertext,
                  lie.begin() + kUploadCiphertext);
    }
    for (int i = 0; i < times; ++i) {
      he::AddShares(std::span(uploads[0]).subspan(shares, share_bytes),
                    std::span(lie).subspan(shares, share_bytes));
    }
    FixChecksum(lie);
    uploads[3] = lie;
    EXPECT_THAT(Disputed(uploads), ElementsAre(3)) << times;
  }
}

TEST_F(CheckRowTest, AWordOfAShareShowsTheParticipant) {
  std::vector<base::Bytes> uploads = round_.Uploads();
  AlterShareWord(&uploads[1][uploads[1].size() - 16 - 20]);
  FixChecksum(uploads[1]);
  EXPECT_THAT(Disputed(uploads), ElementsAre(1));
}

// A wrong payload or MAC is not a matter of shares.
TEST_F(CheckRowTest, AWrongPayloadShowsNobody) {
  std::vector<base::Bytes> uploads = round_.Uploads();
  uploads[2][kUploadCiphertext + 5] ^= 0x20;
  FixChecksum(uploads[2]);
  EXPECT_THAT(Disputed(uploads), IsEmpty());
}

TEST_F(CheckRowTest, RowsThatCannotBeReadOrAreOfAnotherRoundDoNotCount) {
  std::vector<base::Bytes> uploads = round_.Uploads();
  AlterShareWord(&uploads[1][uploads[1].size() - 16 - 20]);
  FixChecksum(uploads[1]);
  const Aggregator::Closed closed = round_.Close(uploads);
  const std::vector<base::Bytes> rows = RowsOf(closed, uploads);
  ASSERT_THAT(Disputed(closed, uploads, rows), ElementsAre(1));
  std::vector<base::Bytes> four(rows.begin() + 1, rows.end());
  EXPECT_THAT(Disputed(closed, uploads, four), IsEmpty());  // as many as recover a key
  std::vector<base::Bytes> with = four;
  with.push_back(four[0]);  // twice the same seat
  with.push_back({rows[0].begin(), rows[0].end() - 1});
  CheckRow other =
      ValueOf(ReadCheckRow(rows[0], round_.attempt(), round_.committee(), kCheckedParticipants));
  other.round_hash[0] ^= 1;
  with.push_back(WriteCheckRow(round_.attempt(), other.round_hash, 0, other.combinations,
                               round_.signing_key(0)));
  EXPECT_THAT(Disputed(closed, uploads, with), IsEmpty());
}

// Without a seat to spare a lying seat can dispute a participant's shares, and names nobody.
TEST_F(CheckRowTest, ALyingSeatOfFiveNamesNobody) {
  const std::vector<base::Bytes> uploads = round_.Uploads();
  const Aggregator::Closed closed = round_.Close(uploads);
  std::vector<base::Bytes> rows = RowsOf(closed, uploads);
  rows[4] = Lie(rows[4], 4, 2);
  const Found found = Find(closed, uploads, rows);
  EXPECT_EQ(found.disputed.size(), 1u);
  EXPECT_THAT(found.named, IsEmpty());
}

class UnpackedCheckRowTest : public CheckRowTest {
 protected:
  UnpackedCheckRowTest() : CheckRowTest(Small({.seats = 5, .corrupt = 2, .packing = 1})) {}
};

// l = 1 leaves two seats over: a lying seat disputes nobody's shares, and a participant with wrong
// shares is found in spite of it.
TEST_F(UnpackedCheckRowTest, ALyingSeatDisputesNobody) {
  std::vector<base::Bytes> uploads = round_.Uploads();
  Aggregator::Closed closed = round_.Close(uploads);
  std::vector<base::Bytes> rows = RowsOf(closed, uploads);
  for (const size_t place : {0, 1, 2}) {
    rows[4] = Lie(rows[4], 4, place);
    EXPECT_THAT(Disputed(closed, uploads, rows), IsEmpty());
  }
  const size_t share_bytes = round_.params().share_bytes();
  const size_t shares = uploads[1].size() - 16 - share_bytes;
  for (size_t seat = 0; seat < 3; ++seat) {
    AlterShareWord(&uploads[1][shares + seat * share_bytes / 3]);
  }
  FixChecksum(uploads[1]);
  closed = round_.Close(uploads);
  rows = RowsOf(closed, uploads);
  for (size_t place = 0; place < kCheckedParticipants; ++place) rows[4] = Lie(rows[4], 4, place);
  EXPECT_THAT(Disputed(closed, uploads, rows), ElementsAre(1));
}

// Journal on a disk that may fail for a while.
class FailingJournal final : public Journal {
 public:
  absl::Status Record(const Attempt& attempt, JournalStep step,
                      std::span<const uint8_t> message) override {
    return journal_.Record(attempt, step, message);
  }
  absl::StatusOr<base::Bytes> Find(const Attempt& attempt, JournalStep step) const override {
    if (fails) return base::Unavailable("the disk does not answer");
    return journal_.Find(attempt, step);
  }
  bool fails = false;

 private:
  MemoryJournal journal_;
};

TEST_F(CheckRowTest, AJournalThatFailsIsAskedAgain) {
  const std::vector<base::Bytes> uploads = round_.Uploads();
  const Aggregator::Closed closed = round_.Close(uploads);
  FailingJournal journal;
  CommitteeMember member = round_.NewMember(4, journal, std::nullopt);
  ASSERT_TRUE(member.Vote(closed.closed_round, closed.roster).ok());
  ASSERT_TRUE(member.Unmask(round_.AnswersOf(closed, uploads).votes).ok());
  journal.fails = true;
  EXPECT_EQ(member.CheckShares().status().code(), absl::StatusCode::kUnavailable);
  journal.fails = false;
  EXPECT_TRUE(member.CheckShares().ok());
}

// No combination before a quorum has fixed its factors. A seat that answered for both of two closed
// rounds would reveal a combination of single keys (he/share_check_test.cc).
TEST_F(CheckRowTest, NoneIsGivenBeforeTheUnmaskShareAndNoneForASecondRound) {
  const std::vector<base::Bytes> uploads = round_.Uploads();
  std::vector<base::Bytes> others = uploads;
  others[3] = round_.Upload(3);
  const Aggregator::Closed first = round_.Close(uploads);
  const Aggregator::Closed second = round_.Close(others);
  MemoryJournal journal;
  CommitteeMember member = round_.NewMember(4, journal, std::nullopt);
  EXPECT_THAT(base::Message(member.CheckShares().status()), HasSubstr("no unmask share"));
  const base::Bytes vote = ValueOf(member.Vote(first.closed_round, first.roster));
  EXPECT_THAT(base::Message(member.CheckShares().status()), HasSubstr("no unmask share"));
  EXPECT_FALSE(member.Unmask(std::vector<base::Bytes>(1, vote)).ok());
  EXPECT_THAT(base::Message(member.CheckShares().status()), HasSubstr("no unmask share"));
  const SmallRound::Answers answers = round_.AnswersOf(first, uploads);
  ASSERT_TRUE(member.Unmask(answers.votes).ok());
  const base::Bytes row = ValueOf(member.CheckShares());
  EXPECT_FALSE(member.Vote(second.closed_round, second.roster).ok());
  EXPECT_EQ(ValueOf(member.CheckShares()), row);
  // Another process continues with the same bytes, and for the same round only.
  CommitteeMember restarted = round_.NewMember(4, journal, std::nullopt);
  EXPECT_FALSE(restarted.Vote(second.closed_round, second.roster).ok());
  EXPECT_FALSE(restarted.CheckShares().ok());
  ASSERT_TRUE(restarted.Vote(first.closed_round, first.roster).ok());
  EXPECT_EQ(ValueOf(restarted.CheckShares()), row);
}

TEST_F(CheckRowTest, IsReadAsWrittenAndRefusedWhenAltered) {
  const std::vector<base::Bytes> uploads = round_.Uploads();
  const Aggregator::Closed closed = round_.Close(uploads);
  const base::Bytes row = RowsOf(closed, uploads)[2];
  EXPECT_EQ(row.size(), CheckRowBytes(kCheckedParticipants));
  const auto read = [&](const base::Bytes& bytes, uint32_t participants = kCheckedParticipants) {
    return ReadCheckRow(bytes, round_.attempt(), round_.committee(), participants);
  };
  const CheckRow whole = ValueOf(read(row));
  EXPECT_EQ(whole.seat, 2u);
  EXPECT_EQ(WriteCheckRow(round_.attempt(), whole.round_hash, 2, whole.combinations,
                          round_.signing_key(2)),
            row);
  EXPECT_FALSE(read(row, kCheckedParticipants - 1).ok());
  EXPECT_EQ(read(row, kCheckedParticipants + 1).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(read({row.begin(), row.end() - 1}).ok());
  for (size_t at = 0; at < row.size(); at += 7) {
    base::Bytes altered = row;
    altered[at] ^= 0x40;
    EXPECT_FALSE(read(altered).ok()) << at;
  }
  // By another seat's member than the one that it names.
  EXPECT_EQ(read(WriteCheckRow(round_.attempt(), whole.round_hash, 2, whole.combinations,
                               round_.signing_key(3)))
                .status()
                .code(),
            absl::StatusCode::kPermissionDenied);
  std::vector<he::ShareCombination> large = whole.combinations;
  large[1][2] = 65521;
  EXPECT_THAT(base::Message(read(WriteCheckRow(round_.attempt(), whole.round_hash, 2, large,
                                               round_.signing_key(2)))
                                .status()),
              HasSubstr("`combinations` is not canonical: word 10 is not below 65521"));
}

}  // namespace
}  // namespace tacet::secagg
