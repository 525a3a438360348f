// Attacks of coalitions of the server, members and committee seats on one attempt. A coalition
// holds the epoch key, so MACs and encrypted unmask shares are open to it. Each attack is shown to
// succeed against a shared group key, or with one seat more than is tolerated.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/he/key_sharing.h"
#include "tacet/he/truncated_planes.h"
#include "tacet/ring/modulus.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/small_round_for_test.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/secagg/vote.h"
#include "tacet/secagg/whole_messages_for_test.h"

namespace tacet::secagg {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // NOLINT: tacet::secagg::testing

constexpr uint32_t kAttackedParticipants = 4;

// The counts in one upload as a coalition decodes them that knows the masks of `seats` and takes
// all other masks that it needs for zeros.
std::vector<uint64_t> DecodeWithSeats(const SmallRound& round, const base::Bytes& upload,
                                      crypto::SecretBytes& pair_keys,
                                      const std::vector<uint32_t>& seats) {
  const he::AggregationParams& params = round.params();
  const UploadView view = ValueOf(ReadUpload(upload, round.attempt(), params));
  std::vector<crypto::SecretVector<uint16_t>> masks;
  std::vector<he::KeySharing::Answer> answers;
  for (uint32_t seat = 0; seat < params.committee().seats; ++seat) {
    masks.emplace_back(params.sharing().mask_words());
    if (std::ranges::find(seats, seat) != seats.end()) {
      ExpandMask(SmallRound::PairKeyIn(pair_keys, seat), round.attempt(), view.nonce,
                 masks.back().Expose());
    }
  }
  for (const uint32_t seat : seats) {
    answers.push_back({.seat = seat, .mask_sums = masks[seat].Expose()});
  }
  for (uint32_t seat = 0; answers.size() < params.sharing().threshold(); ++seat) {
    if (std::ranges::find(seats, seat) != seats.end()) continue;
    answers.push_back({.seat = seat, .mask_sums = masks[seat].Expose()});
  }
  auto recovery =
      ValueOf(params.sharing().Recover(view.ciphertext.last(params.share_bytes()), answers));
  const auto decryptor = ValueOf(
      he::NewCompactDecryptor(params, PublicSeed(round.attempt()), std::move(recovery.key_sum)));
  const auto adder = he::NewAdder(params);
  EXPECT_TRUE(adder->Add(view.ciphertext).ok());
  return ValueOf(decryptor->Decrypt(adder->Close(), 1)).sums;
}

// The share of `games` in which the coalition tells which of two updates a victim sealed.
double SuccessRate(const std::vector<uint32_t>& seats, int games) {
  constexpr uint64_t kDimension = 8;
  SmallRound round(SmallTerms(kDimension, kAttackedParticipants));
  crypto::SecretBytes pair_keys = round.PairKeys(0);
  const auto sealer =
      ValueOf(Sealer::Create(round.terms(), round.attempt(), round.KeysOf(round.attempt())));
  crypto::Random coins = crypto::Random::FromEntropy(round.entropy());
  int right = 0;
  for (int game = 0; game < games; ++game) {
    const bool planted = coins.Below(2) == 1;
    // Planted without noise, so that anyone who decrypts wins.
    const std::vector<uint32_t> counts(
        kDimension, static_cast<uint32_t>(round.params().offset() + (planted ? 300 : -300)));
    const base::Bytes upload =
        ValueOf(SealCounts(*sealer, counts, pair_keys, round.entropy().Draw(32)));
    double sum = 0;
    for (const uint64_t count : DecodeWithSeats(round, upload, pair_keys, seats)) {
      sum += static_cast<double>(count) - static_cast<double>(round.params().offset());
    }
    right += (sum > 0) == planted ? 1 : 0;
  }
  return static_cast<double>(right) / games;
}

// (a) The server with the epoch key and f = 2 of 5 seats, whichever they are, before any seat has
// answered. A fair coin leaves 6.2 standard errors with probability 1e-9 in all; ten pairs share
// 10^4 games. coalition_game_test.cc plays closed rounds, with members.
TEST(CommitteeAttackTest, FSeatsCannotTellTwoUpdatesApart) {
  constexpr int kGames = 1000;
  double total = 0;
  for (uint32_t a = 0; a < 5; ++a) {
    for (uint32_t b = a + 1; b < 5; ++b) {
      const double rate = SuccessRate({a, b}, kGames);
      EXPECT_NEAR(rate, 0.5, 6.5 * 0.5 / std::sqrt(kGames)) << a << " " << b;
      total += rate / 10;
    }
  }
  EXPECT_NEAR(total, 0.5, 6.2 * 0.5 / std::sqrt(10 * kGames));
  // The same attack with the four seats that decrypt.
  EXPECT_EQ(SuccessRate({0, 1, 2, 3}, 50), 1);
  EXPECT_EQ(SuccessRate({1, 2, 3, 4}, 50), 1);
}

class FilledCohort : public ::testing::Test {
 protected:
  SmallRound round_{SmallTerms(300, kAttackedParticipants)};
  base::Bytes victim_ = round_.Upload(0);

  // An upload of zeros in the name of `member`, with the MAC of the epoch key and pair keys that
  // the coalition makes up where it does not know them.
  base::Bytes Invented(uint64_t member) {
    const std::vector<uint32_t> zeros(300, static_cast<uint32_t>(round_.params().offset()));
    const auto sealer =
        ValueOf(Sealer::Create(round_.terms(), round_.attempt(), round_.KeysOf(round_.attempt())));
    crypto::SecretBytes pair_keys = round_.PairKeys(member);
    for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
      const bool known = member == 4 || seat == 4;
      if (!known) round_.entropy().Fill(SmallRound::PairKeyIn(pair_keys, seat));
    }
    return ValueOf(SealCounts(*sealer, zeros, pair_keys, round_.entropy().Draw(32)));
  }
};

// (b) The server and member 4 surround the victim with invented uploads in the names of members 1
// and 2. Both sit on the committee and know what they sent.
TEST_F(FilledCohort, OfCommitteeMembersGetsNoQuorum) {
  const std::vector<base::Bytes> uploads = {victim_, Invented(1), Invented(2), Invented(4)};
  Aggregator aggregator(round_.params(), round_.attempt(), kAttackedParticipants);
  for (const size_t k : {0, 1, 2}) ASSERT_TRUE(aggregator.Submit(k, uploads[k]).ok());
  ASSERT_TRUE(aggregator.Submit(4, uploads[3]).ok());
  const Aggregator::Closed closed = round_.CloseOf(aggregator);
  size_t votes = 0;
  for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
    MemoryJournal journal;
    std::optional<SealNonce> own;
    if (seat == 0) own = NonceOf(victim_);
    if (seat == 4) own = NonceOf(uploads[3]);
    CommitteeMember member = round_.NewMember(seat, journal, own);
    const auto vote = member.Vote(closed.closed_round, closed.roster);
    EXPECT_EQ(vote.ok(), seat != 1 && seat != 2);
    votes += vote.ok() ? 1 : 0;
  }
  EXPECT_LT(votes, round_.params().sharing().votes());
}

// The same in the names of members that do not notice (as if none of them were on the committee):
// the seats' masks are those of the true members, so what comes out is not the victim's update.
TEST_F(FilledCohort, OfOtherMembersDecryptsToNothing) {
  const std::vector<base::Bytes> uploads = {victim_, Invented(1), Invented(2), Invented(3)};
  const Aggregator::Closed closed = round_.Close(uploads);
  const SmallRound::Answers answers = round_.AnswersOf(closed, uploads);  // with the liar's nonces
  const auto decrypted = round_.Decrypt(closed.closed_round, answers);
  EXPECT_EQ(decrypted.status().code(), absl::StatusCode::kDataLoss);
  // The coalition looks at the masks itself and takes any four of them.
  const he::AggregationParams& params = round_.params();
  const ClosedRound round = ValueOf(
      ReadClosedRound(closed.closed_round, round_.attempt(), params, kAttackedParticipants));
  const auto result_key = round_.KeysOf(round_.attempt()).result_key;
  const std::vector<uint32_t> counts = round_.Counts(0);
  for (size_t left_out = 0; left_out < 5; ++left_out) {
    std::vector<UnmaskShare> shares;
    std::vector<he::KeySharing::Answer> four;
    for (size_t seat = 0; seat < 5; ++seat) {
      if (seat == left_out) continue;
      shares.push_back(ValueOf(ReadUnmaskShare(answers.shares[seat], round_.attempt(),
                                               params.sharing(), round_.committee(), result_key)));
    }
    for (const UnmaskShare& share : shares) {
      four.push_back({.seat = share.seat, .mask_sums = share.mask_sums.Expose()});
    }
    auto recovery = ValueOf(params.sharing().Recover(
        std::span(round.aggregated_ciphertext).last(params.share_bytes()), four));
    const auto decryptor = ValueOf(
        he::NewCompactDecryptor(params, PublicSeed(round_.attempt()), std::move(recovery.key_sum)));
    const std::vector<uint64_t> sums =
        ValueOf(decryptor->Decrypt(round.aggregated_ciphertext, kAttackedParticipants)).sums;
    size_t revealed = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      revealed += sums[i] == counts[i] + 3 * params.offset() ? 1 : 0;
    }
    EXPECT_LT(revealed, 5u);
  }
}

// The payload of an upload, polynomial by polynomial, the MAC's last: its coefficients, less the
// bits that are dropped. Function(coefficients) may change them.
template <typename Function>
void ForEachPolynomial(const he::AggregationParams& params, base::Bytes& upload,
                       const Function& function) {
  uint8_t* planes = upload.data() + kUploadCiphertext;
  std::vector<size_t> counts(params.polynomials(), params.ring_degree());
  counts.back() = params.used_coefficients() - params.ring_degree() * (counts.size() - 1);
  counts.push_back(he::kTagWords);
  for (const size_t count : counts) {
    std::vector<ring::Uint128> coefficients(count);
    for (size_t i = 0; i < count; ++i) {
      for (const size_t plane : {2, 1, 0}) {
        coefficients[i] = coefficients[i] << 32 | base::LoadU32(planes + 4 * (plane * count + i));
      }
      coefficients[i] <<= he::kDropBits;
    }
    function(coefficients);
    for (size_t i = 0; i < count; ++i) {
      he::StoreCoefficient(coefficients[i] % ring::kModulusQ, i, count, planes);
    }
    planes += he::kPlaneBytes * count;
  }
}

// Adds `shift` to the words of an upload's MAC, which nobody needs to be able to read for it.
void ShiftTag(const he::AggregationParams& params, const he::Tag& shift, base::Bytes& upload) {
  ForEachPolynomial(params, upload, [&](std::vector<ring::Uint128>& coefficients) {
    if (coefficients.size() != he::kTagWords) return;
    for (size_t i = 0; i < he::kTagWords; ++i) {
      coefficients[i] += static_cast<ring::Uint128>(ring::kPrime1) * shift.words[i];
    }
  });
}

he::HomomorphicMacKey MacOf(const SmallRound& round) {
  return {round.KeysOf(round.attempt()).tag_key, round.terms().dimension(),
          TagContext(round.attempt())};
}

// (c) A copy of the victim's upload in another member's name: the correlated-ciphertext attack.
// Masks belong to (client, seat) and nonce.
TEST(CopiedUploadTest, DecryptsToNothing) {
  SmallRound round(SmallTerms(300, kAttackedParticipants));
  std::vector<base::Bytes> uploads = round.Uploads();
  // As it stands the server itself refuses the repeated nonce.
  Aggregator aggregator(round.params(), round.attempt(), kAttackedParticipants);
  ASSERT_TRUE(aggregator.Submit(0, uploads[0]).ok());
  EXPECT_EQ(aggregator.Submit(3, uploads[0]).code(), absl::StatusCode::kAlreadyExists);
  // Under the liar's own nonce, with the MAC made for it by a holder of the epoch key.
  base::Bytes copy = uploads[0];
  std::copy_n(uploads[3].begin() + kUploadNonce, 16, copy.begin() + kUploadNonce);
  const he::HomomorphicMacKey mac = MacOf(round);
  ShiftTag(round.params(), Minus(mac.Mask(NonceOf(copy)), mac.Mask(NonceOf(uploads[0]))), copy);
  FixChecksum(copy);
  uploads[3] = copy;
  const Aggregator::Closed closed = round.Close(uploads);
  EXPECT_EQ(round.Decrypt(closed.closed_round, round.AnswersOf(closed, uploads)).status().code(),
            absl::StatusCode::kDataLoss);
}

// Adds the payload and the shares of `other` to those of `upload`, as anyone can who has both.
void AddUpload(const he::AggregationParams& params, base::Bytes other, base::Bytes& upload) {
  std::vector<std::vector<ring::Uint128>> added;
  ForEachPolynomial(params, other, [&](const std::vector<ring::Uint128>& coefficients) {
    added.push_back(coefficients);
  });
  size_t polynomial = 0;
  ForEachPolynomial(params, upload, [&](std::vector<ring::Uint128>& coefficients) {
    for (size_t i = 0; i < coefficients.size(); ++i) coefficients[i] += added[polynomial][i];
    ++polynomial;
  });
  he::AddShares(std::span(other).subspan(SharesOffset(params), params.share_bytes()),
                std::span(upload).subspan(SharesOffset(params), params.share_bytes()));
}

// The sum of a closed round when every seat's answer counts the masks of one upload `more` times
// again, as if they did not belong to the member that the roster names.
std::vector<uint64_t> DecryptCounting(const SmallRound& round, const base::Bytes& closed_round,
                                      const SmallRound::Answers& answers, uint64_t victim,
                                      const SealNonce& nonce, int more) {
  const he::AggregationParams& params = round.params();
  const auto result_key = round.KeysOf(round.attempt()).result_key;
  std::vector<std::vector<uint16_t>> sums;
  std::vector<he::KeySharing::Answer> counted;
  for (const base::Bytes& bytes : answers.shares) {
    const UnmaskShare share = ValueOf(
        ReadUnmaskShare(bytes, round.attempt(), params.sharing(), round.committee(), result_key));
    crypto::SecretVector<uint16_t> mask(params.sharing().mask_words());
    ExpandMask(round.PairKey(victim, share.seat).Expose(), round.attempt(), nonce, mask.Expose());
    const auto of_roster = share.mask_sums.Expose();
    std::vector<uint16_t>& sum = sums.emplace_back(of_roster.begin(), of_roster.end());
    for (size_t i = 0; i < sum.size(); ++i) {
      sum[i] = static_cast<uint16_t>((sum[i] + static_cast<uint32_t>(more) * mask.Expose()[i]) %
                                     he::kSharePrime);
    }
  }
  for (uint32_t seat = 0; seat < sums.size(); ++seat) {
    counted.push_back({.seat = seat, .mask_sums = sums[seat]});
  }
  const base::Bytes aggregated_ciphertext =
      ValueOf(ReadClosedRound(closed_round, round.attempt(), params, kAttackedParticipants))
          .aggregated_ciphertext;
  auto recovery = ValueOf(params.sharing().Recover(
      std::span(aggregated_ciphertext).last(params.share_bytes()), counted));
  const auto decryptor = ValueOf(
      he::NewCompactDecryptor(params, PublicSeed(round.attempt()), std::move(recovery.key_sum)));
  return ValueOf(decryptor->Decrypt(aggregated_ciphertext, kAttackedParticipants)).sums;
}

// The same re-randomised, with an upload of zeros under the liar's own key added, and multiplied.
// No byte is the victim's any more, and the MAC is right. The shares carry the victim's masks
// still.
TEST(CopiedUploadTest, RerandomisedCopiesAndMultiplesHaveGarbageShares) {
  for (const int times : {1, 2}) {
    SmallRound round(SmallTerms(300, kAttackedParticipants));
    std::vector<base::Bytes> uploads = round.Uploads();
    base::Bytes lie = round.UploadOf(std::vector<uint32_t>(300, 0), 3, round.attempt());
    std::vector<uint32_t> counts = round.Counts(0);
    for (uint32_t& count : counts) count *= static_cast<uint32_t>(times);
    for (int i = 0; i < times; ++i) {
      AddUpload(round.params(), uploads[0], lie);
      ShiftTag(round.params(), Minus({}, MacOf(round).Mask(NonceOf(uploads[0]))), lie);
    }
    FixChecksum(lie);
    uploads[3] = lie;
    const Aggregator::Closed closed = round.Close(uploads);
    SmallRound::Answers answers = round.AnswersOf(closed, uploads);
    const absl::Status refused = round.Decrypt(closed.closed_round, answers).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(base::Message(refused), HasSubstr("or a participant sent wrong shares"));

    // Masks that belong to their member are what it takes.
    std::vector<uint64_t> expected(300);
    for (const uint64_t member : {0, 1, 2}) {
      const std::vector<uint32_t> own = round.Counts(member);
      for (size_t i = 0; i < own.size(); ++i) expected[i] += own[i];
    }
    for (size_t i = 0; i < counts.size(); ++i) expected[i] += counts[i];
    EXPECT_EQ(DecryptCounting(round, closed.closed_round, answers, 0, NonceOf(uploads[0]), times),
              expected);

    answers.shares.pop_back();  // four answers do not show it, the MAC does
    EXPECT_EQ(round.Decrypt(closed.closed_round, answers).status().code(),
              absl::StatusCode::kUnavailable);
  }
}

// (d) Two closed rounds of one attempt for two halves of the committee.
TEST(TwoClosedRoundsTest, NeitherReachesAQuorum) {
  SmallRound round(SmallTerms(300, kAttackedParticipants));
  const std::vector<base::Bytes> uploads = round.Uploads();
  std::vector<base::Bytes> others = uploads;
  others[3] = round.Upload(3);
  const Aggregator::Closed first = round.Close(uploads);
  const Aggregator::Closed second = round.Close(others);
  for (uint32_t split = 1; split < 5; ++split) {
    std::vector<MemoryJournal> journals(5);
    std::vector<CommitteeMember> members;
    std::vector<base::Bytes> votes;
    for (uint32_t seat = 0; seat < 5; ++seat) {
      const bool sees_first = seat < split;
      const auto own = SmallRound::OwnNonce(sees_first ? uploads : others, seat);
      members.push_back(round.NewMember(seat, journals[seat], own));
      const Aggregator::Closed& closed = sees_first ? first : second;
      votes.push_back(ValueOf(members.back().Vote(closed.closed_round, closed.roster)));
    }
    uint32_t answers = 0;
    for (CommitteeMember& member : members) answers += member.Unmask(votes).ok() ? 1 : 0;
    // Four of five is a quorum: then the fifth has the other sum, and its quorum is missing.
    EXPECT_EQ(answers, split == 4 ? 4u : split == 1 ? 4u : 0u);
  }
}

// (e), (f) Seats that answer wrongly. The MAC tells which of the answers are right, as long as as
// many right ones are there as determine the keys. The others are named.
TEST(WrongSeatsTest, AreCorrectedAndNamed) {
  TermsSpec spec = SmallTerms(300, kAttackedParticipants);
  spec.committee = {.seats = 5, .corrupt = 1};  // v = 4 of 5, l = 3
  for (const bool packed : {true, false}) {
    spec.committee.packing = packed ? 0 : 1;
    SmallRound round(spec);
    const std::vector<base::Bytes> uploads = round.Uploads();
    const Aggregator::Closed closed = round.Close(uploads);
    SmallRound::Answers answers = round.AnswersOf(closed, uploads);
    const he::KeySharing& sharing = round.params().sharing();
    const crypto::Digest hash = ClosedRoundHash(ValueOf(ReadClosedRound(
        closed.closed_round, round.attempt(), round.params(), kAttackedParticipants)));
    const auto spoil = [&](uint32_t seat, uint16_t word) {
      const std::vector<uint16_t> wrong(sharing.mask_words(), word);
      answers.shares[seat] = WriteUnmaskShare(wrong, round.attempt(), hash, seat,
                                              round.KeysOf(round.attempt()).result_key,
                                              round.signing_key(seat), round.entropy());
    };
    spoil(2, 17);
    const DecryptedRound with_one = ValueOf(round.Decrypt(closed.closed_round, answers));
    EXPECT_EQ(with_one.aggregate.sums, round.TrueSums());
    EXPECT_THAT(with_one.wrong_seats, ::testing::ElementsAre(2));
    spoil(3, 30);
    const auto with_two = round.Decrypt(closed.closed_round, answers);
    if (packed) {
      EXPECT_EQ(with_two.status().code(), absl::StatusCode::kDataLoss);  // three, four are needed
    } else {
      EXPECT_EQ(ValueOf(with_two).aggregate.sums, round.TrueSums());
      EXPECT_THAT(with_two->wrong_seats, ::testing::ElementsAre(2, 3));
    }
    // With as many answers as are needed a wrong one is found by the MAC, and others may help.
    SmallRound::Answers few{.votes = answers.votes, .shares = {}};
    for (uint32_t i = 0; i < sharing.threshold(); ++i) {
      few.shares.push_back(answers.shares[(3 + i) % 5]);
    }
    EXPECT_EQ(round.Decrypt(closed.closed_round, few).status().code(),
              absl::StatusCode::kUnavailable);
  }
}

// Where two seats of five may be corrupt, four answers determine the keys. One wrong answer of five
// fits as badly as each of the others, and only the MAC tells which one it is.
TEST(WrongSeatsTest, OneOfFiveFailsNothing) {
  SmallRound round(SmallTerms(300, kAttackedParticipants));
  const std::vector<base::Bytes> uploads = round.Uploads();
  const Aggregator::Closed closed = round.Close(uploads);
  const SmallRound::Answers honest = round.AnswersOf(closed, uploads);
  const crypto::Digest hash = ClosedRoundHash(ValueOf(ReadClosedRound(
      closed.closed_round, round.attempt(), round.params(), kAttackedParticipants)));
  const std::vector<uint16_t> wrong(round.params().sharing().mask_words(), 17);
  for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
    SmallRound::Answers answers = honest;
    answers.shares[seat] = WriteUnmaskShare(wrong, round.attempt(), hash, seat,
                                            round.KeysOf(round.attempt()).result_key,
                                            round.signing_key(seat), round.entropy());
    const DecryptedRound decrypted = ValueOf(round.Decrypt(closed.closed_round, answers));
    EXPECT_EQ(decrypted.aggregate.sums, round.TrueSums());
    EXPECT_THAT(decrypted.wrong_seats, ::testing::ElementsAre(seat));
  }
}

// (g) A client whose MAC or payload is bad, or whose shares for two seats: the sum is refused by
// everybody.
TEST(BadClientTest, IsRefusedByEveryMember) {
  for (const size_t place : {size_t{0}, size_t{1}, size_t{2}}) {
    SmallRound round(SmallTerms(300, kAttackedParticipants));
    std::vector<base::Bytes> uploads = round.Uploads();
    base::Bytes& bad = uploads[2];
    const size_t size = 2 * round.params().sharing().mask_words();  // of the shares for one seat
    if (place == 0) {
      AlterShareWord(&bad[SharesOffset(round.params())]);
      AlterShareWord(&bad[SharesOffset(round.params()) + size]);
    } else {
      bad[place == 1 ? UploadTagByte(round.params()) : kUploadCiphertext + 5] ^= 0x20;
    }
    FixChecksum(bad);
    const Aggregator::Closed closed = round.Close(uploads);
    EXPECT_EQ(round.Decrypt(closed.closed_round, round.AnswersOf(closed, uploads)).status().code(),
              absl::StatusCode::kDataLoss)
        << place;
  }
}

// A client whose shares for one seat are bad fails nothing. Neither do words of shares that carry
// no key.
TEST(BadClientTest, WithBadSharesForOneSeatFailsNothing) {
  for (uint32_t seat = 2; seat < SmallRound::kSeats; ++seat) {
    for (const bool of_key : {true, false}) {
      SmallRound round(SmallTerms(300, kAttackedParticipants));
      std::vector<base::Bytes> uploads = round.Uploads();
      const he::KeySharing& sharing = round.params().sharing();
      const size_t first = SharesOffset(round.params()) + 2 * sharing.mask_words() * (seat - 2);
      AlterShareWord(&uploads[2][first + (of_key ? 0 : 2 * sharing.key_words())]);
      FixChecksum(uploads[2]);
      const Aggregator::Closed closed = round.Close(uploads);
      SmallRound::Answers answers = round.AnswersOf(closed, uploads);
      const DecryptedRound decrypted = ValueOf(round.Decrypt(closed.closed_round, answers));
      EXPECT_EQ(decrypted.aggregate.sums, round.TrueSums());
      EXPECT_EQ(decrypted.wrong_seats,
                of_key ? std::vector<uint32_t>{seat} : std::vector<uint32_t>());
      // Four answers do not tell, as long as the seat is among them.
      answers.shares.erase(answers.shares.begin());
      EXPECT_EQ(round.Decrypt(closed.closed_round, answers).ok(), !of_key);
    }
  }
}

// A key is determined by f + 1 = 3 unmask shares where a polynomial carries one coefficient. The
// opening of an epoch relies on v = 4 seats that gave theirs.
TEST(PackingOneTest, ASumNeedsAQuorumOfUnmaskShares) {
  TermsSpec spec = SmallTerms(300, kAttackedParticipants);
  spec.committee = {.seats = 5, .corrupt = 2, .packing = 1};
  SmallRound round(spec);
  const std::vector<base::Bytes> uploads = round.Uploads();
  const Aggregator::Closed closed = round.Close(uploads);
  const SmallRound::Answers answers = round.AnswersOf(closed, uploads);
  SmallRound::Answers some{.votes = answers.votes, .shares = {}};
  for (const size_t seat : {4, 1, 3, 0}) {
    const absl::Status early = round.Decrypt(closed.closed_round, some).status();
    EXPECT_EQ(early.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(base::Message(early), ::testing::HasSubstr("committee members have answered, 4"));
    some.shares.push_back(answers.shares[seat]);
  }
  EXPECT_EQ(ValueOf(round.Decrypt(closed.closed_round, some)).aggregate.sums, round.TrueSums());
}

}  // namespace
}  // namespace tacet::secagg
