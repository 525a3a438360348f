#include "tacet/agreement/manifest.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/accounting/privacy_rows.h"
#include "tacet/base/status_for_test.h"
#include "tacet/dp/sum_limits.h"

namespace tacet::agreement {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// The paper's setting with b = 0.1.
ManifestSpec Paper() {
  ManifestSpec spec;
  spec.model = "femnist-cnn";
  spec.dimension = 486654;
  spec.sampling.clients = 3596;
  spec.sampling.cohort = 1000;
  spec.rounds = 100;
  spec.mechanism.coordinate_bound = 0.1;
  spec.mechanism.noise_stddev = 6;
  spec.members.resize(3596);
  return spec;
}

std::string Refusal(const ManifestSpec& spec) {
  const auto manifest = Manifest::Create(spec);
  EXPECT_FALSE(manifest.ok());
  return base::Message(manifest.status());
}

TEST(ManifestTest, PlansThePapersSetting) {
  ASSERT_OK_AND_ASSIGN(const auto manifest, Manifest::Create(Paper()));
  const he::AggregationParams& aggregation = manifest.terms().aggregation();
  EXPECT_EQ(aggregation.plaintext_bits(), 22u);
  EXPECT_EQ(aggregation.slots(), 4u);
  EXPECT_EQ(manifest.spec().sampling.min_participants, 999u);
  EXPECT_GT(manifest.max_epsilon(), 5.3);
  EXPECT_EQ(manifest.attempt_budget(), 110u);
}

// Figure 2 of the paper begins there: anyone who knows the cohorts is guaranteed an epsilon
// above 46.
TEST(ManifestTest, PlansAThirdOfThePapersNoise) {
  ManifestSpec spec = Paper();
  spec.mechanism.noise_stddev = 2;
  spec.rounds = 40;
  ASSERT_OK_AND_ASSIGN(const auto manifest, Manifest::Create(spec));
  EXPECT_LT(manifest.max_epsilon(), accounting::kLargestCarriedEpsilon);
  spec.mechanism.noise_stddev = 0.3;
  // The samplers' tails are too short for that epsilon, but the noise is what has to change.
  EXPECT_THAT(Refusal(spec), EndsWith("protects nobody: raise `privacy.noise_multiplier`"));
  spec.mechanism.noise_stddev = 0;
  spec.privacy.target_epsilon = 1000;
  spec.spare_attempts = 0;
  EXPECT_THAT(Refusal(spec),
              EndsWith("and at most 50 is accepted, since more protects nobody: lower "
                       "`privacy.target_epsilon`"));
}

// Four hospitals, each patient's record protected.
ManifestSpec Hospitals() {
  ManifestSpec spec;
  spec.model = "logistic";
  spec.dimension = 60;
  spec.sampling.clients = spec.sampling.min_participants = 4;
  spec.rounds = 200;
  spec.spare_attempts = 0;
  spec.privacy.unit = accounting::Unit::kRecord;
  spec.privacy.neighbouring = accounting::Neighbouring::kZeroOut;
  spec.sampling.record_rate = 0.1;
  spec.sampling.expected_batch = 73.6;
  spec.mechanism.clip_norm = 1;
  spec.mechanism.coordinate_bound = 32;
  spec.mechanism.noise_stddev = 3;
  spec.mechanism.scale = 1e-2;
  spec.members.resize(4);
  return spec;
}

// The largest sum of all honest updates, which every member checks (dp/sum_limits.h).
TEST(ManifestTest, BoundsTheUpdatesOfARound) {
  const auto norm = [](const ManifestSpec& spec, uint32_t participants) {
    const auto manifest = base::ValueOf(Manifest::Create(spec));
    return dp::SumLimitsOf(manifest.terms().mechanism(), participants).updates_norm;
  };
  ManifestSpec clients = Paper();
  const double all = static_cast<double>(clients.sampling.clients);
  const double cohort = static_cast<double>(clients.sampling.cohort);
  EXPECT_EQ(norm(clients, 900), 900 * clients.mechanism.clip_norm);
  clients.sampling.method = accounting::Sampling::kPoisson;
  clients.sampling.dummy_uploads = true;
  clients.sampling.min_participants = 0;
  EXPECT_LT(dp::MostDrawn(cohort), all);
  EXPECT_EQ(norm(clients, static_cast<uint32_t>(all)),
            dp::MostDrawn(cohort) * clients.mechanism.clip_norm);

  ManifestSpec records = Hospitals();
  records.mechanism.clip_norm = 2;
  EXPECT_EQ(norm(records, 4), 2 * dp::MostDrawn(73.6));
  EXPECT_EQ(norm(records, 3), 2 * dp::MostDrawn(73.6));

  // Queries: every unit takes part. For zero-out neighbours it is S long, for replacement 2 S.
  ManifestSpec query = Hospitals();
  query.model = kQueryModel;
  query.rounds = 1;
  query.sampling.record_rate = 1;
  query.sampling.expected_batch = 1000;
  EXPECT_EQ(norm(query, 4), 4000);
  query.privacy.neighbouring = accounting::Neighbouring::kReplaceOne;
  EXPECT_EQ(norm(query, 4), 8000);
}

TEST(ManifestTest, NamesThePartOfAModelThatIsFederated) {
  const ManifestSpec whole = Paper();
  ManifestSpec part = Paper();
  part.dimension = 7998;
  part.federated_part = "dense2";
  part.whole_dimension = 486654;
  ASSERT_OK_AND_ASSIGN(const auto manifest, Manifest::Create(part));
  ManifestSpec same_size = whole;
  same_size.dimension = 7998;
  EXPECT_NE(manifest.agreement(), Manifest::Create(same_size)->agreement());
  ManifestSpec other = part;
  other.federated_part = "dense1.biases";
  EXPECT_NE(manifest.agreement(), Manifest::Create(other)->agreement());
  other = part;
  other.whole_dimension = 486655;
  EXPECT_NE(manifest.agreement(), Manifest::Create(other)->agreement());

  part.whole_dimension = 7997;
  EXPECT_THAT(Refusal(part), HasSubstr("has 7998 parameters of a model of 7997"));
  part.federated_part.clear();
  EXPECT_THAT(Refusal(part), HasSubstr("name a part and the size of the whole, or neither"));
}

// One default of K_min: a round survives one absence, where two honest uploads are left. More
// members may be absent where that is needed to find one that spoils sums.
TEST(ManifestTest, OneMemberMayBeAbsentByDefault) {
  const auto least = [](uint64_t clients, uint64_t cohort, uint64_t colluders,
                        std::optional<accounting::Sampling> method = std::nullopt,
                        std::string_view model = "logistic") {
    ManifestSpec spec;
    spec.model = model;
    spec.dimension = 10;
    spec.rounds = 5;
    spec.sampling = {.clients = clients, .cohort = cohort, .method = method};
    spec.privacy.colluders = colluders;
    spec.mechanism.noise_stddev = 6;
    spec.members.resize(clients);
    const auto manifest = base::ValueOf(Manifest::Create(spec));
    return manifest.spec().sampling.min_participants;
  };
  EXPECT_EQ(least(2, 0, 0), 2u);
  EXPECT_EQ(least(3, 0, 0), 2u);
  EXPECT_EQ(least(3, 0, 1), 3u);
  EXPECT_EQ(least(5, 0, 0), 4u);
  EXPECT_EQ(least(5, 3, 0), 4u);  // hidden: all five upload
  EXPECT_EQ(least(5, 3, 0, accounting::Sampling::kFixedSize), 2u);
  EXPECT_EQ(least(6, 0, 2), 5u);
  EXPECT_EQ(least(7, 0, 0), 6u);
  EXPECT_EQ(least(8, 0, 0), 7u);
  EXPECT_EQ(least(9, 0, 0), 7u);
  EXPECT_EQ(least(14, 0, 0), 12u);
  EXPECT_EQ(least(20, 0, 0), 16u);
  EXPECT_EQ(least(20, 5, 0), 16u);  // hidden: all twenty upload
  EXPECT_EQ(least(20, 10, 0, accounting::Sampling::kFixedSize), 9u);
  EXPECT_EQ(least(60, 0, 0), 45u);
  EXPECT_EQ(least(1000, 0, 0), 984u);
  EXPECT_EQ(least(5, 0, 0, std::nullopt, kQueryModel), 5u);
  EXPECT_LT(least(1000, 200, 0, accounting::Sampling::kPoisson), 160u);
}

// A helper of a member comes to the same agreement.
TEST(ManifestTest, IsTheSameAgreementWithoutMembers) {
  ManifestSpec spec = Paper();
  const auto whole = Manifest::Create(spec);
  EXPECT_THAT(base::Message(Manifest::CreateWithoutMembers(spec).status()),
              HasSubstr("3596 member keys, none are expected"));
  spec.members.clear();
  EXPECT_THAT(Refusal(spec), HasSubstr("0 member keys for 3596 clients"));
  ASSERT_OK_AND_ASSIGN(const auto without, Manifest::CreateWithoutMembers(spec));
  EXPECT_EQ(without.agreement(), whole->agreement());
  EXPECT_NE(without.hash(), whole->hash());
}

TEST(ManifestTest, WithUnitRecordEverySiteIsInEveryRoundAndTheOtherSitesViewIsCharged) {
  ASSERT_OK_AND_ASSIGN(const auto manifest, Manifest::Create(Hospitals()));
  EXPECT_EQ(manifest.spec().sampling.cohort, 4u);
  EXPECT_EQ(manifest.spec().sampling.min_participants, 4u);
  EXPECT_EQ(manifest.spec().sampling.appearances, 1u);
  EXPECT_DOUBLE_EQ(manifest.terms().mechanism().spec().params.coordinate_bound, 32);
  EXPECT_DOUBLE_EQ(manifest.terms().mechanism().participant_stddev(), 1.5);
  EXPECT_NEAR(manifest.max_epsilon(), 2.394, 0.001);
  const accounting::SamplingEvent event = ChargedEvent(manifest.spec());
  EXPECT_EQ(event.unit, accounting::Unit::kRecord);
  EXPECT_EQ(event.neighbouring, accounting::Neighbouring::kZeroOut);
  EXPECT_EQ(event.sampling, accounting::Sampling::kPoisson);
  EXPECT_DOUBLE_EQ(event.sampling_rate, 0.1);
  EXPECT_DOUBLE_EQ(event.noise_stddev, 3 * std::sqrt(0.75));
}

TEST(ManifestTest, ColludersLeaveSigma) {
  ManifestSpec spec = Hospitals();
  spec.privacy.colluders = 2;
  ASSERT_OK_AND_ASSIGN(const auto manifest, Manifest::Create(spec));
  EXPECT_DOUBLE_EQ(manifest.terms().mechanism().participant_stddev(), 3 / std::sqrt(2));
  EXPECT_DOUBLE_EQ(ChargedEvent(manifest.spec()).noise_stddev, 3);
  EXPECT_NEAR(manifest.max_epsilon(), 2.004, 0.001);
}

// One honest upload in a sum is no longer hidden by it: 0.1 planned this.
TEST(ManifestTest, RefusesSumsWithFewerThanTwoHonestUploads) {
  ManifestSpec spec = Hospitals();
  spec.privacy.colluders = 3;
  EXPECT_EQ(Manifest::Create(spec).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Refusal(spec),
            "federation.min_participants is 4 and privacy.colluders is 3: at least 2 of a sum's "
            "uploads must come from members outside the coalition, or the sum gives away a single "
            "member's update; the federation needs 5 members or more, it has 4, or lower "
            "privacy.colluders to 2");
  spec.privacy.colluders = 100;
  EXPECT_THAT(Refusal(spec), HasSubstr("needs 102 members or more, it has 4, or lower "
                                       "privacy.colluders to 2"));
  spec.privacy.colluders = 1;
  spec.sampling.min_participants = 2;
  EXPECT_THAT(Refusal(spec), HasSubstr("raise federation.min_participants to 3 or more, or lower "
                                       "privacy.colluders to 0"));
  spec.sampling.min_participants = 3;
  EXPECT_TRUE(Manifest::Create(spec).ok());

  for (const he::Scheme scheme :
       {he::Scheme::kCompact, he::Scheme::kPaperPublicKey, he::Scheme::kPaperSecretKey}) {
    ManifestSpec clients = Paper();
    clients.scheme = scheme;
    clients.plaintext_bits = 0;
    clients.sampling.min_participants = 1;
    EXPECT_THAT(Refusal(clients),
                AllOf(HasSubstr("federation.min_participants is 1 and privacy.colluders is 0"),
                      EndsWith("; raise federation.min_participants to 2 or more")));
    clients.privacy.colluders = 998;
    clients.sampling.min_participants = 999;
    EXPECT_THAT(Refusal(clients), HasSubstr("raise federation.min_participants to 1000 or more"));
    clients.sampling.min_participants = 1000;
    EXPECT_TRUE(Manifest::Create(clients).ok()) << Manifest::Create(clients).status();
  }
}

// A federation of one, and cohorts of one, are refused whatever else is agreed; not where nothing
// is encrypted, as long as somebody's noise is left.
TEST(ManifestTest, RefusesAFederationOfOneUnlessNothingIsEncrypted) {
  ManifestSpec alone = Hospitals();
  alone.sampling.clients = 1;
  alone.sampling.min_participants = 0;
  alone.members.resize(1);
  EXPECT_THAT(Refusal(alone), HasSubstr("the federation needs 2 members or more, it has 1"));
  alone.mechanism.without_noise = true;
  EXPECT_THAT(Refusal(alone), HasSubstr("at least 2 of a sum's uploads"));
  alone.without_encryption = true;
  EXPECT_TRUE(Manifest::Create(alone).ok()) << Manifest::Create(alone).status();
  alone.mechanism.without_noise = false;
  EXPECT_TRUE(Manifest::Create(alone).ok()) << Manifest::Create(alone).status();

  ManifestSpec cohort = Paper();
  cohort.sampling.cohort = 1;
  EXPECT_THAT(Refusal(cohort), EndsWith("; raise federation.cohort, now 1, to 2 or more"));

  ManifestSpec clear = Hospitals();
  clear.without_encryption = true;
  clear.privacy.colluders = 4;
  EXPECT_THAT(Refusal(clear),
              HasSubstr("at least 1 of a sum's uploads must come from members outside "
                        "the coalition, or nobody's noise is left"));
  clear.privacy.colluders = 3;
  EXPECT_TRUE(Manifest::Create(clear).ok()) << Manifest::Create(clear).status();
}

// Shares of noise do not depend on whom the guarantee is computed against.
TEST(ManifestTest, WithUnitClientColludersAreARowOfTheGuarantee) {
  ManifestSpec spec = Paper();
  const auto without = Manifest::Create(spec);
  spec.privacy.colluders = 30;
  ASSERT_OK_AND_ASSIGN(const auto with, Manifest::Create(spec));
  EXPECT_DOUBLE_EQ(with.terms().mechanism().participant_stddev(), 6 / std::sqrt(999.0));
  EXPECT_EQ(with.terms().mechanism().participant_stddev(),
            without->terms().mechanism().participant_stddev());
  EXPECT_NE(with.agreement(), without->agreement());
  const auto colluders = [](const Manifest& manifest) {
    const auto guarantees = GuaranteesOf(manifest, 100);
    double epsilon = 0;
    for (const accounting::PrivacyRow& row : guarantees->rows) {
      if (row.observer == accounting::Observer::kColluders) epsilon = row.epsilon.value_or(0);
    }
    return epsilon;
  };
  EXPECT_EQ(colluders(*without), 0);
  EXPECT_GT(colluders(with), 4.3);
}

// All members up to seven, at least a third of the others corrupt; then seven to twenty seats.
TEST(ManifestTest, CommitteesHaveDefaults) {
  struct Default {
    uint64_t clients, colluders;
    uint32_t seats, corrupt, votes;
  };
  for (const Default& expected :
       {Default{2, 0, 2, 0, 2}, Default{3, 0, 3, 0, 2}, Default{3, 1, 3, 1, 3},
        Default{4, 0, 4, 1, 3}, Default{5, 0, 5, 1, 4}, Default{5, 2, 5, 2, 4},
        Default{7, 0, 7, 2, 5}, Default{8, 0, 7, 2, 5}, Default{100, 1, 7, 2, 5},
        Default{100, 3, 10, 3, 7}, Default{1000, 6, 19, 6, 13}, Default{1000, 9, 20, 9, 15}}) {
    ManifestSpec spec = Paper();
    spec.sampling.clients = spec.sampling.cohort = expected.clients;
    spec.members.resize(expected.clients);
    spec.privacy.colluders = expected.colluders;
    ASSERT_OK_AND_ASSIGN(const auto manifest, Manifest::Create(spec));
    const he::CommitteeShape& committee = manifest.spec().committee;
    EXPECT_EQ(committee.seats, expected.seats) << expected.clients;
    EXPECT_EQ(committee.corrupt, expected.corrupt) << expected.clients;
    EXPECT_EQ(manifest.terms().aggregation().sharing().votes(), expected.votes);
    EXPECT_EQ(committee.packing, expected.votes - expected.corrupt);
    EXPECT_EQ(manifest.spec().committee_members.size(), expected.seats);
  }
}

TEST(ManifestTest, RefusesUnsafeCommitteesWithAReason) {
  const auto refusal = [](const he::CommitteeShape& shape, std::vector<uint64_t> members = {},
                          uint64_t colluders = 0) {
    ManifestSpec spec = Paper();
    spec.sampling.clients = spec.sampling.cohort = 6;
    spec.members.resize(6);
    spec.privacy.colluders = colluders;
    spec.committee = shape;
    spec.committee_members = std::move(members);
    return base::Message(Manifest::Create(spec).status());
  };
  EXPECT_EQ(refusal({.seats = 6, .corrupt = 1}), "");
  EXPECT_THAT(refusal({.seats = 4, .corrupt = 0}),
              HasSubstr("federation.committee_corrupt is 0: one member on a committee of 4 seats "
                        "could then read updates together with the server; choose 1 or more"));
  EXPECT_THAT(refusal({.seats = 7, .corrupt = 2}),
              HasSubstr("federation.committee_seats is 7, but the federation has 6 members"));
  EXPECT_THAT(refusal({.seats = 6, .corrupt = 1}, {}, 2),
              HasSubstr("raise federation.committee_corrupt to 2 or lower privacy.colluders"));
  EXPECT_EQ(refusal({.seats = 6, .corrupt = 2}, {}, 2), "");
  EXPECT_THAT(refusal({.seats = 6, .corrupt = 6}), HasSubstr("cannot tolerate 6 corrupt ones"));
  EXPECT_THAT(refusal({.seats = 6, .corrupt = 1, .packing = 2}), HasSubstr("packing is 2"));
  EXPECT_THAT(refusal({.seats = 4, .corrupt = 1}, {0, 1, 2}),
              HasSubstr("the committee has 3 members for 4 seats"));
  EXPECT_THAT(refusal({.seats = 4, .corrupt = 1}, {0, 1, 2, 1}),
              HasSubstr("names member 1 of 6: each seat needs another member"));
  EXPECT_THAT(refusal({.seats = 4, .corrupt = 1}, {0, 1, 2, 6}), HasSubstr("names member 6 of 6"));
}

// With the committee that a federation of so many members has unless it chooses another.
TEST(ManifestTest, ACoalitionHasAFiniteRowWithEveryDefaultCommittee) {
  for (const uint64_t clients : {2, 3, 4, 5, 6, 7, 8, 10, 13, 20, 30, 100}) {
    for (const uint64_t colluders : {0, 1, 2, 3, 6}) {
      if (clients < colluders + 2) continue;  // refused: the sum of one other member
      ManifestSpec spec = Paper();
      spec.dimension = 1000;
      spec.sampling.clients = spec.sampling.cohort = clients;
      spec.members.resize(clients);
      spec.privacy.colluders = colluders;
      ASSERT_OK_AND_ASSIGN(const auto manifest, Manifest::Create(spec));
      ASSERT_OK_AND_ASSIGN(const auto guarantees, GuaranteesOf(manifest, 100));
      const auto finite = [](const accounting::PrivacyRow& row) {
        return row.observer == accounting::Observer::kCoalition &&
               row.standing == accounting::Standing::kGuarantee && !row.hypothetical &&
               std::isfinite(row.epsilon.value_or(INFINITY));
      };
      EXPECT_TRUE(std::ranges::any_of(guarantees.rows, finite)) << clients << ", " << colluders;
    }
  }
}

TEST(ManifestTest, APersonAtTwoSitesCountsTwice) {
  ManifestSpec spec = Hospitals();
  spec.privacy.unit = accounting::Unit::kPerson;
  spec.sampling.appearances = 2;
  const accounting::SamplingEvent event = ChargedEvent(Manifest::Create(spec)->spec());
  EXPECT_DOUBLE_EQ(event.clip_norm, 2);
  EXPECT_DOUBLE_EQ(event.sampling_rate, 1 - 0.9 * 0.9);
}

TEST(ManifestTest, NoiseFollowsFromTheEpsilonWanted) {
  ManifestSpec spec = Hospitals();
  spec.mechanism.noise_stddev = 0;
  spec.privacy.target_epsilon = 2.394;
  ASSERT_OK_AND_ASSIGN(const auto manifest, Manifest::Create(spec));
  EXPECT_NEAR(manifest.spec().mechanism.noise_stddev, 3, 0.01);
  EXPECT_LE(manifest.max_epsilon(), 2.394);
  spec.mechanism.noise_stddev = 3;
  EXPECT_THAT(Refusal(spec), HasSubstr("the one follows from the other"));
  spec.mechanism.noise_stddev = 0;
  spec.mechanism.without_noise = true;
  EXPECT_THAT(Refusal(spec), HasSubstr("epsilon is infinite"));
}

TEST(ManifestTest, RefusesUnitsThatDoNotFit) {
  const auto refusal = [](void (*change)(ManifestSpec&)) {
    ManifestSpec spec = Hospitals();
    change(spec);
    return Refusal(spec);
  };
  EXPECT_THAT(refusal([](ManifestSpec& spec) { spec.sampling.record_rate = 0; }),
              HasSubstr("record_rate is 0, it must be above 0 and at most 1"));
  EXPECT_THAT(refusal([](ManifestSpec& spec) { spec.sampling.record_rate = 1.5; }),
              HasSubstr("record_rate is 1.5"));
  EXPECT_THAT(refusal([](ManifestSpec& spec) { spec.sampling.expected_batch = 0; }),
              HasSubstr("expected_batch is 0, it must be a positive number"));
  EXPECT_THAT(refusal([](ManifestSpec& spec) {
                spec.sampling.cohort = spec.sampling.min_participants = 3;
              }),
              HasSubstr("the cohort must be all 4 sites"));
  EXPECT_THAT(
      refusal([](ManifestSpec& spec) { spec.sampling.method = accounting::Sampling::kPoisson; }),
      HasSubstr("not 4 by poisson sampling"));
  EXPECT_THAT(refusal([](ManifestSpec& spec) { spec.sampling.appearances = 5; }),
              HasSubstr("appearances is 5"));
  EXPECT_THAT(refusal([](ManifestSpec& spec) { spec.mechanism.coordinate_bound = 1e4; }),
              HasSubstr("can be rounded to"));
  EXPECT_THAT(refusal([](ManifestSpec& spec) {
                spec.privacy.unit = accounting::Unit::kClient;
                spec.sampling.cohort = 4;
              }),
              HasSubstr("with unit client they must be left out"));
}

TEST(ManifestTest, HashCoversTheUnit) {
  const crypto::Digest agreement = Manifest::Create(Hospitals())->agreement();
  const auto differs = [&](void (*change)(ManifestSpec&)) {
    ManifestSpec spec = Hospitals();
    change(spec);
    return Manifest::Create(spec)->agreement() != agreement;
  };
  EXPECT_FALSE(differs([](ManifestSpec&) {}));
  EXPECT_TRUE(differs([](ManifestSpec& spec) { spec.privacy.unit = accounting::Unit::kPerson; }));
  EXPECT_TRUE(differs([](ManifestSpec& spec) {
    spec.privacy.neighbouring = accounting::Neighbouring::kReplaceOne;
  }));
  EXPECT_TRUE(differs([](ManifestSpec& spec) { spec.sampling.record_rate = 0.2; }));
  EXPECT_TRUE(differs([](ManifestSpec& spec) { spec.sampling.expected_batch = 74; }));
  EXPECT_TRUE(differs([](ManifestSpec& spec) { spec.sampling.appearances = 2; }));
  EXPECT_TRUE(differs([](ManifestSpec& spec) { spec.privacy.colluders = 1; }));
}

TEST(ManifestTest, HashCoversEverything) {
  const crypto::Digest hash = Manifest::Create(Paper())->hash();
  const crypto::Digest agreement = Manifest::Create(Paper())->agreement();
  ManifestSpec other = Paper();
  other.mechanism.noise_stddev = 6.5;
  EXPECT_NE(Manifest::Create(other)->hash(), hash);
  other = Paper();
  other.rounds = 99;
  EXPECT_NE(Manifest::Create(other)->agreement(), agreement);
  other = Paper();
  other.optimizer.momentum = 0.5;
  EXPECT_NE(Manifest::Create(other)->agreement(), agreement);
  other = Paper();
  other.plaintext_bits = 24;
  EXPECT_NE(Manifest::Create(other)->agreement(), agreement);
  EXPECT_EQ(Manifest::Create(other)->terms().aggregation().plaintext_bits(), 24u);
  other = Paper();
  other.members[5].signing_key[0] = 1;  // new keys: another manifest, the same agreement
  EXPECT_NE(Manifest::Create(other)->hash(), hash);
  EXPECT_EQ(Manifest::Create(other)->agreement(), agreement);
}

TEST(ManifestTest, PoissonCohortsGetARangeAroundTheExpectedSize) {
  ManifestSpec spec = Paper();
  spec.sampling.method = accounting::Sampling::kPoisson;
  ASSERT_OK_AND_ASSIGN(const auto manifest, Manifest::Create(spec));
  EXPECT_LT(manifest.terms().min_participants(), 860u);
  EXPECT_GT(manifest.terms().max_participants(), 1140u);
}

TEST(ManifestTest, RefusesWithAReason) {
  ManifestSpec spec = Paper();
  spec.sampling.cohort = 4000;
  EXPECT_THAT(Refusal(spec), HasSubstr("cohort is 4000, but the federation has 3596 clients"));
  spec = Paper();
  spec.sampling.cohort = 0;  // everybody
  EXPECT_EQ(Manifest::Create(spec)->spec().sampling.cohort, 3596u);
  spec = Paper();
  spec.sampling.min_participants = 1001;
  EXPECT_THAT(Refusal(spec), HasSubstr("min_participants is 1001, the cohort has only 1000"));
  spec = Paper();
  spec.rounds = 0;
  EXPECT_THAT(Refusal(spec), HasSubstr("rounds is 0"));
  spec = Paper();
  spec.mechanism.noise_stddev = 0;
  EXPECT_THAT(Refusal(spec), HasSubstr("noise"));
  spec = Paper();
  spec.mechanism.scale = 0;
  EXPECT_THAT(Refusal(spec), HasSubstr("scale"));
  spec = Paper();
  spec.mechanism.scale = -1e-4;
  EXPECT_THAT(Refusal(spec), HasSubstr("scale"));
  spec = Paper();
  spec.mechanism.clip_norm = -1;
  EXPECT_THAT(Refusal(spec), HasSubstr("clip_norm"));
  spec = Paper();
  spec.members.pop_back();
  EXPECT_THAT(Refusal(spec), HasSubstr("3595 member keys for 3596 clients"));
  spec = Paper();
  spec.optimizer.momentum = 2;
  EXPECT_THAT(Refusal(spec), HasSubstr("server.momentum is 2"));
}

TEST(ManifestTest, NoiseMayBeLeftOutOnPurposeOnly) {
  ManifestSpec spec = Paper();
  spec.mechanism.without_noise = true;
  ASSERT_OK_AND_ASSIGN(const auto manifest, Manifest::Create(spec));
  EXPECT_EQ(manifest.max_epsilon(), 0);
  EXPECT_EQ(manifest.spec().mechanism.noise_stddev, 0);
}

// The paper's setting where nobody sees who was chosen.
ManifestSpec Covered() {
  ManifestSpec spec = Paper();
  spec.sampling.method = accounting::Sampling::kPoisson;
  spec.sampling.dummy_uploads = true;
  spec.sampling.min_participants = 3000;
  return spec;
}

TEST(ManifestTest, WithDummyUploadsSharesAddUpOverAllWhoUpload) {
  ASSERT_OK_AND_ASSIGN(const auto manifest, Manifest::Create(Covered()));
  EXPECT_EQ(manifest.terms().min_participants(), 3000u);
  EXPECT_EQ(manifest.terms().max_participants(), 3596u);
  const double share = manifest.terms().mechanism().participant_stddev();
  EXPECT_NEAR(share * std::sqrt(3000.0), 6, 1e-9);
  // The charge is for sampling as before: that everybody uploads says nothing of who was chosen.
  // The worst observer is another member, which knows its own share of the noise.
  const accounting::SamplingEvent event = ChargedEvent(manifest.spec());
  EXPECT_DOUBLE_EQ(event.sampling_rate, 1000 / 3596.0);
  EXPECT_EQ(event.sampling, accounting::Sampling::kPoisson);
  EXPECT_DOUBLE_EQ(event.noise_stddev, 6 * std::sqrt(2999 / 3000.0));

  ManifestSpec all = Covered();
  all.sampling.min_participants = 0;
  EXPECT_EQ(Manifest::Create(all)->spec().sampling.min_participants, 3580u);
  all.sampling.min_participants = 3597;
  EXPECT_THAT(Refusal(all), HasSubstr("min_participants is 3597, there are only 3596 members"));
}

TEST(ManifestTest, WithDummyUploadsTheServerIsGuaranteedWhatAnExternalObserverIs) {
  const auto epsilon_of = [](const ManifestSpec& spec, accounting::Observer observer) {
    const auto guarantees = base::ValueOf(GuaranteesOf(*Manifest::Create(spec), 100));
    for (const accounting::PrivacyRow& row : guarantees.rows) {
      if (row.observer == observer) return row.epsilon.value_or(0);
    }
    ADD_FAILURE() << "no such row";
    return 0.0;
  };
  ManifestSpec open = Covered();
  open.sampling.dummy_uploads = false;
  open.sampling.min_participants = 0;
  const double external = epsilon_of(Covered(), accounting::Observer::kExternal);
  EXPECT_DOUBLE_EQ(epsilon_of(Covered(), accounting::Observer::kTrafficAware), external);
  EXPECT_GT(epsilon_of(open, accounting::Observer::kCohortAware), 2 * external);
}

TEST(ManifestTest, LimitsWhatThoseWhoKnowTheCohortsSeeOfOneMember) {
  const auto releases = [](uint32_t most) {
    ManifestSpec spec = Paper();
    spec.sampling.max_participations = most;
    const auto observers =
        accounting::ObserveFederation(PrivacyOf(Manifest::Create(spec)->spec(), 100));
    for (const accounting::ObservedRounds& observer : *observers) {
      if (observer.observer == accounting::Observer::kCohortAware) return observer.releases;
    }
    return uint64_t{0};
  };
  EXPECT_EQ(releases(0), 100u);
  EXPECT_EQ(releases(40), 40u);
  EXPECT_EQ(releases(1000), 100u);
}

TEST(ManifestTest, SaysWhereDummyUploadsHideNothing) {
  ManifestSpec spec = Covered();
  spec.sampling.method = accounting::Sampling::kFixedSize;
  EXPECT_THAT(Refusal(spec), HasSubstr("with fixed-size sampling the server draws the cohort"));
  spec = Hospitals();
  spec.sampling.dummy_uploads = true;
  EXPECT_THAT(Refusal(spec), HasSubstr("with unit record every site is in every round"));
  spec = Hospitals();
  spec.sampling.max_participations = 3;
  EXPECT_THAT(Refusal(spec), HasSubstr("dummy_uploads and max_participations are for unit client"));
}

}  // namespace
}  // namespace tacet::agreement
