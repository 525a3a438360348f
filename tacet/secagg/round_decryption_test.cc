#include "tacet/secagg/round_decryption.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/dp/sum_limits.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/small_round_for_test.h"
#include "tacet/secagg/taken_lists.h"
#include "tacet/secagg/vote.h"
#include "tacet/secagg/whole_messages_for_test.h"

namespace tacet::secagg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace testing;  // NOLINT: tacet::secagg::testing

constexpr char kMacMismatch[] = "the MAC does not fit the sum of round 12 attempt 1";
constexpr uint32_t kDecryptedParticipants = 4;

bool HasCommittee(he::Scheme scheme) { return scheme == he::Scheme::kCompact; }

ClosedRound ReadClosed(const SmallRound& round, const base::Bytes& closed,
                       uint32_t min_participants = kDecryptedParticipants) {
  return ValueOf(ReadClosedRound(closed, round.attempt(), round.params(), min_participants));
}

// Every lie is played by changing bytes between unmodified parts: uploads before they are added,
// or the closed round before it reaches the members. The committee answers for the lie if it can.
class RoundDecryptionTest : public ::testing::TestWithParam<he::Scheme> {
 protected:
  SmallRound round_{SmallTerms(300, kDecryptedParticipants, GetParam())};
  std::vector<base::Bytes> uploads_ = round_.Uploads();
  Aggregator::Closed closed_ = round_.Close(uploads_);

  // Answers of a committee that sees the altered closed round with the true roster.
  SmallRound::Answers AnswersOf(const Aggregator::Closed& closed) {
    if (!HasCommittee(GetParam())) return {};
    return round_.AnswersOf(closed, uploads_);
  }
  absl::Status Refusal(const Aggregator::Closed& closed) {
    return round_.Decrypt(closed.closed_round, AnswersOf(closed)).status();
  }
  absl::Status Refusal(const ClosedRound& lie) {
    return Refusal({.closed_round = WriteClosedRound(lie), .roster = closed_.roster});
  }
};

TEST_P(RoundDecryptionTest, AnHonestRoundDecryptsExactly) {
  const DecryptedRound decrypted =
      ValueOf(round_.Decrypt(closed_.closed_round, AnswersOf(closed_)));
  EXPECT_EQ(decrypted.aggregate.sums, round_.TrueSums());
  EXPECT_EQ(decrypted.aggregate.participants, kDecryptedParticipants);
  EXPECT_THAT(decrypted.wrong_seats, IsEmpty());
}

TEST_P(RoundDecryptionTest, LieAnAlteredWord) {
  uploads_[1][kUploadCiphertext + 5] ^= 0x20;  // above the noise, below the modulus
  FixChecksum(uploads_[1]);
  EXPECT_THAT(base::Message(Refusal(round_.Close(uploads_))), HasSubstr(kMacMismatch));
}

TEST_P(RoundDecryptionTest, LieADroppedUpload) {
  // The sum lacks one upload, the roster and the MAC do not.
  Aggregator fewer(round_.params(), round_.attempt(), kDecryptedParticipants - 1);
  for (uint32_t k = 0; k + 1 < kDecryptedParticipants; ++k)
    ASSERT_TRUE(fewer.Submit(k, uploads_[k]).ok());
  ClosedRound lie = ReadClosed(round_, closed_.closed_round);
  lie.aggregated_ciphertext =
      ReadClosed(round_, round_.CloseOf(fewer).closed_round, kDecryptedParticipants - 1)
          .aggregated_ciphertext;
  EXPECT_EQ(Refusal(lie).code(), absl::StatusCode::kDataLoss);
}

TEST_P(RoundDecryptionTest, LieARepeatedUpload) {
  // Upload 0 replaces upload 1, under upload 1's nonce.
  base::Bytes repeated = uploads_[0];
  std::copy_n(uploads_[1].begin() + kUploadNonce, 16, repeated.begin() + kUploadNonce);
  FixChecksum(repeated);
  uploads_[1] = repeated;
  EXPECT_EQ(Refusal(round_.Close(uploads_)).code(), absl::StatusCode::kDataLoss);
}

TEST_P(RoundDecryptionTest, LieAWrongNumberOfParticipants) {
  ClosedRound lie = ReadClosed(round_, closed_.closed_round);
  lie.nonces.pop_back();
  EXPECT_THAT(base::Message(round_.Decrypt(WriteClosedRound(lie), {}).status()),
              HasSubstr("closed round has 3 participants, 4 to 4 are allowed"));
}

TEST_P(RoundDecryptionTest, LieARepeatedNonce) {
  ClosedRound lie = ReadClosed(round_, closed_.closed_round);
  lie.nonces[1] = lie.nonces[0];
  EXPECT_THAT(base::Message(round_.Decrypt(WriteClosedRound(lie), {}).status()),
              HasSubstr("field `nonces` is not strictly increasing at entry 1"));
}

TEST_P(RoundDecryptionTest, LieAnUploadOfAnotherRoundAttemptOrModel) {
  for (const int what : {0, 1, 2}) {
    Attempt other = round_.attempt();
    if (what == 0) other.number.round = 11;
    if (what == 1) other.number.attempt = 0;
    if (what == 2) other.model_digest.fill(3);
    uploads_ = round_.Uploads();
    uploads_[2] = round_.UploadFor(2, other);
    // Rewritten so that the adder takes it.
    std::copy_n(uploads_[1].begin() + kUploadManifestHash, kAttemptBytes,
                uploads_[2].begin() + kUploadManifestHash);
    FixChecksum(uploads_[2]);
    EXPECT_EQ(Refusal(round_.Close(uploads_)).code(), absl::StatusCode::kDataLoss) << what;
  }
}

TEST_P(RoundDecryptionTest, LieAClosedRoundOfAnotherAttempt) {
  ClosedRound lie = ReadClosed(round_, closed_.closed_round);
  lie.attempt.number.attempt = 2;
  EXPECT_THAT(base::Message(round_.Decrypt(WriteClosedRound(lie), {}).status()),
              HasSubstr("closed round is for attempt 2, expected 1"));
}

TEST_P(RoundDecryptionTest, LieAnAlteredMacSum) {
  ClosedRound lie = ReadClosed(round_, closed_.closed_round);
  const size_t at = lie.aggregated_ciphertext.size() - round_.params().share_bytes() -
                    (GetParam() == he::Scheme::kCompact ? 2 : 1) * he::kTagBytes;
  uint8_t* const word = lie.aggregated_ciphertext.data() + at;
  base::StoreU64((base::LoadU64(word) + 1) % he::kTagPrime, word);
  EXPECT_THAT(base::Message(Refusal(lie)), HasSubstr(kMacMismatch));
}

// A modified client: its counts exceed what clipping allows, its MAC and shares are right.
TEST_P(RoundDecryptionTest, ASumBeyondItsBoundIsRefused) {
  std::vector<uint32_t> counts = round_.Counts(2);
  const uint32_t shift = 1u << (round_.params().plaintext_bits() - 2);
  for (uint32_t& count : counts) count += shift;
  uploads_[2] = round_.UploadOf(counts, 2, round_.attempt());
  EXPECT_THAT(base::Message(Refusal(round_.Close(uploads_))),
              HasSubstr("a participant sent more than clipping allows"));
}

// Units record and person: a site's program clamps coordinates to b, here 20 S. A modified one
// sends that everywhere, 346 S in all. Eight units are drawn on average, so 66 at most. Without a
// limit on the norm the sum was accepted.
TEST(RecordsRoundTest, ASiteThatDoesNotClipIsRefused) {
  for (const bool counts_units : {false, true}) {
    TermsSpec spec = SmallTerms(300, kDecryptedParticipants);
    spec.mechanism.sums_of_clipped = true;
    spec.mechanism.params.coordinate_bound = 20;
    if (counts_units) spec.mechanism.most_contributions = dp::MostDrawn(8);
    SmallRound round(spec);
    std::vector<base::Bytes> uploads = round.Uploads();
    std::vector<uint32_t> counts = round.Counts(2);
    for (uint32_t& count : counts) count += 20000;
    uploads[2] = round.UploadOf(counts, 2, round.attempt());
    const Aggregator::Closed closed = round.Close(uploads);
    const absl::Status decrypted =
        round.Decrypt(closed.closed_round, round.AnswersOf(closed, uploads)).status();
    EXPECT_EQ(decrypted.ok(), !counts_units) << decrypted;
    if (counts_units) {
      EXPECT_THAT(base::Message(decrypted),
                  HasSubstr("more than clipping allows, or the sites have more units than"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, RoundDecryptionTest,
                         ::testing::Values(he::Scheme::kCompact, he::Scheme::kPaperPublicKey,
                                           he::Scheme::kPaperSecretKey),
                         [](const auto& scheme) {
                           std::string name(he::SchemeName(scheme.param));
                           std::erase(name, '-');
                           return name;
                         });

// Votes and shares of a committee of five, of which two may be corrupt.
class CommitteeRoundTest : public ::testing::Test {
 protected:
  SmallRound round_{SmallTerms(300, kDecryptedParticipants)};
  std::vector<base::Bytes> uploads_ = round_.Uploads();
  Aggregator::Closed closed_ = round_.Close(uploads_);
  SmallRound::Answers answers_ = round_.AnswersOf(closed_, uploads_);

  absl::StatusOr<DecryptedRound> DecryptWith(const std::vector<size_t>& votes,
                                             const std::vector<size_t>& shares) {
    SmallRound::Answers some;
    for (const size_t seat : votes) some.votes.push_back(answers_.votes[seat]);
    for (const size_t seat : shares) some.shares.push_back(answers_.shares[seat]);
    return round_.Decrypt(closed_.closed_round, some);
  }
};

TEST_F(CommitteeRoundTest, OneSeatMayBeAbsent) {
  for (size_t absent = 0; absent < 5; ++absent) {
    std::vector<size_t> present;
    for (size_t seat = 0; seat < 5; ++seat) {
      if (seat != absent) present.push_back(seat);
    }
    EXPECT_EQ(ValueOf(DecryptWith(present, present)).aggregate.sums, round_.TrueSums());
  }
}

TEST_F(CommitteeRoundTest, FewerVotesOrSharesWait) {
  const absl::Status votes = DecryptWith({0, 1, 2}, {0, 1, 2, 3}).status();
  EXPECT_EQ(votes.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(base::Message(votes), HasSubstr("3 of 5 committee members voted for this sum"));
  const absl::Status shares = DecryptWith({0, 1, 2, 3}, {0, 1, 4}).status();
  EXPECT_EQ(shares.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(base::Message(shares), HasSubstr("3 of 5 committee members have answered"));
}

TEST_F(CommitteeRoundTest, RepeatedVotesAndSharesCountOnce) {
  EXPECT_FALSE(DecryptWith({0, 0, 1, 1, 2}, {0, 1, 2, 3}).ok());
  EXPECT_FALSE(DecryptWith({0, 1, 2, 3}, {0, 0, 1, 2}).ok());
  EXPECT_TRUE(DecryptWith({0, 0, 1, 2, 3}, {3, 3, 0, 1, 2}).ok());
}

TEST_F(CommitteeRoundTest, VotesForAnotherSumAndOfStrangersDoNotCount) {
  const crypto::Digest hash = ClosedRoundHash(ReadClosed(round_, closed_.closed_round));
  Attempt other = round_.attempt();
  other.number.attempt = 0;
  for (const base::Bytes& bad : {WriteVote(round_.attempt(), 3, {1}, round_.signing_key(3)),
                                 WriteVote(round_.attempt(), 3, hash, round_.signing_key(4)),
                                 WriteVote(round_.attempt(), 7, hash, round_.signing_key(4)),
                                 WriteVote(other, 3, hash, round_.signing_key(3))}) {
    SmallRound::Answers some{
        .votes = {answers_.votes[0], answers_.votes[1], answers_.votes[2], bad},
        .shares = answers_.shares};
    EXPECT_EQ(round_.Decrypt(closed_.closed_round, some).status().code(),
              absl::StatusCode::kUnavailable);
  }
}

TEST_F(CommitteeRoundTest, AMemberVotesOnceAlsoAfterARestart) {
  std::vector<base::Bytes> others = uploads_;
  others[3] = round_.Upload(3);
  const Aggregator::Closed second = round_.Close(others);
  MemoryJournal journal;
  CommitteeMember member = round_.NewMember(4, journal, std::nullopt);
  const base::Bytes vote = ValueOf(member.Vote(closed_.closed_round, closed_.roster));
  EXPECT_EQ(ValueOf(member.Vote(closed_.closed_round, closed_.roster)), vote);
  EXPECT_THAT(base::Message(member.Vote(second.closed_round, second.roster).status()),
              HasSubstr("a second, different sum"));

  CommitteeMember restarted = round_.NewMember(4, journal, std::nullopt);
  EXPECT_THAT(base::Message(restarted.Vote(second.closed_round, second.roster).status()),
              HasSubstr("before a restart"));
  EXPECT_EQ(ValueOf(restarted.Vote(closed_.closed_round, closed_.roster)), vote);
}

TEST_F(CommitteeRoundTest, AMemberAnswersOnlyForAQuorum) {
  MemoryJournal journal;
  CommitteeMember member = round_.NewMember(4, journal, std::nullopt);
  EXPECT_THAT(base::Message(member.Unmask(answers_.votes).status()), HasSubstr("has not voted"));
  ASSERT_TRUE(member.Vote(closed_.closed_round, closed_.roster).ok());
  EXPECT_EQ(member.Unmask(std::span(answers_.votes).first(2)).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_TRUE(member.Unmask(std::span(answers_.votes).first(3)).ok());  // and its own
}

TEST_F(CommitteeRoundTest, AnAnswerIsRepeatedByteForByteAlsoAfterAKill) {
  MemoryJournal journal;
  CommitteeMember member = round_.NewMember(4, journal, std::nullopt);
  ASSERT_TRUE(member.Vote(closed_.closed_round, closed_.roster).ok());
  // Killed between vote and answer.
  CommitteeMember restarted = round_.NewMember(4, journal, std::nullopt);
  ASSERT_TRUE(restarted.Vote(closed_.closed_round, closed_.roster).ok());
  const base::Bytes share = ValueOf(restarted.Unmask(answers_.votes));
  for (int i = 0; i < 10000; ++i) {
    ASSERT_EQ(ValueOf(restarted.Unmask(answers_.votes)), share);
  }
  CommitteeMember again = round_.NewMember(4, journal, std::nullopt);
  ASSERT_TRUE(again.Vote(closed_.closed_round, closed_.roster).ok());
  EXPECT_EQ(ValueOf(again.Unmask(answers_.votes)), share);
}

TEST_F(CommitteeRoundTest, ARosterThatContradictsAMemberGetsNoVote) {
  const auto refusal = [&](uint32_t seat, std::optional<SealNonce> own,
                           const Aggregator::Closed& closed) {
    MemoryJournal journal;
    return base::Message(
        round_.NewMember(seat, journal, own).Vote(closed.closed_round, closed.roster).status());
  };
  EXPECT_THAT(refusal(4, NonceOf(uploads_[0]), closed_),
              HasSubstr("was acknowledged, but is not in the roster"));
  EXPECT_THAT(refusal(2, std::nullopt, closed_), HasSubstr("this member did not send"));
  EXPECT_THAT(refusal(2, NonceOf(uploads_[1]), closed_), HasSubstr("this member did not send"));

  const auto with_members = [&](std::vector<uint64_t> members) {
    Roster roster{.salt = {1}, .members = std::move(members), .lists = {}};
    roster.lists.resize(roster.members.size());
    ClosedRound lie = ReadClosed(round_, closed_.closed_round);
    lie.roster_digest = RosterDigest(roster);
    return Aggregator::Closed{.closed_round = WriteClosedRound(lie),
                              .roster = WriteRoster(roster, round_.attempt())};
  };
  EXPECT_THAT(refusal(4, std::nullopt, with_members({0, 1, 1, 3})), HasSubstr("a member twice"));
  EXPECT_THAT(refusal(4, std::nullopt, with_members({0, 1, 2, 8})),
              HasSubstr("names a member that is none"));
  EXPECT_THAT(refusal(4, std::nullopt, with_members({0, 1, 2})),
              HasSubstr("roster has 3 members, the closed round has 4 uploads"));
  Aggregator::Closed mixed = with_members({0, 1, 2, 3});
  mixed.closed_round = closed_.closed_round;
  EXPECT_THAT(refusal(4, std::nullopt, mixed), HasSubstr("is not the one that the closed round"));
}

TEST_F(CommitteeRoundTest, MalformedMessagesGetNoVote) {
  MemoryJournal journal;
  CommitteeMember member = round_.NewMember(4, journal, std::nullopt);
  const base::Bytes& closed = closed_.closed_round;
  const base::Bytes& roster = closed_.roster;
  for (size_t size = 0; size < closed.size(); size += 997) {
    EXPECT_FALSE(member.Vote(std::span(closed).first(size), roster).ok());
  }
  for (size_t size = 0; size < roster.size(); ++size) {
    EXPECT_FALSE(member.Vote(closed, std::span(roster).first(size)).ok());
  }
  base::Bytes longer = closed;
  longer.push_back(0);
  EXPECT_THAT(base::Message(member.Vote(longer, roster).status()), HasSubstr("1 bytes too many"));
  EXPECT_TRUE(member.Vote(closed, roster).ok());
}

// A member that signed two lists, with the server, shows each seat the one that it likes.
TEST_F(CommitteeRoundTest, ASeatTakesOneListOfAMemberInAnEpoch) {
  constexpr uint64_t kLiar = 2;
  const crypto::Digest first = round_.ListOf(kLiar), second = {9};
  // The closed round of an attempt with this list in its roster.
  const auto closed_with = [&](const crypto::Digest& list, const Attempt& attempt) {
    Roster roster = ValueOf(ReadRoster(closed_.roster, round_.attempt(), 4));
    *(roster.lists.begin() + (std::ranges::find(roster.members, kLiar) - roster.members.begin())) =
        list;
    ClosedRound closed = ReadClosed(round_, closed_.closed_round);
    closed.attempt = attempt;
    closed.roster_digest = RosterDigest(roster);
    return Aggregator::Closed{.closed_round = WriteClosedRound(closed),
                              .roster = WriteRoster(roster, attempt)};
  };
  // A new process of seat 4, which is given the packet of `list`.
  const auto vote = [&](const Aggregator::Closed& closed, const crypto::Digest& list,
                        const Attempt& attempt, Journal& journal) {
    const PairKeyOf pair_key_of = [&](uint64_t client) -> absl::StatusOr<ListedPairKey> {
      return ListedPairKey{client == kLiar ? list : round_.ListOf(client),
                           round_.PairKey(client, 4)};
    };
    return round_.NewMember(4, journal, std::nullopt, pair_key_of, attempt)
        .Vote(closed.closed_round, closed.roster)
        .status();
  };
  const Attempt& attempt = round_.attempt();
  Attempt next = attempt;
  ++next.number.attempt;
  MemoryJournal journal;
  // The roster's list and the packet's are one.
  EXPECT_THAT(base::Message(vote(closed_with(first, attempt), second, attempt, journal)),
              HasSubstr("another key packet of member 2 than this seat was given"));
  EXPECT_THAT(base::Message(vote(closed_with(second, attempt), first, attempt, journal)),
              HasSubstr("another key packet of member 2 than this seat was given"));
  // The first one that it votes for counts, also after a restart and in later attempts.
  ASSERT_TRUE(vote(closed_with(first, attempt), first, attempt, journal).ok());
  EXPECT_THAT(base::Message(vote(closed_with(second, next), second, next, journal)),
              HasSubstr("another key packet of member 2 than this seat took before"));
  EXPECT_TRUE(vote(closed_with(first, next), first, next, journal).ok());
  // A seat that was shown the second list first.
  MemoryJournal others;
  EXPECT_TRUE(vote(closed_with(second, next), second, next, others).ok());
  EXPECT_FALSE(vote(closed_with(first, attempt), first, attempt, others).ok());
  // Another epoch has other lists.
  Attempt later = attempt;
  ++later.number.epoch;
  EXPECT_TRUE(vote(closed_with(second, later), second, later, journal).ok());
}

// A damaged entry of the journal counts as lost, and later ones still hold.
TEST_F(CommitteeRoundTest, TakenListsAreReadEntryByEntry) {
  class Damaged final : public Journal {
   public:
    absl::Status Record(const Attempt& attempt, JournalStep step,
                        std::span<const uint8_t> message) override {
      return journal.Record(attempt, step, message);
    }
    absl::StatusOr<base::Bytes> Find(const Attempt& attempt, JournalStep step) const override {
      if (fails.has_value() && attempt.number.attempt == 0) return absl::Status(*fails, "no");
      return journal.Find(attempt, step);
    }
    MemoryJournal journal;
    std::optional<absl::StatusCode> fails;
  } journal;
  const auto roster = [](std::vector<uint64_t> members, uint8_t list) {
    return Roster{.salt = {},
                  .members = members,
                  .lists = std::vector<crypto::Digest>(members.size(), crypto::Digest{list})};
  };
  TakenLists taken = ValueOf(TakenLists::Read(journal, round_.attempt()));
  EXPECT_TRUE(taken.Take(roster({1, 2}, 1), journal).ok());
  EXPECT_TRUE(taken.Take(roster({1, 2, 3}, 1), journal).ok());
  EXPECT_TRUE(taken.Take(roster({1, 3}, 1), journal).ok());  // nothing new, no entry
  TakenLists again = ValueOf(TakenLists::Read(journal, round_.attempt()));
  EXPECT_TRUE(again.Check(roster({1, 2, 3}, 1)).ok());
  for (const uint64_t member : {1, 2, 3}) EXPECT_FALSE(again.Check(roster({member}, 2)).ok());
  journal.fails = absl::StatusCode::kDataLoss;
  TakenLists rest = ValueOf(TakenLists::Read(journal, round_.attempt()));
  EXPECT_TRUE(rest.Check(roster({1, 2}, 2)).ok());
  EXPECT_FALSE(rest.Check(roster({3}, 2)).ok());
  EXPECT_TRUE(rest.Take(roster({4}, 2), journal).ok());
  journal.fails = std::nullopt;
  EXPECT_FALSE(ValueOf(TakenLists::Read(journal, round_.attempt())).Check(roster({4}, 1)).ok());
  journal.fails = absl::StatusCode::kUnavailable;
  EXPECT_EQ(TakenLists::Read(journal, round_.attempt()).status().code(),
            absl::StatusCode::kUnavailable);
}

// A caller's journal has no digest of its own.
TEST_F(CommitteeRoundTest, CutEntriesOfListsDoNotEndTheVotesOfAnEpoch) {
  const Attempt first{.manifest_hash = round_.attempt().manifest_hash,
                      .number = {.epoch = round_.attempt().number.epoch, .round = kRoundOfEpoch},
                      .model_digest = {}};
  for (const size_t bytes : {0, 1, 39, 79}) {
    MemoryJournal journal;
    ASSERT_TRUE(journal.Record(first, JournalStep::kLists, base::Bytes(bytes, 7)).ok());
    CommitteeMember member = round_.NewMember(4, journal, std::nullopt);
    EXPECT_TRUE(member.Vote(closed_.closed_round, closed_.roster).ok()) << bytes;
    Attempt next = first;
    ++next.number.attempt;
    EXPECT_TRUE(journal.Find(next, JournalStep::kLists).ok());
  }
  class Broken final : public Journal {
   public:
    absl::Status Record(const Attempt&, JournalStep, std::span<const uint8_t>) override {
      return absl::OkStatus();
    }
    absl::StatusOr<base::Bytes> Find(const Attempt&, JournalStep) const override {
      return absl::DataLossError("a database that is damaged");
    }
  } broken;
  EXPECT_THAT(base::Message(TakenLists::Read(broken, round_.attempt()).status()),
              HasSubstr("1001 damaged entries"));
}

}  // namespace
}  // namespace tacet::secagg
