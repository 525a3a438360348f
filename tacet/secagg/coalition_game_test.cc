// Distinguishing game between a coalition and two honest members, on closed rounds of real uploads
// (coalition_for_test.h): a coin decides which of the two sends +x, and which -x. The sum of both
// does not depend on the coin. Check rows play a game of their own, in which the coalition is also
// told both honest members' one-time keys, and guesses which of them has which.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/test_size_for_test.h"
#include "tacet/crypto/random.h"
#include "tacet/secagg/coalition_for_test.h"

namespace tacet::secagg {
namespace {

using namespace testing;  // NOLINT: tacet::secagg::testing

std::vector<uint64_t> MembersBut(const Pair& colluders) {
  std::vector<uint64_t> members;
  for (uint64_t member = 0; member < SmallRound::kMembers; ++member) {
    if (std::ranges::find(colluders, member) == colluders.end()) members.push_back(member);
  }
  return members;
}

// Every pair of seats, with every pair of neighbours among the other members: on the committee,
// outside of it, and one of each. `in_attempt` games share an attempt.
template <typename Function>
void ForEachGame(int games, int in_attempt, Federation& federation, const Function& function) {
  crypto::InsecureSeededEntropy entropy(3, "coins");
  crypto::Random coins = crypto::Random::FromEntropy(entropy);
  int attempt = 0, game = 0;
  while (game < games) {
    for (uint64_t a = 0; a < SmallRound::kSeats; ++a) {
      for (uint64_t b = a + 1; b < SmallRound::kSeats && game < games; ++b, ++attempt) {
        const std::vector<uint64_t> others = MembersBut({a, b});
        const size_t first = static_cast<size_t>(attempt / 10) % others.size();
        federation.Begin({a, b}, {others[first], others[(first + 1) % others.size()]});
        const int end = std::min(games, game + in_attempt);
        for (; game < end; ++game) {
          const bool swapped = coins.Below(2) == 1;
          const View view = federation.Play(swapped);
          function(view, swapped, coins.Below(2) == 1);
        }
      }
    }
  }
}

bool GuessByWraps(const Federation& federation, const View& view, bool otherwise) {
  const uint64_t offset = federation.params().offset();
  const auto& [first, second] = view.stage->honest;
  return GuessByWraps(
      *view.stage->mac, federation.spec(), {view.NonceOfUpload(first), view.NonceOfUpload(second)},
      offset, static_cast<int64_t>(view.honest_sum.sums[0]) - 2 * static_cast<int64_t>(offset),
      view.honest_sum.tag.words, otherwise);
}

// The number of games in which each strategy of the coalition is right. Of many games, up to 200
// share an attempt.
std::map<std::string, int> PlayGames(const GameSpec& spec, int games) {
  Federation federation(spec);
  std::map<std::string, int> right;
  const int in_attempt = std::clamp(games / 600, 1, 200);
  ForEachGame(games, in_attempt, federation, [&](const View& view, bool swapped, bool otherwise) {
    Coalition coalition(federation, view,
                        {static_cast<uint32_t>(view.stage->colluders[0]),
                         static_cast<uint32_t>(view.stage->colluders[1])});
    const auto count = [&](const char* strategy, bool guess) {
      right[strategy] += guess == swapped ? 1 : 0;
    };
    count("zeros", coalition.GuessByKeys(Made::kWithoutMasks));
    count("sums of masks", coalition.GuessByKeys(Made::kHonestMasks));
    count("X25519 broken", coalition.GuessByKeys(Made::kX25519Broken));
    count("sum of keys", coalition.GuessByKeys(Made::kHalfKeySum));
    if (spec.dimension <= Federation::kMostUnknowns) {
      count("counts behind a MAC", coalition.GuessByCounts(otherwise));
    }
    if (spec.dimension == 1 && spec.noise.has_value()) {
      count("wraps of the MAC's words", GuessByWraps(federation, view, otherwise));
    }
    right["check rows"] += coalition.TellsKeysApart(false) ? 1 : 0;
  });
  return right;
}

struct NamedGame {
  const char* name;
  GameSpec spec;
};
const std::vector<NamedGame>& Games() {
  static const std::vector<NamedGame> games = {
      {"d1", {.dimension = 1, .planted = 100}},
      {"d3", {.dimension = 3, .planted = 100}},
      {"d5", {.dimension = 5, .planted = 100}},
      {"d9", {.dimension = 9, .planted = 100}},
      {"d22", {.dimension = 22, .planted = 100}},
      {"NoiseOf2", {.dimension = 1, .planted = 4, .noise = NoiseLaw::Normal(2)}},
      {"NoiseOf10", {.dimension = 1, .planted = 20, .noise = NoiseLaw::Normal(10)}},
      {"PureEpsilon", {.dimension = 1, .planted = 1, .noise = NoiseLaw::LaplaceShare(1, 1.0 / 3)}},
      {"NoNoise", {.dimension = 5, .planted = 100, .noise = NoiseLaw::None()}}};
  return games;
}

// A coalition that tells nothing apart is right in half of the games, within 6.2 standard errors:
// passed by chance with probability 6e-10. In 10^5 games a rate of 51.5 % is noticed with
// probability 0.999, in the 150 of a short run one of 90 %.
class CoalitionGameTest : public ::testing::TestWithParam<NamedGame> {};

TEST_P(CoalitionGameTest, FSeatsAndAllMembersButTwoCannotTellWhoSentWhat) {
  const int kGames = base::TestSize("TACET_GAMES", 150);
  for (const auto& [strategy, wins] : PlayGames(GetParam().spec, kGames)) {
    EXPECT_NEAR(wins, 0.5 * kGames, 6.2 * 0.5 * std::sqrt(kGames)) << strategy;
    RecordProperty(strategy, wins);
  }
}

INSTANTIATE_TEST_SUITE_P(Games, CoalitionGameTest, ::testing::ValuesIn(Games()),
                         [](const auto& game) { return std::string(game.param.name); });

// No strategy is always right, or always wrong: by chance with probability 2^-30 each.
TEST(LargeModelGameTest, FSeatsAndAllMembersButTwoCannotTellWhoSentWhat) {
  constexpr int kGames = 31;
  for (const auto& [strategy, wins] : PlayGames({.dimension = 486654, .planted = 1}, kGames)) {
    EXPECT_GT(wins, 0) << strategy;
    EXPECT_LT(wins, kGames) << strategy;
  }
}

// The power of the games: words that add up as integers give the coin away, to the same attacker
// that is right in half of the games above. It is right in 72, 60 and 81 % of these; the bounds are
// ten standard errors below.
TEST(CoalitionPowerTest, MacsAddedAsIntegersWouldTell) {
  constexpr int kGames = 20000;
  const std::map<std::string, double> at_least = {
      {"NoiseOf2", 0.65}, {"NoiseOf10", 0.56}, {"PureEpsilon", 0.74}};
  for (const NamedGame& game : Games()) {
    if (!at_least.contains(game.name)) continue;
    const uint64_t offset = 10000;
    crypto::InsecureSeededEntropy entropy(5, game.name);
    crypto::Random random = crypto::Random::FromEntropy(entropy);
    int right = 0;
    for (int i = 0; i < kGames; ++i) {
      const he::HomomorphicMacKey mac(entropy.Draw(32), 1, {});
      const bool swapped = random.Below(2) == 1;
      std::array<SealNonce, 2> nonces;
      std::array<uint64_t, he::kTagWords> sums{};
      int64_t count_sum = 0;
      for (const bool second : {false, true}) {
        entropy.Fill(nonces[second]);
        const int64_t centred =
            (second == swapped ? 1 : -1) * game.spec.planted + game.spec.noise->Draw(random);
        count_sum += centred;
        const std::vector<uint32_t> counts = {
            static_cast<uint32_t>(static_cast<int64_t>(offset) + centred)};
        const he::Tag tag = mac.Compute(counts, nonces[second]);
        for (size_t m = 0; m < he::kTagWords; ++m) sums[m] += tag.words[m];
      }
      right += GuessByWraps(mac, game.spec, nonces, offset, count_sum, sums,
                            random.Below(2) == 1) == swapped
                   ? 1
                   : 0;
    }
    EXPECT_GT(right, at_least.at(game.name) * kGames) << game.name;
    RecordProperty(game.name, right);
  }
}

// The same strategies win every game where the coalition has one thing more than it may have.
TEST(CoalitionPowerTest, WithOneThingMoreTheSameCoalitionAlwaysWins) {
  constexpr int kGames = 60;
  Federation federation({.dimension = 64, .planted = 100});
  const uint32_t threshold = federation.params().sharing().threshold();
  ASSERT_EQ(threshold, 4u);
  ForEachGame(kGames, 1, federation, [&](const View& view, bool swapped, bool) {
    // As many seats as decrypt.
    std::vector<uint32_t> seats(threshold);
    for (uint32_t i = 0; i < threshold; ++i) {
      seats[i] = (view.stage->attempt.number.attempt + i) % 5;
    }
    Coalition quorum(federation, view, seats);
    EXPECT_EQ(quorum.GuessByKeys(Made::kWithoutMasks), swapped);
    EXPECT_EQ(quorum.GuessByKeys(Made::kHonestMasks), swapped);
    // f seats, with X25519 and ML-KEM broken.
    Coalition broken(federation, view, {seats[0], seats[1]});
    EXPECT_EQ(broken.GuessByKeys(Made::kBothBroken), swapped);
    // K_min - 1 members: the other honest one, too.
    EXPECT_EQ(Coalition(federation, view, {}).GuessKnowingTheFirst(), swapped);
    // Seats that give a second check row in one attempt.
    EXPECT_TRUE(Coalition(federation, view, {}).TellsKeysApart(true));
  });
}

// With a quorum's seats the MAC can be read, and the counts behind it; also in games that share an
// attempt.
TEST(CoalitionPowerTest, CountsBehindAMacAreFoundOnceItCanBeRead) {
  for (const uint64_t dimension : {1, 5, 8}) {
    Federation federation({.dimension = dimension, .planted = 100, .noise = NoiseLaw::Normal(10)});
    ForEachGame(40, 4, federation, [&](const View& view, bool swapped, bool otherwise) {
      EXPECT_EQ(Coalition(federation, view, {0, 1, 2, 3}).GuessByCounts(otherwise), swapped);
    });
  }
}

}  // namespace
}  // namespace tacet::secagg
