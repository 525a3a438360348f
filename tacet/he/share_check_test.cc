#include "tacet/he/share_check.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"
#include "tacet/he/committee_for_test.h"
#include "tacet/ring/ntt.h"

namespace tacet::he {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

crypto::Digest SeedOf(uint8_t value) {
  crypto::Digest seed;
  seed.fill(value);
  return seed;
}

// Clients that share keys, and seats that combine their masks.
class CheckedShares {
 public:
  CheckedShares(const CommitteeShape& shape, size_t clients)
      : sharing_(*KeySharing::Create(shape)),
        check_(sharing_, SeedOf(7)),
        entropy_(1, "checked shares"),
        random_(crypto::Random::FromEntropy(entropy_)) {
    for (size_t client = 0; client < clients; ++client) {
      std::vector<int8_t> key(ring::kCompactDegree);
      for (int8_t& k : key) k = static_cast<int8_t>(static_cast<int>(random_.Below(43)) - 21);
      masks_.push_back(RandomMasks(random_, sharing_.shape().seats * sharing_.mask_words()));
      base::Bytes& shares = shares_.emplace_back(sharing_.share_bytes());
      sharing_.Share(key, RandomMasks(random_, sharing_.check_secrets()), masks_.back(), shares);
    }
    for (uint32_t seat = 0; seat < sharing_.shape().seats; ++seat) {
      std::vector<ShareCombination>& of_seat = combinations_.emplace_back();
      for (size_t client = 0; client < clients; ++client) {
        of_seat.push_back(check_.Combine(Mask(client, seat)));
      }
    }
    right_shares_ = shares_;
    right_combinations_ = combinations_;
  }

  const KeySharing& sharing() const { return sharing_; }
  crypto::Random& random() { return random_; }
  // Another word in the share for a seat, one of the last n - f.
  void SpoilShare(size_t client, uint32_t seat, size_t word = 5) {
    const size_t at = (seat - sharing_.shape().corrupt) * sharing_.mask_words() + word;
    const uint64_t value = LoadShareWord(shares_[client], at);
    StoreShareWord((value + 1 + random_.Below(kSharePrime - 1)) % kSharePrime, at, shares_[client]);
  }
  void SpoilAllShares(size_t client) {
    for (uint32_t seat = sharing_.shape().corrupt; seat < sharing_.shape().seats; ++seat) {
      SpoilShare(client, seat);
    }
  }
  // The seat says something else about a client.
  void Lie(uint32_t seat, size_t client) {
    Lie(seat, client, static_cast<uint16_t>(1 + random_.Below(kSharePrime - 1)));
  }
  void Lie(uint32_t seat, size_t client, uint16_t error) {
    uint16_t& word = combinations_[seat][client][3];
    word = static_cast<uint16_t>((uint32_t{word} + error) % kSharePrime);
  }
  // Forgets all lies and errors.
  void Undo() {
    shares_ = right_shares_;
    combinations_ = right_combinations_;
  }
  void CopyShares(size_t from, size_t to) { shares_[to] = shares_[from]; }
  base::Bytes& shares(size_t client) { return shares_[client]; }

  WrongShares Find(const std::vector<uint32_t>& of_seats) const {
    std::vector<SeatCombinations> seats;
    for (const uint32_t seat : of_seats) seats.push_back({seat, combinations_[seat]});
    const std::vector<std::span<const uint8_t>> shares(shares_.begin(), shares_.end());
    return FindWrongShares(sharing_, check_, seats, shares);
  }
  WrongShares Find() const {
    std::vector<uint32_t> seats(sharing_.shape().seats);
    std::iota(seats.begin(), seats.end(), 0);
    return Find(seats);
  }
  // The clients that are left out.
  std::vector<size_t> Disputed() const { return Find().disputed; }
  std::vector<size_t> Disputed(const std::vector<uint32_t>& of_seats) const {
    return Find(of_seats).disputed;
  }

  std::span<const uint16_t> Mask(size_t client, uint32_t seat) const {
    return std::span(masks_[client]).subspan(seat * sharing_.mask_words(), sharing_.mask_words());
  }

 private:
  KeySharing sharing_;
  ShareCheck check_;
  crypto::InsecureSeededEntropy entropy_;
  crypto::Random random_;
  std::vector<std::vector<uint16_t>> masks_;                 // by client
  std::vector<base::Bytes> shares_;                          // by client
  std::vector<std::vector<ShareCombination>> combinations_;  // by seat
  std::vector<base::Bytes> right_shares_;
  std::vector<std::vector<ShareCombination>> right_combinations_;
};

class ShareCheckShapes : public ::testing::TestWithParam<CommitteeShape> {};

TEST_P(ShareCheckShapes, RightSharesFitAndAWrongOneIsFound) {
  CheckedShares round(GetParam(), 6);
  const uint32_t seats = GetParam().seats;
  const uint32_t threshold = round.sharing().threshold();
  EXPECT_THAT(round.Disputed(), IsEmpty());
  // Any seats, one more than recover a key.
  std::vector<uint32_t> some;
  for (uint32_t i = 0; i <= threshold; ++i) some.push_back((i + 2) % seats);
  EXPECT_THAT(round.Disputed(some), IsEmpty());

  // A copy of somebody else's shares, and garbage for every seat, in a word of the key or behind.
  round.CopyShares(0, 2);
  round.SpoilAllShares(4);
  EXPECT_THAT(round.Disputed(), ElementsAre(2, 4));
  EXPECT_THAT(round.Disputed(some), ElementsAre(2, 4));
  round.SpoilAllShares(5);
  EXPECT_THAT(round.Disputed(), ElementsAre(2, 4, 5));
  // As many seats as recover a key leave nothing over to check with.
  some.pop_back();
  EXPECT_THAT(round.Disputed(some), IsEmpty());
}

TEST_P(ShareCheckShapes, WordsBehindThoseOfTheKeyAreCheckedToo) {
  CheckedShares round(GetParam(), 2);
  for (uint32_t seat = GetParam().corrupt; seat < GetParam().seats; ++seat) {
    round.SpoilShare(1, seat, round.sharing().key_words() + 7);
  }
  EXPECT_THAT(round.Disputed(), ElementsAre(1));
}

// As long as the wrong seats are as few as can be corrected, no client is in dispute for what they
// say, whatever it is. A client that is wrong is found still.
TEST_P(ShareCheckShapes, SeatsThatCanBeCorrectedDisputeNobody) {
  const CommitteeShape shape = GetParam();
  constexpr size_t kClients = 5;
  const uint32_t correctable =
      std::min(shape.corrupt, (shape.seats - KeySharing::Create(shape)->threshold()) / 2);
  for (uint32_t first = 0; correctable > 0 && first < shape.seats; ++first) {
    CheckedShares round(shape, kClients);
    for (uint32_t i = 0; i < correctable; ++i) {
      const uint32_t liar = (first + 3 * i) % shape.seats;
      round.Lie(liar, 1);  // all about the same one
      for (size_t client = 2; client < kClients; ++client) {
        if (round.random().Below(2) == 1) round.Lie(liar, client);
      }
    }
    EXPECT_THAT(round.Disputed(), IsEmpty()) << first;
    round.SpoilAllShares(0);
    EXPECT_THAT(round.Disputed(), ElementsAre(0)) << first;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ShareCheckShapes,
                         ::testing::Values(CommitteeShape{3, 0}, CommitteeShape{4, 1},
                                           CommitteeShape{5, 2}, CommitteeShape{5, 2, 1},
                                           CommitteeShape{7, 2}, CommitteeShape{7, 2, 1},
                                           CommitteeShape{10, 3}, CommitteeShape{20, 6}),
                         [](const auto& shape) {
                           return "N" + std::to_string(shape.param.seats) + "F" +
                                  std::to_string(shape.param.corrupt) + "L" +
                                  std::to_string(shape.param.packing);
                         });

// With one seat more than recovers a key a lie of a seat and a wrong share look alike.
TEST(ShareCheckTest, WithOneSeatOverASeatCanDisputeAClient) {
  CheckedShares round({5, 2}, 4);
  round.Lie(0, 2);
  EXPECT_THAT(round.Disputed(), ElementsAre(2));
  EXPECT_THAT(round.Find().named, IsEmpty());
}

// A wrong share for one seat is corrected like a wrong seat. Two clients with a wrong share each,
// for different seats, are too many for one wrong seat. One is in dispute, and without it the
// other's is corrected.
TEST(ShareCheckTest, AShareForOneSeatIsCorrectedAndTwoAreNot) {
  CheckedShares round({7, 2}, 4);
  round.SpoilShare(1, 3);
  EXPECT_THAT(round.Disputed(), IsEmpty());
  round.SpoilShare(2, 5);
  EXPECT_EQ(round.Disputed().size(), 1u);
}

// The statements of lying seats about a client: errors by place in `liars`.
enum class LieKind { kEqual, kRandom, kOtherPolynomial };

// Values at `points` of a polynomial of degree below t that is 0 at the points of up to t - 1 of
// `others`: with them lies look as right as lies can.
std::vector<uint16_t> OtherPolynomial(const std::vector<uint32_t>& points,
                                      const std::vector<uint32_t>& others, size_t threshold,
                                      crypto::Random& random) {
  std::vector<uint16_t> values;
  const uint64_t factor = 1 + random.Below(kSharePrime - 1);
  for (const uint32_t point : points) {
    uint64_t value = factor;
    for (size_t i = 0; i < std::min(others.size(), threshold - 1); ++i) {
      value = value * (kSharePrime + SeatPoint(point) - SeatPoint(others[i])) % kSharePrime;
    }
    values.push_back(static_cast<uint16_t>(value));
  }
  return values;
}

// The attack: any f seats lie about every client, equally, at random, or with the values of another
// polynomial through as many honest seats as possible, in every committee of up to nine seats, for
// every number of seats that answer. No client whose shares are right is named. One with wrong
// shares for every seat is named whenever more than t seats are honest for sure.
TEST(ShareCheckTest, NoSetOfFSeatsNamesAClientWhoseSharesAreRight) {
  constexpr size_t kClients = 3;
  constexpr size_t kWrong = 1;
  crypto::InsecureSeededEntropy entropy(4, "liars");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  size_t disputed_honest = 0;
  size_t named = 0;
  for (uint32_t n = 2; n <= 9; ++n) {
    for (uint32_t f = 0; f < n; ++f) {
      for (const uint32_t packing : {0u, 1u}) {
        CheckedShares round({n, f, packing}, kClients);
        const size_t threshold = round.sharing().threshold();
        for (size_t a = threshold + 1; a <= n; ++a) {
          std::vector<uint32_t> answering(n);
          std::iota(answering.begin(), answering.end(), 0);
          for (size_t i = 0; i < a; ++i) {
            std::swap(answering[i], answering[i + random.Below(n - i)]);
          }
          answering.resize(a);
          for (const LieKind kind :
               {LieKind::kEqual, LieKind::kRandom, LieKind::kOtherPolynomial}) {
            for (const bool with_wrong : {false, true}) {
              round.Undo();
              if (with_wrong) round.SpoilAllShares(kWrong);
              const size_t liars = std::min<size_t>(f, a);
              const std::vector<uint32_t> lying(answering.begin(), answering.begin() + liars);
              const std::vector<uint32_t> others(answering.begin() + liars, answering.end());
              for (size_t client = 0; client < kClients; ++client) {
                if (client == 0) {  // fewer lie about the first one
                  if (liars > 0) round.Lie(lying[random.Below(liars)], client);
                  continue;
                }
                std::vector<uint16_t> errors(liars, 17);
                if (kind == LieKind::kOtherPolynomial) {
                  errors = OtherPolynomial(lying, others, threshold, random);
                }
                for (size_t i = 0; i < liars; ++i) {
                  if (kind == LieKind::kRandom) {
                    round.Lie(lying[i], client);
                  } else {
                    round.Lie(lying[i], client, errors[i]);
                  }
                }
              }
              const WrongShares found = round.Find(answering);
              for (const size_t client : found.disputed) {
                disputed_honest += !with_wrong || client != kWrong ? 1 : 0;
              }
              if (with_wrong && a > f + threshold) {
                ASSERT_THAT(found.named, ElementsAre(kWrong)) << n << ", " << f << ", " << a;
                ++named;
              } else {
                ASSERT_THAT(found.named, IsEmpty()) << n << ", " << f << ", " << a;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(named, 100u);
  EXPECT_GT(disputed_honest, 100u);  // so lies of this kind are not always seen through
}

// Errors that cancel in a combination are found by another one: a client that knows the factors
// passes, and one that does not has a chance of p^-8.
TEST(ShareCheckTest, OnlyFactorsThatAreKnownBeforeLetWrongSharesPass) {
  const KeySharing sharing = *KeySharing::Create({5, 2});
  const crypto::Digest seed = SeedOf(7);
  const ShareCheck check(sharing, seed);
  CheckedShares round({5, 2}, 2);
  // One word of the key for seat 3 is off by one. The eight words behind make up for it.
  const size_t first = (3 - 2) * sharing.mask_words();
  std::vector<uint16_t> error(sharing.mask_words());
  error[11] = 1;
  ShareCombination off = check.Combine(error);
  StoreShareWord((LoadShareWord(round.shares(1), first + 11) + 1) % kSharePrime, first + 11,
                 round.shares(1));
  EXPECT_THAT(round.Disputed(), ElementsAre(1));
  for (size_t j = 0; j < kCheckWords; ++j) {
    const size_t at = first + sharing.key_words() + j;
    StoreShareWord((LoadShareWord(round.shares(1), at) + kSharePrime - off[j]) % kSharePrime, at,
                   round.shares(1));
  }
  EXPECT_THAT(round.Disputed(), IsEmpty());
  const ShareCheck other(sharing, SeedOf(8));
  for (size_t j = 0; j < kCheckWords; ++j) {
    error[sharing.key_words() + j] = static_cast<uint16_t>((kSharePrime - off[j]) % kSharePrime);
  }
  EXPECT_EQ(check.Combine(error), ShareCombination{});
  EXPECT_NE(other.Combine(error), ShareCombination{});
}

// R_0 at the points of the secrets, for the key of zeros or of ones in every coefficient, from all
// that seats say about one client.
std::vector<uint64_t> SecretsOfR0(const KeySharing& sharing, const ShareCheck& check, int8_t k,
                                  std::span<const uint16_t> checks,
                                  std::span<const uint16_t> masks) {
  const std::vector<int8_t> key(ring::kCompactDegree, k);
  base::Bytes shares(sharing.share_bytes());
  sharing.Share(key, checks, masks, shares);
  std::vector<uint32_t> from, to;
  std::vector<uint64_t> values;
  const size_t words = sharing.mask_words();
  for (uint32_t seat = 0; seat < sharing.threshold(); ++seat) {
    from.push_back(SeatPoint(seat));
    uint64_t value = kSharePrime - check.Combine(masks.subspan(seat * words, words))[0];
    if (seat >= sharing.shape().corrupt) {
      std::vector<uint16_t> share(words);
      for (size_t b = 0; b < words; ++b) {
        share[b] = LoadShareWord(shares, (seat - sharing.shape().corrupt) * words + b);
      }
      value += check.Combine(share)[0];
    }
    values.push_back(value % kSharePrime);
  }
  for (uint32_t s = 0; s < sharing.shape().packing; ++s) to.push_back(SecretPoint(s));
  std::vector<uint64_t> secrets;
  for (const std::vector<uint16_t>& row : InterpolateShares(from, to)) {
    uint64_t sum = 0;
    for (size_t i = 0; i < row.size(); ++i) sum += row[i] * values[i];
    secrets.push_back(sum % kSharePrime);
  }
  return secrets;
}

// The statements of all seats about one client hold its key in one-time pads: without the random
// secrets it is a combination of the key's coefficients, with them it is that plus a random word.
// Two answers for one client would differ by a combination of the key alone.
TEST(ShareCheckTest, RandomSecretsHideTheKeyFromOneChoiceOfFactors) {
  const KeySharing sharing = *KeySharing::Create({7, 2});
  crypto::InsecureSeededEntropy entropy(3, "hidden");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  const std::vector<uint16_t> masks =
      RandomMasks(random, sharing.shape().seats * sharing.mask_words());
  const ShareCheck check(sharing, SeedOf(1));
  const ShareCheck another(sharing, SeedOf(2));
  const auto sum_of_factors = [&](const ShareCheck& factors, uint32_t s) {
    std::vector<uint16_t> ones(sharing.mask_words());
    const size_t first = std::min<size_t>(s * sharing.key_words(), ring::kCompactDegree);
    std::fill_n(ones.begin(), std::min(sharing.key_words(), ring::kCompactDegree - first),
                uint16_t{1});
    return factors.Combine(ones)[0];
  };
  const std::vector<uint16_t> none(sharing.check_secrets());
  const std::vector<uint16_t> checks = RandomMasks(random, sharing.check_secrets());
  const std::vector<uint64_t> bare = SecretsOfR0(sharing, check, 1, none, masks);
  const std::vector<uint64_t> hidden = SecretsOfR0(sharing, check, 1, checks, masks);
  const std::vector<uint64_t> again = SecretsOfR0(sharing, another, 1, checks, masks);
  for (uint32_t s = 0; s < sharing.shape().packing; ++s) {
    EXPECT_EQ(bare[s], sum_of_factors(check, s));
    EXPECT_EQ(hidden[s], (bare[s] + checks[kCheckWords * s]) % kSharePrime);
    EXPECT_EQ((hidden[s] + kSharePrime - again[s]) % kSharePrime,
              (uint32_t{sum_of_factors(check, s)} + kSharePrime - sum_of_factors(another, s)) %
                  kSharePrime);
  }
  // Other random secrets carry another key to the same words.
  std::vector<uint16_t> others = checks;
  for (uint32_t s = 0; s < sharing.shape().packing; ++s) {
    uint16_t& secret = others[kCheckWords * s];
    secret = static_cast<uint16_t>((secret + sum_of_factors(check, s)) % kSharePrime);
  }
  EXPECT_EQ(SecretsOfR0(sharing, check, 0, others, masks), hidden);
}

}  // namespace
}  // namespace tacet::he
