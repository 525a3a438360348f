#include "tacet/server/exclusions.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
}

// K_min is one fewer than the members: one of them is on trial at a time. The one without which
// the sum was sound is on trial first the next time.
TEST_F(ExclusionsTest, MembersAreOnTrialInTurn) {
  for (uint64_t member = 0; member < 5; ++member) {
    Refuse();
    EXPECT_THAT(LeftOut(), ElementsAre(member));
    EXPECT_EQ(exclusions_.named_now(), 0u);
  }
  Publish();  // without 4
  for (uint32_t rounds = 2; rounds <= 8; rounds *= 2) {
    EXPECT_THAT(LeftOut(), IsEmpty());
    Refuse();
    for (uint32_t i = 0; i < rounds; ++i) {
      EXPECT_THAT(LeftOut(), ElementsAre(4)) << rounds << " " << i;
      Publish();
    }
  }
  // It was not the only one.
  for (uint64_t i = 0; i < 7; ++i) Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(6));
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(4));
}

// An attempt that failed for another reason says nothing about who is on trial.
TEST_F(ExclusionsTest, OtherFailuresChangeNothing) {
  Refuse();
  End(protocol::AttemptPhase::kFailed, kNotDecrypted);
  EXPECT_THAT(LeftOut(), ElementsAre(0));
}

class GroupTest : public ExclusionsTest {
 protected:
  GroupTest() : ExclusionsTest(Everybody(8, 3), 8) {}
};

// With a smaller K_min a half of the suspects is on trial: six attempts more for eight members.
TEST_F(GroupTest, HalvesAreOnTrial) {
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(0, 1, 2, 3));
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(4, 5, 6, 7));
  Publish();
  EXPECT_THAT(LeftOut(), IsEmpty());
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(4, 5));
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(6, 7));
  Publish();
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(6));
  Publish();
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(6, 0, 1, 2));  // named once, so first
}

// None of the suspects alone explains it: all members are suspects again.
TEST_F(GroupTest, BeginsAgainWithAllWhereSuspectsAreNotEnough) {
  Refuse();
  Publish();
  for (int i = 0; i < 2; ++i) Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(2, 3));
  Refuse();
  EXPECT_THAT(LeftOut(), ElementsAre(0, 1, 2, 3));
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

}  // namespace
}  // namespace tacet::server
