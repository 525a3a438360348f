#include "tacet/secagg/opener.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/result_collector.h"
#include "tacet/secagg/testing/small_round.h"

namespace tacet::secagg {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // NOLINT: tacet::secagg::testing

constexpr char kTagMismatch[] = "the tag does not fit the sum of round 12 attempt 1";

// Every lie is played by changing bytes between unmodified parts: uploads before they are added,
// or the message with the closed sum before it reaches the openers.
class OpenerTest : public ::testing::TestWithParam<he::Scheme> {
 protected:
  static constexpr uint64_t kDimension = 300;
  static constexpr uint32_t kParticipants = 4;

  SmallRound round_{SmallTerms(kDimension, kParticipants, GetParam())};
  std::vector<base::Bytes> uploads_ = round_.Uploads();

  ClosedRound ReadClosed(const base::Bytes& closed) {
    return ValueOf(ReadClosedRound(closed, round_.attempt(), round_.params(), kParticipants));
  }

  // All three openers see `closed`; returns the first opener's final answer.
  absl::StatusOr<base::Bytes> OpenAll(const base::Bytes& closed) {
    std::vector<base::Bytes> votes;
    MemoryJournal journals[3];
    std::vector<std::unique_ptr<Opener>> openers;
    for (uint64_t member = 0; member < 3; ++member) {
      openers.push_back(round_.NewOpener(member, journals[member]));
      const auto vote = openers.back()->Review(closed);
      if (!vote.ok()) return vote.status();
      votes.push_back(*vote);
    }
    return openers[0]->Open(votes);
  }

  void ExpectRefused(const base::Bytes& closed, const char* reason) {
    const auto answer = OpenAll(closed);
    ASSERT_FALSE(answer.ok());
    EXPECT_THAT(base::Message(answer.status()), HasSubstr(reason));
    EXPECT_THAT(base::Message(RefusedForServer()), "refused");  // nothing more reaches the server
  }
};

TEST_P(OpenerTest, HonestRoundOpensExactly) {
  const base::Bytes closed = round_.Close(uploads_);
  const base::Bytes message = ValueOf(OpenAll(closed));
  const AttemptKeys keys = round_.KeysOf(round_.attempt());
  const OpenedSumMessage read = ValueOf(
      ReadOpenedSum(message, round_.attempt(), round_.params(), round_.openers(), keys.result_key));
  EXPECT_EQ(read.opened.sums, round_.TrueSums());
  EXPECT_EQ(read.opened.participants, kParticipants);
}

TEST_P(OpenerTest, LieAnAlteredWord) {
  uploads_[1][kUploadCiphertext + 5] ^= 0x20;  // above the noise, below the modulus
  MendChecksum(uploads_[1]);
  ExpectRefused(round_.Close(uploads_), kTagMismatch);
}

TEST_P(OpenerTest, LieADroppedUpload) {
  // The sum lacks one upload, the list of nonces and the tag do not.
  const base::Bytes honest = round_.Close(uploads_);
  Aggregator fewer(round_.params(), round_.attempt(), kParticipants - 1);
  for (uint32_t k = 0; k + 1 < kParticipants; ++k) ASSERT_TRUE(fewer.Submit(k, uploads_[k]).ok());
  ClosedRound lie = ReadClosed(honest);
  lie.closed_sum = ValueOf(ReadClosedRound(ValueOf(fewer.Close()), round_.attempt(),
                                           round_.params(), kParticipants - 1))
                       .closed_sum;
  ExpectRefused(WriteClosedRound(lie), kTagMismatch);
}

TEST_P(OpenerTest, LieARepeatedUpload) {
  // Upload 0 replaces upload 1, under upload 1's nonce.
  base::Bytes repeated = uploads_[0];
  std::copy_n(uploads_[1].begin() + kUploadNonce, 16, repeated.begin() + kUploadNonce);
  MendChecksum(repeated);
  uploads_[1] = repeated;
  ExpectRefused(round_.Close(uploads_), kTagMismatch);
}

TEST_P(OpenerTest, LieAWrongNumberOfParticipants) {
  ClosedRound lie = ReadClosed(round_.Close(uploads_));
  lie.nonces.pop_back();
  ExpectRefused(WriteClosedRound(lie), "closed round has 3 participants, 4 to 4 are allowed");
  SealNonce invented;
  invented.fill(0xff);
  lie.nonces.push_back(invented);
  ExpectRefused(WriteClosedRound(lie), kTagMismatch);
}

TEST_P(OpenerTest, LieARepeatedNonce) {
  ClosedRound lie = ReadClosed(round_.Close(uploads_));
  lie.nonces[1] = lie.nonces[0];
  ExpectRefused(WriteClosedRound(lie), "field `nonces` is not strictly increasing at entry 1");
}

TEST_P(OpenerTest, LieAnUploadOfAnotherRoundAttemptOrModel) {
  for (const int what : {0, 1, 2}) {
    Attempt other = round_.attempt();
    if (what == 0) other.number.round = 11;
    if (what == 1) other.number.attempt = 0;
    if (what == 2) other.model_digest.fill(3);
    std::vector<base::Bytes> mixed = uploads_;
    mixed[2] = round_.UploadFor(2, other);
    // Rewritten so that the adder takes it.
    std::copy_n(uploads_[2].begin() + kUploadManifestHash, kAttemptBytes,
                mixed[2].begin() + kUploadManifestHash);
    MendChecksum(mixed[2]);
    ExpectRefused(round_.Close(mixed), kTagMismatch);
  }
}

TEST_P(OpenerTest, LieAClosedRoundOfAnotherAttempt) {
  ClosedRound lie = ReadClosed(round_.Close(uploads_));
  lie.attempt.number.attempt = 2;
  ExpectRefused(WriteClosedRound(lie), "closed round is for attempt 2, expected 1");
}

TEST_P(OpenerTest, LieAnAlteredTagSum) {
  ClosedRound lie = ReadClosed(round_.Close(uploads_));
  lie.tag_sum = he::AddTags(lie.tag_sum, he::Tag{{1, 0}});
  ExpectRefused(WriteClosedRound(lie), kTagMismatch);
}

TEST_P(OpenerTest, OneVoteOfThreeOpensNothing) {
  const base::Bytes closed = round_.Close(uploads_);
  MemoryJournal journal;
  const auto opener = round_.NewOpener(0, journal);
  const base::Bytes own = ValueOf(opener->Review(closed));
  EXPECT_THAT(base::Message(opener->Open(std::vector<base::Bytes>{own, own}).status()),
              HasSubstr("1 of 3 openers of round 12 attempt 1 signed this sum, 2 are needed"));
  // A member that is not an opener, and a vote whose member was rewritten, do not count either.
  const crypto::Digest hash = ClosedRoundHash(ReadClosed(closed));
  const base::Bytes stranger = WriteVote(round_.attempt(), 4, hash, round_.signing_key(4));
  const base::Bytes forged = WriteVote(round_.attempt(), 1, hash, round_.signing_key(4));
  EXPECT_FALSE(opener->Open(std::vector<base::Bytes>{stranger, forged}).ok());
  Attempt other = round_.attempt();
  other.number.attempt = 0;
  const base::Bytes replayed = WriteVote(other, 1, hash, round_.signing_key(1));
  EXPECT_FALSE(opener->Open(std::vector<base::Bytes>{replayed}).ok());
  // Nothing was lost by the failures.
  const base::Bytes good = WriteVote(round_.attempt(), 1, hash, round_.signing_key(1));
  EXPECT_TRUE(opener->Open(std::vector<base::Bytes>{good}).ok());
}

TEST_P(OpenerTest, OpenersGivenDifferentCohortsDoNotDecrypt) {
  const base::Bytes first = round_.Close(uploads_);
  std::vector<base::Bytes> others = uploads_;
  others[3] = round_.Upload(4);
  const base::Bytes second = round_.Close(others);
  MemoryJournal journals[2];
  const auto a = round_.NewOpener(0, journals[0]);
  const auto b = round_.NewOpener(1, journals[1]);
  const std::vector<base::Bytes> votes = {ValueOf(a->Review(first)), ValueOf(b->Review(second))};
  for (Opener* opener : {a.get(), b.get()}) {
    EXPECT_EQ(opener->Open(votes).status().code(), absl::StatusCode::kFailedPrecondition);
  }
}

TEST_P(OpenerTest, SignsOneSumOnlyAlsoAfterARestart) {
  const base::Bytes first = round_.Close(uploads_);
  std::vector<base::Bytes> others = uploads_;
  others[3] = round_.Upload(4);
  const base::Bytes second = round_.Close(others);
  MemoryJournal journal;
  const auto opener = round_.NewOpener(0, journal);
  const base::Bytes vote = ValueOf(opener->Review(first));
  EXPECT_EQ(ValueOf(opener->Review(first)), vote);
  EXPECT_THAT(base::Message(opener->Review(second).status()), HasSubstr("a second, different sum"));

  const auto restarted = round_.NewOpener(0, journal);
  EXPECT_THAT(base::Message(restarted->Review(second).status()), HasSubstr("before a restart"));
  EXPECT_EQ(ValueOf(restarted->Review(first)), vote);
}

TEST_P(OpenerTest, RepeatsItsAnswerByteForByteAlsoAfterARestart) {
  const base::Bytes closed = round_.Close(uploads_);
  const crypto::Digest hash = ClosedRoundHash(ReadClosed(closed));
  const std::vector<base::Bytes> votes = {
      WriteVote(round_.attempt(), 2, hash, round_.signing_key(2))};
  MemoryJournal journal;
  const auto opener = round_.NewOpener(0, journal);
  EXPECT_THAT(base::Message(opener->Open(votes).status()), HasSubstr("was not reviewed"));
  ASSERT_TRUE(opener->Review(closed).ok());
  const base::Bytes answer = ValueOf(opener->Open(votes));
  EXPECT_EQ(ValueOf(opener->Open(votes)), answer);
  const auto restarted = round_.NewOpener(0, journal);
  ASSERT_TRUE(restarted->Review(closed).ok());
  EXPECT_EQ(ValueOf(restarted->Open(votes)), answer);
}

TEST_P(OpenerTest, ARefusalIsFinal) {
  ClosedRound lie = ReadClosed(round_.Close(uploads_));
  lie.tag_sum = he::AddTags(lie.tag_sum, he::Tag{{1, 0}});
  const base::Bytes message = WriteClosedRound(lie);
  MemoryJournal journal;
  const auto opener = round_.NewOpener(0, journal);
  ASSERT_TRUE(opener->Review(message).ok());
  const std::vector<base::Bytes> votes = {
      WriteVote(round_.attempt(), 1, ClosedRoundHash(lie), round_.signing_key(1))};
  const absl::Status refused = opener->Open(votes).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(opener->Review(round_.Close(uploads_)).status(), refused);
  EXPECT_EQ(opener->Open(votes).status(), refused);
}

TEST_P(OpenerTest, OnlyOpenersOpen) {
  MemoryJournal journal;
  const auto stranger =
      Opener::Create(round_.terms(), round_.attempt(), round_.KeysOf(round_.attempt()),
                     round_.openers(), 4, round_.signing_key(4), journal, round_.entropy());
  EXPECT_THAT(base::Message(stranger.status()), HasSubstr("is not an opener of round 12"));
}

TEST_P(OpenerTest, MalformedClosedRoundsAreRefused) {
  const base::Bytes closed = round_.Close(uploads_);
  MemoryJournal journal;
  const auto opener = round_.NewOpener(0, journal);
  for (size_t size = 0; size < closed.size(); size += 997) {
    EXPECT_FALSE(opener->Review(base::Bytes(closed.begin(), closed.begin() + size)).ok());
  }
  base::Bytes longer = closed;
  longer.push_back(0);
  EXPECT_THAT(base::Message(opener->Review(longer).status()), HasSubstr("1 bytes too many"));
  EXPECT_TRUE(opener->Review(closed).ok());
}

INSTANTIATE_TEST_SUITE_P(Schemes, OpenerTest,
                         ::testing::Values(he::Scheme::kCompact, he::Scheme::kPaperPublicKey,
                                           he::Scheme::kPaperSecretKey),
                         [](const auto& scheme) {
                           std::string name(he::SchemeName(scheme.param));
                           std::erase(name, '-');
                           return name;
                         });

// The isolation attack on scheme compact: the server sends one upload plus the known offsets of the
// others, as if all had taken part. Without the tag every client would open that one update.
TEST(IsolationTest, OneUploadAmongInventedOnesIsRefused) {
  constexpr uint32_t kParticipants = 4;
  SmallRound round(SmallTerms(300, kParticipants));
  const std::vector<base::Bytes> uploads = round.Uploads();
  const he::AggregationParams& params = round.params();
  ClosedRound lie =
      ValueOf(ReadClosedRound(round.Close(uploads), round.attempt(), params, kParticipants));

  Aggregator alone(params, round.attempt(), 1);
  ASSERT_TRUE(alone.Submit(0, uploads[0]).ok());
  lie.closed_sum =
      ValueOf(ReadClosedRound(ValueOf(alone.Close()), round.attempt(), params, 1)).closed_sum;
  // Adds 2^kappa (K - 1) offset in every slot, mod both primes (docs/formats/ciphertext.md).
  using Wide = unsigned __int128;
  const uint64_t primes[] = {1125625028935681, 1125625028755457};
  const uint64_t used = params.used_coefficients();
  for (int r = 0; r < 2; ++r) {
    for (uint64_t i = 0; i < used; ++i) {
      Wide packed = 0;
      const uint64_t lanes = std::min<uint64_t>(params.lanes(), 300 - i * params.lanes());
      for (uint64_t l = 0; l < lanes; ++l) {
        packed += Wide{(kParticipants - 1) * params.offset()} << (params.plaintext_bits() * l);
      }
      const uint64_t shift =
          static_cast<uint64_t>((packed % primes[r] << params.scale_bits()) % primes[r]);
      uint8_t* word = lie.closed_sum.data() + 8 * (static_cast<size_t>(r) * used + i);
      base::StoreU64((base::LoadU64(word) + shift) % primes[r], word);
    }
  }
  // The sum as such opens to the isolated update: it is the tag that catches the lie.
  const AttemptKeys keys = round.KeysOf(round.attempt());
  const auto decryptor =
      ValueOf(he::NewDecryptor(params, PublicSeed(round.attempt()), keys.group_secret));
  const std::vector<uint64_t> isolated = ValueOf(decryptor->Decrypt(lie.closed_sum, kParticipants));
  const std::vector<uint32_t> counts = round.Counts(0);
  for (size_t i = 0; i < counts.size(); ++i) {
    ASSERT_EQ(isolated[i], counts[i] + (kParticipants - 1) * params.offset()) << i;
  }

  const base::Bytes message = WriteClosedRound(lie);
  MemoryJournal journal;
  const auto opener = round.NewOpener(0, journal);
  ASSERT_TRUE(opener->Review(message).ok());
  const std::vector<base::Bytes> votes = {
      WriteVote(round.attempt(), 1, ClosedRoundHash(lie), round.signing_key(1))};
  EXPECT_THAT(base::Message(opener->Open(votes).status()), HasSubstr(kTagMismatch));
}

// A key envelope taken from another upload of the same participant: the payload is honest, the key
// that opens it is not.
TEST(EnvelopeTest, AnEnvelopeOfAnotherUploadIsRefused) {
  SmallRound round(SmallTerms(300, 4));
  std::vector<base::Bytes> uploads = round.Uploads();
  const base::Bytes another = round.Upload(1);
  const size_t envelope = round.params().envelope_bytes();
  ASSERT_GT(envelope, 0u);
  std::copy(another.end() - 16 - envelope, another.end() - 16, uploads[1].end() - 16 - envelope);
  MendChecksum(uploads[1]);
  const base::Bytes closed = round.Close(uploads);
  MemoryJournal journal;
  const auto opener = round.NewOpener(0, journal);
  ASSERT_TRUE(opener->Review(closed).ok());
  const crypto::Digest hash =
      ClosedRoundHash(ValueOf(ReadClosedRound(closed, round.attempt(), round.params(), 4)));
  const std::vector<base::Bytes> votes = {
      WriteVote(round.attempt(), 1, hash, round.signing_key(1))};
  EXPECT_THAT(base::Message(opener->Open(votes).status()), HasSubstr(kTagMismatch));
}

}  // namespace
}  // namespace tacet::secagg
