#include "tacet/policy/permission.h"

#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/agreement/member_keys.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/authority_for_test.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/random.h"

namespace tacet::policy {
namespace {

using accounting::Neighbouring;
using accounting::Unit;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Five hospitals, each patient's record protected.
agreement::ManifestSpec Agreed() {
  agreement::ManifestSpec spec;
  spec.model = "logistic";
  spec.dimension = 60;
  spec.sampling.clients = spec.sampling.cohort = 5;
  spec.sampling.min_participants = 4;
  spec.sampling.record_rate = 0.1;
  spec.sampling.expected_batch = 70;
  spec.sampling.appearances = 2;
  spec.rounds = 20;
  spec.committee = {.seats = 5, .corrupt = 1, .packing = 1};
  spec.privacy.unit = Unit::kRecord;
  spec.privacy.neighbouring = Neighbouring::kReplaceOne;
  spec.privacy.colluders = 1;
  spec.mechanism.coordinate_bound = 32;
  spec.mechanism.noise_stddev = 6;
  spec.members.resize(5);
  return spec;
}

agreement::Manifest ManifestOf(agreement::ManifestSpec spec) {
  return base::ValueOf(agreement::Manifest::Create(std::move(spec)));
}

double EpsilonOf(const agreement::Manifest& manifest) {
  return agreement::GuaranteesOf(manifest, manifest.attempt_budget())->epsilon();
}

// Exactly as strong as the agreement.
SitePolicy Equal() {
  return {.sites = {"north"},
          .serial = 1,
          .epsilon_per_year = EpsilonOf(ManifestOf(Agreed())),
          .delta = 1e-5,
          .units = {Unit::kRecord},
          .neighbouring = {Neighbouring::kReplaceOne},
          .noise_laws = {dp::NoiseLaw::kGaussian},
          .colluders = 1,
          .appearances = 2,
          .min_participants = 4,
          .committee_seats = 5,
          .committee_corrupt = 1,
          .committee_packing = 1,
          .records = 500,
          .columns = {"age", "ill"},
          .person_column = "patient",
          .kinds = {"training"}};
}

DataUse Use() {
  return {.site = "north", .records = 500, .columns = std::vector<std::string>{"age", "ill"}};
}

std::vector<std::string> KeysOf(const SitePolicy& policy, const agreement::ManifestSpec& spec,
                                const DataUse& use) {
  const auto violations = base::ValueOf(ViolationsOf(policy, ManifestOf(spec), use));
  std::vector<std::string> keys;
  for (const Violation& violation : violations) keys.push_back(violation.key);
  return keys;
}

TEST(PermissionTest, APolicyThatEqualsTheAgreementAllowsIt) {
  EXPECT_THAT(KeysOf(Equal(), Agreed(), Use()), IsEmpty());
}

// Each limit by itself.
TEST(PermissionTest, EveryLimitRefusesWhatIsWeaker) {
  struct Stricter {
    std::string key;
    std::function<void(SitePolicy&)> change;
  };
  const std::vector<Stricter> all = {
      {"policy.sites", [](SitePolicy& p) { p.sites = {"south"}; }},
      {"privacy.epsilon_per_year", [](SitePolicy& p) { p.epsilon_per_year *= 0.999; }},
      {"privacy.delta", [](SitePolicy& p) { p.delta = 9e-6; }},
      {"privacy.units",
       [](SitePolicy& p) {
         p.units = {Unit::kPerson, Unit::kClient};
       }},
      {"privacy.neighbouring", [](SitePolicy& p) { p.neighbouring = {Neighbouring::kZeroOut}; }},
      {"privacy.noise_laws",
       [](SitePolicy& p) { p.noise_laws = {dp::NoiseLaw::kDiscreteLaplace}; }},
      {"privacy.colluders", [](SitePolicy& p) { p.colluders = 2; }},
      {"privacy.appearances", [](SitePolicy& p) { p.appearances = 3; }},
      {"federation.min_participants", [](SitePolicy& p) { p.min_participants = 5; }},
      {"federation.committee_seats", [](SitePolicy& p) { p.committee_seats = 6; }},
      {"federation.committee_corrupt", [](SitePolicy& p) { p.committee_corrupt = 2; }},
      {"federation.dummy_uploads", [](SitePolicy& p) { p.dummy_uploads = true; }},
      {"data.records", [](SitePolicy& p) { p.records = 501; }},
      {"data.columns", [](SitePolicy& p) { p.columns = {"age"}; }},
      {"training.kinds", [](SitePolicy& p) { p.kinds = {"statistics"}; }},
  };
  for (const Stricter& stricter : all) {
    SitePolicy policy = Equal();
    stricter.change(policy);
    EXPECT_THAT(KeysOf(policy, Agreed(), Use()), ::testing::ElementsAre(stricter.key));
  }
  agreement::ManifestSpec packed = Agreed();
  packed.committee.packing = 3;
  EXPECT_THAT(KeysOf(Equal(), packed, Use()),
              ::testing::ElementsAre("federation.committee_packing"));
}

// Whatever the policy leaves open.
TEST(PermissionTest, NoPolicyAllowsATrainingWithoutProtection) {
  SitePolicy open = Equal();
  open.epsilon_per_year = 1e9;
  open.min_participants = open.committee_seats = open.committee_corrupt = 0;
  open.neighbouring = {Neighbouring::kReplaceOne, Neighbouring::kZeroOut};
  agreement::ManifestSpec spec = Agreed();
  spec.mechanism.without_noise = true;
  EXPECT_THAT(KeysOf(open, spec, Use()), ::testing::ElementsAre("privacy.epsilon_per_year"));
  spec = Agreed();
  spec.mechanism.without_clipping = true;
  EXPECT_THAT(KeysOf(open, spec, Use()), ::testing::ElementsAre("privacy.epsilon_per_year"));
  spec = Agreed();
  spec.without_encryption = true;
  EXPECT_THAT(KeysOf(open, spec, Use()), ::testing::ElementsAre("federation.committee_seats"));
  spec = Agreed();
  spec.scheme = he::Scheme::kPaperSecretKey;
  spec.committee = {};
  EXPECT_THAT(KeysOf(open, spec, Use()), ::testing::ElementsAre("federation.committee_seats"));
}

// A budget of the federation's own ends it earlier; the member's ledger keeps it.
// Its epsilon is about one site, so a person at two of them is not protected by it.
TEST(PermissionTest, AGuaranteeForASiteIsNoneForAUnitOfSeveralSites) {
  agreement::ManifestSpec sites = Agreed();
  sites.privacy.unit = Unit::kClient;
  sites.sampling.record_rate = sites.sampling.expected_batch = 0;
  sites.sampling.appearances = 0;
  SitePolicy policy = Equal();
  policy.epsilon_per_year = 50;
  policy.units = {Unit::kRecord, Unit::kClient};
  EXPECT_THAT(KeysOf(policy, sites, Use()), ::testing::ElementsAre("privacy.appearances"));
  policy.appearances = 1;
  EXPECT_THAT(KeysOf(policy, sites, Use()), IsEmpty());
  policy.appearances = 2;
  policy.units = {Unit::kClient};
  EXPECT_THAT(KeysOf(policy, sites, Use()), IsEmpty());
}

TEST(PermissionTest, ABudgetOfTheFederationCounts) {
  SitePolicy policy = Equal();
  policy.epsilon_per_year *= 0.8;
  agreement::ManifestSpec spec = Agreed();
  spec.privacy.budget_epsilon = policy.epsilon_per_year;
  EXPECT_THAT(KeysOf(policy, spec, Use()), IsEmpty());
}

TEST(PermissionTest, ColumnsThatCannotBeToldAreNotAllowed) {
  DataUse use = Use();
  use.columns.reset();
  EXPECT_THAT(KeysOf(Equal(), Agreed(), use), ::testing::ElementsAre("data.columns"));
  use = Use();
  use.renames_columns = true;
  EXPECT_THAT(KeysOf(Equal(), Agreed(), use), ::testing::ElementsAre("data.columns"));
  SitePolicy any = Equal();
  any.columns = {"*"};
  EXPECT_THAT(KeysOf(any, Agreed(), use), IsEmpty());
}

TEST(PermissionTest, PersonsAreToldApartByTheirColumn) {
  agreement::ManifestSpec spec = Agreed();
  spec.privacy.unit = Unit::kPerson;
  SitePolicy policy = Equal();
  policy.units = {Unit::kPerson};
  policy.columns = {"*"};
  DataUse use = Use();
  use.person_column = "age";  // everybody of one age would be one person
  EXPECT_THAT(KeysOf(policy, spec, use), ::testing::ElementsAre("data.person_column"));
  use.person_column = "patient";
  EXPECT_THAT(KeysOf(policy, spec, use), IsEmpty());
}

// `Agreed()`, signed for five sites.
agreement::SignedManifest Signed() {
  crypto::InsecureSeededEntropy entropy(1, "hospitals");
  agreement::SignedManifestSpec spec;
  spec.federation = "hospitals";
  spec.agreement = Agreed();
  spec.agreement.federation = {7};
  spec.agreement.members.clear();
  for (int i = 0; i < 5; ++i) {
    const agreement::MemberKeys keys = agreement::MemberKeys::Generate(entropy);
    spec.members.push_back(
        agreement::SignMember(fmt::format("site-{}", i), keys.signing, keys.sealing.public_key(),
                              agreement::ExchangeKeys::Generate(entropy).public_keys()));
  }
  spec.authority = crypto::SomeAuthority();
  return base::ValueOf(
      agreement::SignedManifest::Sign(std::move(spec), crypto::SigningKey::Generate(entropy)));
}

TEST(PermissionTest, ARefusalNamesFileAndFields) {
  const agreement::SignedManifest manifest = Signed();
  SitePolicy policy = Equal();
  ASSERT_OK_AND_ASSIGN(const auto allowed,
                       Permission::ByPolicy(policy, "home/policy.toml", manifest, Use()));
  EXPECT_EQ(allowed.manifest_hash(), manifest.manifest().hash());
  EXPECT_EQ(allowed.year()->epsilon, policy.epsilon_per_year);
  EXPECT_EQ(allowed.year()->source, "home/policy.toml: privacy.epsilon_per_year");
  policy.epsilon_per_year = 1e-3;
  policy.min_participants = 1000;
  const auto refused = Permission::ByPolicy(policy, "home/policy.toml", manifest, Use());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(
      base::Message(refused.status()),
      AllOf(HasSubstr("home/policy.toml refuses epoch 0 of"),
            HasSubstr("privacy.epsilon_per_year: all permitted attempts together cost"),
            HasSubstr("federation.min_participants: federation.min_participants is"),
            HasSubstr("at least 1000 is required"), HasSubstr("Nothing was charged or sealed")));
}

TEST(PermissionTest, ASiteWithAnOfficerNeedsThePolicy) {
  const agreement::SignedManifest manifest = Signed();
  ASSERT_OK_AND_ASSIGN(const auto without, Permission::WithoutPolicy(std::nullopt, manifest));
  EXPECT_EQ(without.manifest_hash(), manifest.manifest().hash());
  EXPECT_FALSE(without.year().has_value());
  EXPECT_EQ(Permission::WithoutPolicy(crypto::PublicKey{1}, manifest).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace tacet::policy
