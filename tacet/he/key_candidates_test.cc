#include "tacet/he/key_candidates.h"

#include <algorithm>
#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status_for_test.h"
#include "tacet/he/shared_keys_for_test.h"

namespace tacet::he {
namespace {

KeyCandidates CandidatesOf(const SharedKeys& keys, uint32_t first_seats) {
  return base::ValueOf(
      KeyCandidates::Create(keys.sharing(), keys.Shares(), keys.AnswersOf(first_seats)));
}

// Binomial coefficient of small numbers.
size_t Choose(size_t n, size_t k) { return k == 0 ? 1 : Choose(n - 1, k - 1) * n / k; }

// Any t answers determine a codeword, and all codewords are found, each once: that of the right
// answers among them, with the wrong seats named.
TEST(KeyCandidatesTest, HoldTheRightSumAsLongAsEnoughAnswersAreRight) {
  for (const CommitteeShape& shape : {CommitteeShape{.seats = 4, .corrupt = 1},
                                      {.seats = 5, .corrupt = 2},
                                      {.seats = 7, .corrupt = 2},
                                      {.seats = 10, .corrupt = 3}}) {
    const KeySharing sharing = *KeySharing::Create(shape);
    const uint32_t t = sharing.threshold();
    for (uint32_t given = t; given <= shape.seats; ++given) {
      for (uint32_t wrong = 0; wrong <= given - t; ++wrong) {
        SCOPED_TRACE(::testing::Message() << shape.seats << " " << given << " " << wrong);
        SharedKeys keys(sharing, 3, 10 * given + wrong);
        std::vector<uint32_t> spoiled;
        for (uint32_t i = 0; i < wrong; ++i) {
          spoiled.push_back(given - 1 - i);
          keys.Spoil(spoiled.back(), 5 * i);
        }
        std::ranges::sort(spoiled);
        KeyCandidates candidates = CandidatesOf(keys, given);
        EXPECT_EQ(candidates.most_left_out(), given - t);
        std::set<std::vector<int32_t>> found;
        std::optional<std::vector<uint32_t>> named;
        size_t codewords = 0;
        while (const auto candidate = candidates.Next(candidates.most_left_out())) {
          const auto key_sum = candidate->key_sum.Expose();
          found.emplace(key_sum.begin(), key_sum.end());
          ++codewords;
          if (std::ranges::equal(key_sum, keys.key_sum())) named = candidate->wrong_seats;
        }
        EXPECT_EQ(named, spoiled);
        EXPECT_EQ(found.size(), codewords);
        // Sets of t answers, of which those without a wrong one lead to the same codeword. Errors
        // in different words may leave other codewords with more than t answers.
        if (wrong <= 1) {
          const size_t expected = wrong == 0 ? 1 : 1 + Choose(given, t) - Choose(given - 1, t);
          EXPECT_EQ(codewords, expected);
        }
      }
    }
  }
}

// With 15,504 and more sets of answers, one answer more than determines a codeword must lie on it.
TEST(KeyCandidatesTest, LargeCommitteesTryNoMoreThanTheBound) {
  const KeySharing sharing = *KeySharing::Create({.seats = 20, .corrupt = 6});
  SharedKeys keys(sharing, 3);
  std::vector<uint32_t> spoiled;
  for (const uint32_t seat : {1, 5, 6, 13, 19}) {
    spoiled.push_back(seat);
    keys.SpoilAll(seat);
  }
  KeyCandidates candidates = CandidatesOf(keys, 20);
  EXPECT_EQ(candidates.most_left_out(), 5u);
  const auto candidate = candidates.Next(candidates.most_left_out());
  ASSERT_TRUE(candidate.has_value());
  EXPECT_TRUE(std::ranges::equal(candidate->key_sum.Expose(), keys.key_sum()));
  EXPECT_EQ(candidate->wrong_seats, spoiled);
  EXPECT_FALSE(candidates.Next(candidates.most_left_out()).has_value());

  EXPECT_EQ(CandidatesOf(keys, 16).most_left_out(), 2u);  // 120 sets
  EXPECT_EQ(CandidatesOf(keys, 17).most_left_out(), 2u);  // not 680
}

}  // namespace
}  // namespace tacet::he
