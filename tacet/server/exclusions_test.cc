#include "tacet/server/exclusions.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/test_size_for_test.h"
#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/server/failures.h"

namespace tacet::server {
namespace {

using protocol::testing::AgreementWith;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Everybody uploads.
agreement::ManifestSpec Everybody(uint32_t members, uint32_t min_participants,
                                  std::vector<uint64_t> seats = {0, 1, 2, 3, 4, 5, 6}) {
  agreement::ManifestSpec spec = AgreementWith(2, std::move(seats));
  spec.sampling.cohort = members;
  spec.sampling.min_participants = min_participants;
  spec.spare_attempts = 20;
  return spec;
}

class ExclusionsTest : public ::testing::Test {
 protected:
  explicit ExclusionsTest(agreement::ManifestSpec spec = Everybody(7, 6), int members = 7,
                          const RoundServerOptions& options = {})
      : members_(std::move(spec), members), rules_(members_.manifest(), options) {}

  void End(protocol::AttemptPhase phase, std::string_view failure = "",
           const Submissions& named = {}) {
    AttemptRecord record{.attempt = {.number = {.epoch = 0, .round = round_, .attempt = attempt_}},
                         .phase = phase,
                         .failure = std::string(failure)};
    exclusions_.AttemptEnded(rules_, record, named);
    const bool published = phase == protocol::AttemptPhase::kPublished;
    round_ += published ? 1 : 0;
    attempt_ = published ? 0 : attempt_ + 1;
  }
  void Publish() { End(protocol::AttemptPhase::kPublished); }
  void Refuse() { End(protocol::AttemptPhase::kFailed, kRefusedFailure); }
  void Name(uint64_t member, base::Bytes why) {
    Submissions named;
    named.Add({member, std::move(why)});
    End(protocol::AttemptPhase::kFailed, kDisputedShares, named);
  }
  std::vector<uint64_t> LeftOut() const {
    std::vector<uint64_t> members;
    for (const Submission& one : exclusions_.now()) members.push_back(one.member);
    return members;
  }

  uint8_t WhyOf(uint64_t member) const {
    const Submission* const one = exclusions_.now().Find(member);
    return one == nullptr ? 0 : one->bytes().at(0);
  }

  protocol::testing::SmallFederation members_;
  RoundRules rules_;
  Exclusions exclusions_;
  uint32_t round_ = 0, attempt_ = 0;
};

TEST_F(ExclusionsTest, LastTwiceAsLongEachTime) {
  for (const base::Bytes& why : {base::Bytes(), base::Bytes{kInDispute}}) {
    exclusions_ = {};
    round_ = attempt_ = 0;
    for (uint32_t rounds = 1; rounds <= 8; rounds *= 2) {
      EXPECT_THAT(LeftOut(), IsEmpty());
      Name(3, why);
      for (uint32_t i = 0; i < rounds; ++i) {
        EXPECT_THAT(LeftOut(), ElementsAre(3)) << rounds << " " << i;
        Publish();
      }
    }
    EXPECT_THAT(LeftOut(), IsEmpty());
  }
}

class ShortExclusionsTest : public ExclusionsTest {
 protected:
  ShortExclusionsTest() : ExclusionsTest(Everybody(7, 6), 7, {.most_rounds_left_out = 2}) {}
};

TEST_F(ShortExclusionsTest, LastNoLongerThanTheServerAllows) {
  for (const int rounds : {1, 2, 2, 2}) {
    Name(3, {});
    for (int i = 0; i < rounds; ++i) {
      EXPECT_THAT(LeftOut(), ElementsAre(3));
      Publish();
    }
    EXPECT_THAT(LeftOut(), IsEmpty());
  }
}

// One lying seat may have put it there.
TEST_F(ExclusionsTest, LastOneRoundWhereOneSeatCanNameAnybody) {
  for (int i = 0; i < 4; ++i) {
    Name(3, {kInDisputeOfOneSeat});
    EXPECT_THAT(LeftOut(), ElementsAre(3));
    Publish();
    EXPECT_THAT(LeftOut(), IsEmpty());
  }
  Name(3, {});
  Publish();
  EXPECT_THAT(LeftOut(), IsEmpty());  // the first time that counts
}

// Abstaining from a trial spares nobody the trial. A member that abstains
// from all of them does not keep the others from theirs.
TEST_F(ExclusionsTest, ATrialThatLeavesTooFewGiversIsRepeatedOnce) {
  const auto make_void = [this] { End(protocol::AttemptPhase::kFailed, kTooFewUploads); };
  for (const uint64_t member : {0, 0, 1, 1}) {
    Refuse();
    EXPECT_THAT(LeftOut(), ElementsAre(member));
    make_void();
    EXPECT_THAT(LeftOut(), IsEmpty());
  }
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(2));
  make_void();
  for (const uint64_t member : {2, 3}) {  // the second time it is a trial
    Refuse();
    EXPECT_THAT(LeftOut(), ElementsAre(member));
  }
  make_void();
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(3));  // of its own
  make_void();
  Publish();
  EXPECT_THAT(LeftOut(), IsEmpty());  // trials that are void do not continue
}

// K_min is one fewer than the members: one of them is on trial at a time. A member that was
// left out of a refused sum is cleared. The last suspect is left out.
TEST_F(ExclusionsTest, MembersAreOnTrialInTurn) {
  for (uint64_t member = 0; member < 5; ++member) {
    Refuse();
    EXPECT_THAT(LeftOut(), ElementsAre(member));
    EXPECT_EQ(exclusions_.named_now(), 0u);
  }
  Publish();  // without 4
  EXPECT_THAT(LeftOut(), IsEmpty());
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(5));
  EXPECT_EQ(WhyOf(5), kOnTrial);
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(6));
  Publish();  // 4 or 6
  EXPECT_THAT(LeftOut(), ElementsAre(4));
  EXPECT_EQ(WhyOf(4), kSuspected);
  Publish();
  EXPECT_THAT(LeftOut(), ElementsAre(6));
  Refuse();
  for (int i = 0; i < 1024; ++i) {
    EXPECT_THAT(LeftOut(), ElementsAre(4));
    EXPECT_EQ(WhyOf(4), kLastSuspect);
    Publish();
  }
  // It was not the only one: all are suspects again.
  for (int i = 0; i < 2; ++i) {
    Refuse();
    EXPECT_THAT(LeftOut(), ElementsAre(4));
  }
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(0));
}

// One wrong sum, by chance or by a member that lies once.
TEST_F(ExclusionsTest, AfterOneRefusedSumOneMemberMissesOneRound) {
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(0));
  for (int i = 0; i < 50; ++i) {
    Publish();
    EXPECT_THAT(LeftOut(), IsEmpty());
  }
}

// An attempt that failed for another reason says nothing about who is on trial.
TEST_F(ExclusionsTest, OtherFailuresChangeNothing) {
  Refuse();
  End(protocol::AttemptPhase::kFailed, kNotDecrypted);
  EXPECT_THAT(LeftOut(), ElementsAre(0));
}

// A sum that another member spoils once does not bring back the one that was found.
TEST_F(ExclusionsTest, TheLastSuspectIsClearedByTwoRefusedSumsOfARound) {
  for (int i = 0; i < 7; ++i) Refuse();
  for (int i = 0; i < 1024; ++i) {
    EXPECT_THAT(LeftOut(), ElementsAre(6)) << i;
    if (i % 10 == 0) Refuse();
    EXPECT_THAT(LeftOut(), ElementsAre(6)) << i;
    Publish();
  }
  EXPECT_THAT(LeftOut(), IsEmpty());  // no longer than the options allow
  Refuse();
  Refuse();
  EXPECT_EQ(WhyOf(6), kLastSuspect);
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(0));
}

class GroupTest : public ExclusionsTest {
 protected:
  GroupTest() : ExclusionsTest(Everybody(8, 3), 8) {}
};

// With a smaller K_min a half of the suspects is on trial.
TEST_F(GroupTest, HalvesAreOnTrial) {
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(0, 1, 2, 3));
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(4, 5));
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(6));
  Publish();
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(7));
  Publish();
  EXPECT_THAT(LeftOut(), ElementsAre(6));
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(7));
  EXPECT_EQ(WhyOf(7), kLastSuspect);
}

class ShortOfAttemptsTest : public ExclusionsTest {
 protected:
  static agreement::ManifestSpec WithSpare(uint32_t attempts) {
    agreement::ManifestSpec spec = Everybody(8, 4);
    spec.spare_attempts = attempts;
    return spec;
  }
  ShortOfAttemptsTest() : ExclusionsTest(WithSpare(3), 8) {}
};

// Where attempts are too few to find one, those without whom sums were sound stay on trial.
TEST_F(ShortOfAttemptsTest, AreNotSpentOnOthers) {
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(0, 1, 2, 3));
  Publish();
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(0, 1));
  Publish();
  for (int i = 0; i < 15; ++i) {
    EXPECT_THAT(LeftOut(), ElementsAre(0));
    Publish();
  }
  EXPECT_THAT(LeftOut(), IsEmpty());
}

// Attempts of an earlier epoch of the training are spent, too.
TEST(ExclusionsEpochTest, EarlierEpochsSpendAttempts) {
  const protocol::testing::SmallFederation members(Everybody(8, 4), 8, 1);
  const RoundRules rules(members.manifest(), {});
  Exclusions exclusions;
  const auto end = [&](uint32_t epoch, uint32_t round, bool sound) {
    AttemptRecord record{
        .attempt = {.number = {.epoch = epoch, .round = round, .attempt = 0}},
        .phase = sound ? protocol::AttemptPhase::kPublished : protocol::AttemptPhase::kFailed,
        .failure = sound ? "" : std::string(kRefusedFailure)};
    exclusions.AttemptEnded(rules, record, {});
  };
  for (int i = 0; i < 17; ++i) end(0, 0, false);  // of 20
  EXPECT_THAT(exclusions.now(), IsEmpty());
  end(1, 0, false);
  EXPECT_EQ(exclusions.now()[0].member, 0u);
  end(1, 0, true);
  end(1, 1, false);
  EXPECT_EQ(exclusions.now()[0].member, 0u);  // and not 4
}

class QueryTest : public ExclusionsTest {
 protected:
  QueryTest() : ExclusionsTest(Everybody(7, 7)) {}
};

TEST_F(QueryTest, NobodyIsOnTrialWhereAllAreNeeded) {
  for (int i = 0; i < 9; ++i) {
    Refuse();
    EXPECT_THAT(LeftOut(), IsEmpty());
  }
}

class DrawnTest : public ExclusionsTest {
 protected:
  DrawnTest() : ExclusionsTest(Everybody(5, 2, {0, 1, 2, 3, 4}), 7) {}
};

// Another draw has other participants.
TEST_F(DrawnTest, NobodyIsOnTrialWhereCohortsAreDrawn) {
  Refuse();
  EXPECT_THAT(LeftOut(), IsEmpty());
}

// Whatever happens, K_min others remain, as long as the names themselves leave so many.
TEST_F(GroupTest, LeaveKMinOthers) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    exclusions_ = {};
    round_ = attempt_ = 0;
    for (int i = 0; i < 60; ++i) {
      const uint64_t member = random() % 8;
      if (random() % 3 == 0) {
        Publish();
      } else if (random() % 2 == 0 && exclusions_.now().Find(member) == nullptr &&
                 exclusions_.named_now() < rules_.MostLeftOut()) {
        Name(member, random() % 2 == 0 ? base::Bytes() : base::Bytes{kInDisputeOfOneSeat});
      } else {
        Refuse();
      }
      ASSERT_LE(exclusions_.now().size(), rules_.MostLeftOut()) << seed;
    }
  }
}

// Whether a sum without `left_out` is spoiled, in an attempt with this number from 0.
using Lie = std::function<bool(const std::vector<uint64_t>& left_out, uint64_t attempt)>;

bool Has(const std::vector<uint64_t>& members, uint64_t member) {
  return std::ranges::find(members, member) != members.end();
}

// Ways in which one member spoils sums: it cannot spoil one that it is left out of.
std::vector<std::pair<std::string, Lie>> LiesOf(uint64_t liar, uint64_t members) {
  std::vector<std::pair<std::string, Lie>> lies;
  lies.emplace_back("always", [liar](const auto& out, uint64_t) { return !Has(out, liar); });
  lies.emplace_back("while nobody is left out",
                    [](const auto& out, uint64_t) { return out.empty(); });
  for (const uint64_t odd : {0, 1}) {
    lies.emplace_back("every other time", [liar, odd](const auto& out, uint64_t attempt) {
      return !Has(out, liar) && attempt % 2 == odd;
    });
  }
  for (uint64_t with = 0; with < members; ++with) {
    if (with == liar) continue;
    lies.emplace_back(fmt::format("with {}", with), [liar, with](const auto& out, uint64_t) {
      return !Has(out, liar) && !Has(out, with);
    });
  }
  for (uint64_t seed = 0; seed < 8; ++seed) {
    lies.emplace_back("at random",
                      [liar, random = std::mt19937_64(seed)](const auto& out, uint64_t) mutable {
                        return !Has(out, liar) && random() % 2 == 0;
                      });
  }
  return lies;
}

constexpr uint32_t kRounds = 100;  // as by default

// A training in which everybody uploads, with a liar.
struct Training {
  size_t failed = 0;
  std::vector<size_t> missed;  // published rounds, by member
};

Training Train(const RoundRules& rules, const Lie& lies) {
  Training training{.missed = std::vector<size_t>(rules.members())};
  Exclusions exclusions;
  std::vector<AttemptRecord> records;
  uint32_t round = 0, attempt = 0;
  while (round < kRounds && training.failed <= 2 * rules.spec().spare_attempts) {
    std::vector<uint64_t> out;
    for (const Submission& one : exclusions.now()) out.push_back(one.member);
    const bool spoiled = lies(out, records.size());
    records.push_back(
        {.attempt = {.number = {.epoch = 0, .round = round, .attempt = attempt}},
         .phase = spoiled ? protocol::AttemptPhase::kFailed : protocol::AttemptPhase::kPublished,
         .failure = spoiled ? std::string(kRefusedFailure) : ""});
    exclusions.AttemptEnded(rules, records.back(), {});
    training.failed += spoiled ? 1 : 0;
    round += spoiled ? 0 : 1;
    attempt = spoiled ? attempt + 1 : 0;
    if (spoiled) continue;
    for (const uint64_t member : out) ++training.missed[member];
  }
  // A server that starts again knows the same.
  Exclusions again;
  for (const AttemptRecord& record : records) again.AttemptEnded(rules, record, {});
  EXPECT_TRUE(std::ranges::equal(again.now(), exclusions.now()));
  return training;
}

struct Search {
  uint32_t members = 0, min_participants = 0;  // 0: as by default
  size_t most_failed = 0;                      // attempts, by a member that always lies
  size_t most_by_any = 0;                      // by a member that lies as it likes
  size_t honest_left_out = 0;                  // rounds of another member, by one that always lies

  // All else as by default.
  agreement::ManifestSpec spec() const {
    std::vector<uint64_t> seats = {0, 1, 2, 3, 4, 5, 6};
    seats.resize(std::min<size_t>(seats.size(), members));
    agreement::ManifestSpec spec = Everybody(members, min_participants, seats);
    spec.committee.corrupt = (spec.committee.seats - 1) / 3;
    spec.mechanism.noise_stddev = 30;
    spec.rounds = kRounds;
    spec.spare_attempts = 10;
    return spec;
  }
};

// The worst of all places and ways to lie.
Search Searched(uint32_t of, uint32_t min_participants = 0) {
  Search found{.members = of, .min_participants = min_participants};
  const protocol::testing::SmallFederation members(found.spec(), static_cast<int>(of));
  const RoundRules rules(members.manifest(), {});
  for (uint64_t liar = 0; liar < of; ++liar) {
    for (const auto& [name, lies] : LiesOf(liar, of)) {
      Training training = Train(rules, lies);
      EXPECT_LE(training.failed, rules.spec().spare_attempts) << of << ": " << liar << " " << name;
      found.most_by_any = std::max(found.most_by_any, training.failed);
      if (name != "always") continue;
      found.most_failed = std::max(found.most_failed, training.failed);
      EXPECT_GE(std::exchange(training.missed[liar], 0), kRounds - 4) << liar;
      found.honest_left_out =
          std::max(found.honest_left_out, *std::ranges::max_element(training.missed));
    }
  }
  return found;
}

class SearchTest : public ::testing::TestWithParam<Search> {};

TEST_P(SearchTest, PublishesAllRoundsWithinTheSpareAttempts) {
  const Search& expected = GetParam();
  const Search found = Searched(expected.members, expected.min_participants);
  EXPECT_EQ(found.most_failed, expected.most_failed);
  EXPECT_EQ(found.most_by_any, expected.most_by_any);
  EXPECT_EQ(found.honest_left_out, expected.honest_left_out);
}

INSTANTIATE_TEST_SUITE_P(Members, SearchTest,
                         ::testing::Values(Search{5, 4, 6, 7, 0}, Search{7, 6, 8, 9, 0},
                                           Search{20, 16, 8, 9, 2}),
                         [](const auto& search) {
                           return fmt::format("Of{}KMin{}", search.param.members,
                                              search.param.min_participants);
                         });

// At all defaults, of any number of members: the failed attempts of one liar are at most
// 2 ceil(log2 K) + n, and no more than there are spare ones.
TEST(DefaultSearchTest, FindsOneLiarAmongAnyNumberOfMembers) {
  const int step = base::TestSize("TACET_SEARCH_STEP", 29);
  for (uint32_t of = 3; of <= 60; of += static_cast<uint32_t>(step)) {
    const Search found = Searched(of);
    EXPECT_LE(found.most_by_any, 2 * std::bit_width(of - 1) + std::min(of, 7u)) << of;
    if (step == 1) {
      fmt::print("{} members: {} failed, {} of any liar, {} rounds missed\n", of, found.most_failed,
                 found.most_by_any, found.honest_left_out);
    }
  }
}

// An attempt clears one member at most, and the attempts are agreed: no rule finds every liar here.
TEST(ExclusionsLimitTest, OfTwentyMembersTenSpareAttemptsReachEight) {
  const Search search{.members = 20, .min_participants = 19};
  const protocol::testing::SmallFederation members(search.spec(), 20);
  const RoundRules rules(members.manifest(), {});
  for (uint64_t liar = 0; liar < 20; ++liar) {
    const Lie always = [liar](const auto& out, uint64_t) { return !Has(out, liar); };
    EXPECT_EQ(Train(rules, always).failed <= 10, liar < 8) << liar;
  }
}

}  // namespace
}  // namespace tacet::server
