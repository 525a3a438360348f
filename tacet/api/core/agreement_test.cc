#include "tacet/agreement.h"

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/api/core/round_for_test.h"

namespace tacet::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Change = std::function<void(AgreementOptions&)>;

AgreementOptions SixMembers() {
  return RoundForTest::With(RoundForTest::OptionsForTest(), RoundForTest::KeysFor(6));
}

std::string Refusal(const Change& change) {
  AgreementOptions options = SixMembers();
  change(options);
  const absl::StatusOr<Agreement> agreement = Agreement::Create(options);
  EXPECT_EQ(agreement.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(agreement.status().message());
}

TEST(AgreementTest, DefaultsAreFilledIn) {
  const Agreement agreement = ValueOf(Agreement::Create(SixMembers()));
  const FederationOptions& federation = agreement.options().federation;
  EXPECT_EQ(federation.clients, 6u);
  EXPECT_EQ(federation.cohort, 6u);
  EXPECT_EQ(federation.min_participants, 5u);            // one may be absent
  EXPECT_EQ(federation.sampling, Sampling::kFixedSize);  // everybody takes part
  EXPECT_EQ(federation.dummy_uploads, false);
  EXPECT_EQ(federation.coordinate_bound, 1);
  EXPECT_EQ(federation.committee_seats, 6u);
  EXPECT_EQ(federation.corrupt_seats, 1u);
  EXPECT_THAT(agreement.options().committee, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(agreement.votes_needed(), 4u);
  EXPECT_EQ(agreement.min_participants(), 5u);
  EXPECT_EQ(agreement.max_participants(), 6u);
  EXPECT_EQ(agreement.attempt_budget(), 13u);
  EXPECT_GE(agreement.sum_stddev(6), 4);
}

// K_min follows the members; never fewer than two members outside the coalition are in a sum.
TEST(AgreementTest, AbsencesAreToleratedAsAgreed) {
  AgreementOptions options = SixMembers();
  const auto least = [&](uint64_t absent) {
    options.federation.max_absent = absent;
    return ValueOf(Agreement::Create(options)).min_participants();
  };
  EXPECT_EQ(least(0), 6u);
  EXPECT_EQ(least(2), 4u);
  EXPECT_EQ(least(6), 2u);
  options.federation.colluders = 1;
  EXPECT_EQ(least(6), 3u);
  // An agreement's description of itself makes the same one.
  const Agreement first = ValueOf(Agreement::Create(options));
  EXPECT_EQ(ValueOf(Agreement::Create(first.options())).digest(), first.digest());
  EXPECT_THAT(Refusal([](AgreementOptions& o) {
                o.federation.max_absent = 2;
                o.federation.min_participants = 5;
              }),
              HasSubstr("max_absent is 2 and min_participants is 5: 4 follows from the one"));
  const FederationOptions coins = {.clients = 40,
                                   .cohort = 30,
                                   .max_absent = 2,
                                   .sampling = Sampling::kPoisson,
                                   .noise_multiplier = 4};
  EXPECT_THAT(std::string(ComputeGuarantee(coins).status().message()),
              HasSubstr("give min_participants, or dummy_uploads"));
}

TEST(AgreementTest, TheDefaultsOfOneAgreementMakeTheSame) {
  const Agreement first = ValueOf(Agreement::Create(SixMembers()));
  EXPECT_EQ(ValueOf(Agreement::Create(first.options())).digest(), first.digest());
}

TEST(AgreementTest, EveryOptionChangesTheDigest) {
  const MemberKey stranger = MemberKey::Generate();
  const std::vector<Change> changes = {
      [](AgreementOptions&) {},
      [](AgreementOptions& o) { o.federation.cohort = 5; },
      [](AgreementOptions& o) {
        o.federation.cohort = 5;
        o.federation.sampling = Sampling::kFixedSize;
      },
      [](AgreementOptions& o) { o.federation.min_participants = 4; },
      [](AgreementOptions& o) {
        o.federation.cohort = 5;
        o.federation.sampling = Sampling::kPoisson;
        o.federation.min_participants = 2;
      },
      [](AgreementOptions& o) {
        o.federation.cohort = 4;
        o.federation.sampling = Sampling::kPoisson;
        o.federation.dummy_uploads = true;
      },
      [](AgreementOptions& o) { o.federation.max_participations = 2; },
      [](AgreementOptions& o) { o.federation.rounds = 4; },
      [](AgreementOptions& o) { o.federation.clip_norm = 0.5; },
      [](AgreementOptions& o) { o.federation.noise_multiplier = 5; },
      [](AgreementOptions& o) { o.federation.coordinate_bound = 0.5; },
      [](AgreementOptions& o) { o.federation.scale = 2e-3; },
      [](AgreementOptions& o) {
        o.federation.unit = Unit::kRecord;
        o.federation.record_rate = 0.1;
        o.federation.expected_batch = 60;
        o.federation.coordinate_bound = 1;
      },
      [](AgreementOptions& o) {
        o.federation.unit = Unit::kPerson;
        o.federation.record_rate = 0.1;
        o.federation.expected_batch = 60;
        o.federation.coordinate_bound = 1;
      },
      [](AgreementOptions& o) { o.federation.neighbouring = Neighbouring::kZeroOut; },
      [](AgreementOptions& o) { o.federation.colluders = 1; },
      [](AgreementOptions& o) { o.federation.delta = 1e-6; },
      [](AgreementOptions& o) { o.federation.committee_seats = 5; },
      [](AgreementOptions& o) { o.federation.corrupt_seats = 2; },
      [](AgreementOptions& o) { o.dimension = 101; },
      [&](AgreementOptions& o) { o.members[5] = stranger.public_key(); },
      [&](AgreementOptions& o) { o.members[5].exchange = stranger.public_key().exchange; },
      [&](AgreementOptions& o) { o.members[5].kem = stranger.public_key().kem; },
      [](AgreementOptions& o) { o.committee = {5, 4, 3, 2, 1, 0}; },
      [](AgreementOptions& o) { o.epoch = 1; },
      [](AgreementOptions& o) { o.spare_attempts = 9; },
      [](AgreementOptions& o) { o.context = "rate 0.1"; },
  };
  const AgreementOptions options = SixMembers();
  std::set<Digest> digests;
  for (size_t i = 0; i < changes.size(); ++i) {
    AgreementOptions changed = options;
    changes[i](changed);
    EXPECT_TRUE(digests.insert(ValueOf(Agreement::Create(changed)).digest()).second) << i;
  }
}

TEST(AgreementTest, RefusalsNameTheOption) {
  EXPECT_THAT(
      Refusal([](AgreementOptions& o) { o.members[4].exchange = {1}; }),
      HasSubstr("member 4: 01000000000000000000000000000000000000000000000000000000000000"));
  EXPECT_THAT(Refusal([](AgreementOptions& o) { o.members[4].kem.fill(0xff); }),
              HasSubstr("member 4: not an ML-KEM-768 key"));
  EXPECT_EQ(Refusal([](AgreementOptions& o) { o.members[4] = o.members[1]; }),
            "members 1 and 4 have the same public key: each member makes a key of its own");
  EXPECT_EQ(Refusal([](AgreementOptions& o) { o.members[4].exchange = o.members[2].exchange; }),
            "members 2 and 4 have the same public key: each member makes a key of its own");
  EXPECT_EQ(Refusal([](AgreementOptions& o) { o.members[3].exchange = o.members[3].signing; }),
            "member 3 has one key for signing and for exchange: each is a key of its own");
  // An option that is left out has its default. A zero has none.
  for (const auto& [change, name] : std::vector<std::pair<Change, std::string>>{
           {[](auto& o) { o.federation.cohort = 0; }, "cohort"},
           {[](auto& o) { o.federation.min_participants = 0; }, "min_participants"},
           {[](auto& o) { o.federation.max_participations = 0; }, "max_participations"},
           {[](auto& o) { o.federation.appearances = 0; }, "appearances"},
           {[](auto& o) { o.federation.committee_seats = 0; }, "committee_seats"}}) {
    EXPECT_EQ(Refusal(change), name + " is 0, expected 1 or more; leave it out for its default");
  }
  EXPECT_EQ(Refusal([](AgreementOptions& o) { o.federation.record_rate = 0; }),
            "record_rate is 0, expected a finite number above 0");
  EXPECT_EQ(Refusal([](AgreementOptions& o) { o.federation.corrupt_seats = 0; }),
            "corrupt_seats is 0: give committee_seats, 2 or 3, too");
  AgreementOptions three = SixMembers();
  three.federation.committee_seats = 3;
  three.federation.corrupt_seats = 0;
  EXPECT_EQ(ValueOf(Agreement::Create(three)).votes_needed(), 2u);
  EXPECT_EQ(Refusal([](AgreementOptions& o) { o.federation.noise_multiplier = 0; }),
            "noise_multiplier is 0, expected a finite number above 0");
  EXPECT_EQ(Refusal([](AgreementOptions& o) { o.federation.clip_norm = -1; }),
            "clip_norm is -1, expected a finite number above 0");
  EXPECT_EQ(Refusal([](AgreementOptions& o) { o.federation.coordinate_bound = -1; }),
            "coordinate_bound is -1, expected a finite number above 0");
  EXPECT_THAT(Refusal([](AgreementOptions& o) { o.federation.rounds = 0; }),
              HasSubstr("rounds is 0"));
  EXPECT_THAT(Refusal([](AgreementOptions& o) { o.federation.rounds = uint64_t{1} << 40; }),
              HasSubstr("rounds is 4294967295"));
  EXPECT_THAT(Refusal([](AgreementOptions& o) { o.dimension = 0; }), HasSubstr("dimension is 0"));
  EXPECT_THAT(Refusal([](AgreementOptions& o) { o.federation.clients = 7; }),
              HasSubstr("6 member keys for 7 clients"));
  EXPECT_THAT(Refusal([](AgreementOptions& o) { o.federation.min_participants = 1; }),
              HasSubstr("min_participants"));
  EXPECT_THAT(Refusal([](AgreementOptions& o) {
                o.federation.unit = Unit::kRecord;
                o.federation.record_rate = 0.1;
                o.federation.expected_batch = 60;
              }),
              HasSubstr("coordinate_bound is missing: with unit record"));
}

TEST(AgreementTest, TheGuaranteeGrowsWithTheAttempts) {
  const Agreement agreement = ValueOf(Agreement::Create(SixMembers()));
  const Guarantee one = ValueOf(agreement.GuaranteeAfter(1));
  const Guarantee all = ValueOf(agreement.GuaranteeAfter(13));
  EXPECT_LT(one.epsilon, all.epsilon);
  ASSERT_TRUE(all.headline.has_value());
  EXPECT_EQ(all.rows[*all.headline].epsilon, all.epsilon);
  EXPECT_TRUE(all.rows[*all.headline].added_epsilon.has_value());
  EXPECT_EQ(all.delta, 1e-5);
  for (const uint64_t attempts : {0, 14}) {
    EXPECT_EQ(agreement.GuaranteeAfter(attempts).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace tacet::api
