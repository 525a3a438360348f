#include "tacet/he/key_sharing.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/random.h"
#include "tacet/he/attempt_for_test.h"
#include "tacet/he/shared_keys_for_test.h"

namespace tacet::he {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kN = 4096;

void ExpectKeys(const absl::StatusOr<KeySharing::Recovery>& recovery,
                const std::vector<int32_t>& expected) {
  ASSERT_TRUE(recovery.ok()) << base::Message(recovery.status());
  EXPECT_TRUE(std::ranges::equal(recovery->key_sum.Expose(), expected));
}

std::vector<uint32_t> FirstSeats(uint32_t count) {
  std::vector<uint32_t> seats(count);
  std::iota(seats.begin(), seats.end(), 0);
  return seats;
}

struct Size {
  CommitteeShape shape;
  uint32_t votes;
  uint32_t packing;
  size_t share_bytes;
  size_t mask_bytes;
};

class KeySharingSizes : public testing::TestWithParam<Size> {};

TEST_P(KeySharingSizes, AreThoseOfTheDesign) {
  const KeySharing sharing = *KeySharing::Create(GetParam().shape);
  EXPECT_EQ(sharing.votes(), GetParam().votes);
  EXPECT_EQ(sharing.shape().packing, GetParam().packing);
  EXPECT_EQ(sharing.share_bytes(), GetParam().share_bytes);
  EXPECT_EQ(2 * sharing.mask_words(), GetParam().mask_bytes);
  // Two quorums share an honest seat, and the quorum suffices to decrypt.
  EXPECT_GT(2 * sharing.votes() - GetParam().shape.seats, GetParam().shape.corrupt);
  EXPECT_LE(sharing.threshold(), sharing.votes());
  EXPECT_GT(sharing.threshold(), GetParam().shape.corrupt);
}

TEST_P(KeySharingSizes, EveryQuorumRecoversTheSumOfTheKeys) {
  const KeySharing sharing = *KeySharing::Create(GetParam().shape);
  const SharedKeys keys(sharing, 7);
  const uint32_t seats = GetParam().shape.seats;
  for (uint32_t first = 0; first < seats; ++first) {
    std::vector<uint32_t> quorum;
    for (uint32_t i = 0; i < sharing.threshold(); ++i) quorum.push_back((first + i) % seats);
    const auto recovery = keys.Recover(quorum);
    ExpectKeys(recovery, keys.key_sum());
    EXPECT_THAT(recovery->wrong_seats, IsEmpty());
  }
  ExpectKeys(keys.Recover(FirstSeats(seats)), keys.key_sum());
}

TEST_P(KeySharingSizes, TooFewAnswersGiveNothing) {
  const KeySharing sharing = *KeySharing::Create(GetParam().shape);
  const SharedKeys keys(sharing, 3);
  const absl::Status status = keys.Recover(FirstSeats(sharing.threshold() - 1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(base::Message(status), HasSubstr("are needed"));
}

// A wrong answer in one word is enough to be named, in any place.
TEST_P(KeySharingSizes, WrongSeatsAreCorrectedAndNamed) {
  const KeySharing sharing = *KeySharing::Create(GetParam().shape);
  const uint32_t seats = GetParam().shape.seats;
  const uint32_t correctable = (seats - sharing.threshold()) / 2;
  for (uint32_t wrong = 1; wrong <= correctable; ++wrong) {
    SharedKeys keys(sharing, 4, wrong);
    std::vector<uint32_t> spoiled;
    for (uint32_t i = 0; i < wrong; ++i) {
      spoiled.push_back((3 * i + wrong) % seats);
      keys.Spoil(spoiled.back(), i == 0 ? sharing.key_words() - 1 : 7 * i);
    }
    std::ranges::sort(spoiled);
    const auto recovery = keys.Recover(FirstSeats(seats));
    ExpectKeys(recovery, keys.key_sum());
    EXPECT_EQ(recovery->wrong_seats, spoiled);
  }
  SharedKeys keys(sharing, 4);
  for (uint32_t i = 0; i <= correctable; ++i) keys.Spoil(i, 100);
  const auto refused = keys.Recover(FirstSeats(seats));
  if (refused.ok()) {
    // Only where nothing is left over to notice it.
    EXPECT_EQ(seats, sharing.threshold());
  } else {
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kDataLoss);
  }
}

// Two seats of seven are wrong by the same polynomial, which is 0 at four other seats: the seventh
// seems to be the only wrong one. Where the polynomial changes the key, the MAC of the sum shows
// it. In the eight words that carry no key nothing would: the right sum named a right seat.
TEST(KeySharingTest, TwoSeatsDoNotHaveAThirdNamed) {
  const KeySharing sharing = *KeySharing::Create({.seats = 7, .corrupt = 2});
  const std::vector<uint32_t> zeros = {SeatPoint(3), SeatPoint(4), SeatPoint(5), SeatPoint(6)};
  std::vector<uint32_t> from = zeros;
  from.push_back(SeatPoint(2));
  const std::vector<uint32_t> liars = {SeatPoint(0), SeatPoint(1)};
  const ShareMatrix polynomial = InterpolateShares(from, liars);  // 1 at seat 2
  for (const size_t word : {size_t{100}, sharing.key_words() + 3}) {
    SharedKeys keys(sharing, 3);
    for (const uint32_t seat : {0, 1}) {
      uint16_t& said = keys.mask_sums()[seat][word];
      said = static_cast<uint16_t>((uint32_t{said} + polynomial[seat].back()) % kSharePrime);
    }
    ASSERT_OK_AND_ASSIGN(const auto recovery, keys.Recover(FirstSeats(7)));
    const bool is_right = std::ranges::equal(recovery.key_sum.Expose(), keys.key_sum());
    EXPECT_EQ(is_right, word != 100);
    EXPECT_EQ(recovery.wrong_seats.empty(), is_right);
  }
}

// 3 · 1366 secrets are two more than a key has coefficients.
TEST(KeySharingTest, SecretsBehindTheKeyAreZero) {
  const KeySharing sharing = *KeySharing::Create({.seats = 7, .corrupt = 2});
  SharedKeys keys(sharing, 3);
  // A constant polynomial: all seats agree on another secret behind the key.
  for (std::vector<uint16_t>& seat : keys.mask_sums()) {
    seat[sharing.key_words() - 1] =
        static_cast<uint16_t>((uint32_t{seat[sharing.key_words() - 1]} + 1) % kSharePrime);
  }
  EXPECT_EQ(keys.Recover(FirstSeats(7)).status().code(), absl::StatusCode::kDataLoss);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, KeySharingSizes,
    testing::Values(Size{{1, 0}, 1, 1, 8208, 8208}, Size{{2, 0}, 2, 2, 8224, 4112},
                    Size{{3, 0}, 2, 2, 12336, 4112}, Size{{4, 1}, 3, 2, 12336, 4112},
                    Size{{5, 2}, 4, 2, 12336, 4112}, Size{{5, 2, 1}, 4, 1, 24624, 8208},
                    Size{{7, 2}, 5, 3, 13740, 2748}, Size{{10, 3}, 7, 4, 14448, 2064},
                    Size{{20, 6}, 14, 8, 14560, 1040}, Size{{5, 4}, 5, 1, 8208, 8208}),
    [](const auto& size) {
      const CommitteeShape& shape = size.param.shape;
      return "N" + std::to_string(shape.seats) + "F" + std::to_string(shape.corrupt) + "L" +
             std::to_string(shape.packing);
    });

TEST(KeySharingTest, RefusesShapesThatCannotWork) {
  const auto refusal = [](const CommitteeShape& shape) {
    return base::Message(KeySharing::Create(shape).status());
  };
  EXPECT_THAT(refusal({0, 0}), HasSubstr("has 0 seats, it must have 1 to 20"));
  EXPECT_THAT(refusal({21, 3}), HasSubstr("has 21 seats"));
  EXPECT_THAT(refusal({4, 4}), HasSubstr("cannot tolerate 4 corrupt ones, at most 3"));
  EXPECT_THAT(refusal({7, 2, 2}), HasSubstr("packing is 2"));
  EXPECT_THAT(refusal({7, 2, 2}), HasSubstr("it must be 3 or 1"));
}

TEST(KeySharingTest, ReadsACommitteeFromText) {
  EXPECT_EQ(*ParseCommittee("7,2"), (CommitteeShape{.seats = 7, .corrupt = 2}));
  for (const char* const bad :
       {"", "7", "7,", ",2", "7,2,3", "7, 2", "-7,2", "7;2", "99999999999,1"}) {
    EXPECT_THAT(base::Message(ParseCommittee(bad).status()), HasSubstr("for example 7,2")) << bad;
  }
}

TEST(KeySharingTest, ParticipantsFitTheField) { EXPECT_EQ(KeySharing::MaxParticipants(), 910244u); }

TEST(KeySharingTest, WordsThatAreNotCanonicalAreFound) {
  base::Bytes shares(10);
  EXPECT_EQ(KeySharing::FindNonCanonical(shares), std::nullopt);
  shares[6] = 0xf1;  // 65521 = 0xfff1
  shares[7] = 0xff;
  EXPECT_EQ(KeySharing::FindNonCanonical(shares), 3u);
  shares[6] = 0xf0;
  EXPECT_EQ(KeySharing::FindNonCanonical(shares), std::nullopt);

  const KeySharing sharing = *KeySharing::Create({.seats = 3, .corrupt = 0});
  const base::Bytes sums(sharing.share_bytes(), 0xff);
  const std::vector<uint16_t> zeros(sharing.mask_words());
  const std::vector<KeySharing::Answer> answers = {{0, zeros}, {1, zeros}};
  EXPECT_THAT(base::Message(sharing.Recover(sums, answers).status()),
              HasSubstr("field `shares` is not canonical: word 0"));
}

TEST(KeySharingTest, SumsOfSharesAddUp) {
  const KeySharing sharing = *KeySharing::Create({.seats = 5, .corrupt = 2});
  const SharedKeys left(sharing, 2, 1);
  const SharedKeys right(sharing, 3, 2);
  base::Bytes sum = left.Shares();
  AddShares(right.Shares(), sum);
  ShareSums merged(sharing);
  merged.Add(left.Shares());
  ShareSums other(sharing);
  other.Add(right.Shares());
  merged.Merge(other);
  base::Bytes expected(sharing.share_bytes());
  merged.Write(expected);
  EXPECT_EQ(sum, expected);
  EXPECT_FALSE(KeySharing::FindNonCanonical(sum).has_value());
}

// The view that f corrupt seats and the server have of a share is independent of the key: for every
// block, the f masks they know and the values of all other seats determine the key only together
// with the masks of honest seats. Here every seat but f is honest, and an honest seat's mask is
// replaced so that the same bytes carry another key.
TEST(KeySharingTest, SharesFitEveryKeyForThoseWhoLackTheMasks) {
  const KeySharing sharing = *KeySharing::Create({.seats = 5, .corrupt = 2});
  const size_t words = sharing.mask_words();
  crypto::InsecureSeededEntropy entropy(1, "two keys");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  std::vector<int8_t> zeros(kN);
  std::vector<int8_t> ones(kN, 1);
  // Any f seats may be the corrupt ones.
  for (uint32_t a = 0; a < 5; ++a) {
    for (uint32_t b = a + 1; b < 5; ++b) {
      std::vector<uint16_t> masks = RandomMasks(random, 5 * words);
      base::Bytes shares(sharing.share_bytes());
      const std::vector<uint16_t> checks(sharing.check_secrets(), 9);
      sharing.Share(zeros, checks, masks, shares);
      // A polynomial of degree 3 through the corrupt seats' points with values 0 there, and 1 at
      // the secrets: what has to be taken off the honest masks.
      const auto at = [&](uint64_t x) {
        const auto power = [](uint64_t base, uint64_t e) {
          uint64_t r = 1;
          for (; e > 0; e >>= 1, base = base * base % kSharePrime) {
            if ((e & 1) != 0) r = r * base % kSharePrime;
          }
          return r;
        };
        const uint64_t points[4] = {a + 1, b + 1, kSharePrime - 1, kSharePrime - 2};
        uint64_t sum = 0;
        for (int j = 2; j < 4; ++j) {
          uint64_t term = 1;
          for (int i = 0; i < 4; ++i) {
            if (i == j) continue;
            term = term * ((x + kSharePrime - points[i]) % kSharePrime) % kSharePrime;
            term = term *
                   power((points[j] + kSharePrime - points[i]) % kSharePrime, kSharePrime - 2) %
                   kSharePrime;
          }
          sum += term;
        }
        return sum % kSharePrime;
      };
      std::vector<uint16_t> others = masks;
      for (uint32_t seat = 0; seat < 5; ++seat) {
        for (size_t w = 0; w < words; ++w) {
          uint16_t& mask = others[seat * words + w];
          mask = static_cast<uint16_t>((mask + kSharePrime - at(seat + 1)) % kSharePrime);
        }
      }
      ASSERT_TRUE(std::equal(masks.begin() + static_cast<ptrdiff_t>(a * words),
                             masks.begin() + static_cast<ptrdiff_t>((a + 1) * words),
                             others.begin() + static_cast<ptrdiff_t>(a * words)));
      ASSERT_TRUE(std::equal(masks.begin() + static_cast<ptrdiff_t>(b * words),
                             masks.begin() + static_cast<ptrdiff_t>((b + 1) * words),
                             others.begin() + static_cast<ptrdiff_t>(b * words)));
      base::Bytes again(sharing.share_bytes());
      std::vector<uint16_t> other_checks = checks;
      for (uint16_t& check : other_checks) ++check;
      sharing.Share(ones, other_checks, others, again);
      EXPECT_EQ(shares, again) << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace tacet::he
