// Policies against agreements: no key of an agreement switches off what a policy demands.
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "apps/tacet/simulate/configured_learner.h"
#include "tacet/base/status_for_test.h"
#include "tacet/config/agreement_protection_for_test.h"
#include "tacet/config/policy_file.h"
#include "tacet/models/architecture.h"

namespace tacet::app::federation {
namespace {

using namespace config;

using accounting::Unit;
using base::JsonValue;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Five hospitals; every key of an agreement has a value, and each limit of a policy one to hold.
constexpr std::string_view kPatients = R"(
[data]
csv_label_column = "ill"
csv_person_column = "patient"
csv_features = ["age 18..100", "sbp 70..230", "smoker one-of=0,1"]
csv_missing = ["", "?"]
csv_label_above = 0.5
classes = 2
[model]
name = "mlp"
hidden = [8]
[federation]
rounds = 20
cohort = 5
min_participants = 4
spare_attempts = 2
committee_seats = 5
committee_corrupt = 1
committee_packing = 1
[privacy]
unit = "person"
neighbouring = "replace-one"
record_rate = 0.1
expected_batch = 70
appearances = 2
colluders = 1
clip_norm = 1.0
coordinate_bound = 32.0
noise_multiplier = 6
scale = 1e-2
delta = 1e-6
)";

// Five sites as a whole, who hide when they take part.
constexpr std::string_view kSites = R"(
[data]
csv_label_column = "ill"
csv_features = ["age 18..100", "sbp 70..230"]
classes = 2
[model]
name = "mlp"
hidden = [8]
[federation]
rounds = 10
cohort = 3
sampling = "poisson"
dummy_uploads = true
min_participants = 4
max_participations = 5
committee_seats = 5
committee_corrupt = 1
committee_packing = 1
[privacy]
unit = "client"
colluders = 1
clip_norm = 0.5
coordinate_bound = 0.5
noise_multiplier = 12
scale = 1e-3
delta = 1e-6
budget_epsilon = 3.0
)";

constexpr uint64_t kMembers = 5;

RunConfig ConfigOf(std::string_view toml) {
  return base::ValueOf(ParseRunConfig(toml, "agreed.toml"));
}

// The manifest that a coordinator signs for this agreement.
absl::StatusOr<agreement::Manifest> ManifestOf(const RunConfig& config) {
  TACET_ASSIGN_OR_RETURN(const models::ArchitectureSpec shape,
                         simulate::ArchitectureSpecOf(config));
  TACET_ASSIGN_OR_RETURN(const models::Architecture model, models::Architecture::Create(shape));
  agreement::ManifestSpec spec = ManifestSpecOf(config);
  spec.dimension = model.dimension();
  spec.sampling.clients = kMembers;
  spec.members.resize(kMembers);
  return agreement::Manifest::Create(std::move(spec));
}

double EpsilonOf(const agreement::Manifest& manifest) {
  const double whole = agreement::GuaranteesOf(manifest, manifest.attempt_budget())->epsilon();
  const double budget = manifest.spec().privacy.budget_epsilon;
  return budget > 0 ? std::min(budget, whole) : whole;
}

// Exactly as strong as the agreement.
policy::SitePolicy Equal(const RunConfig& config) {
  const agreement::Manifest manifest = *ManifestOf(config);
  const agreement::ManifestSpec& agreed = manifest.spec();
  return {.sites = {"north"},
          .serial = 1,
          .epsilon_per_year = EpsilonOf(manifest),
          .delta = agreed.privacy.delta,
          .units = {agreed.privacy.unit},
          .neighbouring = {agreed.privacy.neighbouring},
          .colluders = agreed.privacy.colluders,
          .appearances = agreed.sampling.appearances,
          .min_participants = agreed.sampling.min_participants,
          .committee_seats = agreed.committee.seats,
          .committee_corrupt = agreed.committee.corrupt,
          .committee_packing = agreed.committee.packing,
          .dummy_uploads = agreed.sampling.dummy_uploads,
          .records = 500,
          .columns = *DataUseOf(config, "north", 500)->columns,
          .person_column = config.data.csv_person_column,
          .kinds = {"training"}};
}

// Keys of the policy that refuse the agreement; "agreement" when nobody can sign it at all.
std::vector<std::string> RefusedBy(const policy::SitePolicy& policy, const RunConfig& config) {
  const auto manifest = ManifestOf(config);
  const auto use = DataUseOf(config, "north", 500);
  if (!manifest.ok() || !use.ok()) return {"agreement"};
  const auto violations = base::ValueOf(policy::ViolationsOf(policy, *manifest, *use));
  std::vector<std::string> keys;
  for (const policy::Violation& violation : violations) keys.push_back(violation.key);
  return keys;
}

class PolicyOfAgreementTest : public ::testing::TestWithParam<std::string_view> {};

// Each key of an agreement in turn: a policy that equals the agreement lets no weaker one pass, and
// refuses none that is not.
TEST_P(PolicyOfAgreementTest, NoKeySwitchesAProtectionOff) {
  const RunConfig base = ConfigOf(GetParam());
  const policy::SitePolicy policy = Equal(base);
  ASSERT_THAT(RefusedBy(policy, base), IsEmpty());
  const agreement::Manifest agreed = *ManifestOf(base);
  const Protection guaranteed = ProtectionOf(base, agreed, agreed.spec());
  size_t weaker = 0, allowed = 0;
  std::set<std::string> tried;
  for (const auto& [key, value] : KeysOf(base)) {
    for (const JsonValue& other : Mutations(key, value)) {
      RunConfig config = base;
      if (!SetKey(config, key, other).ok()) continue;
      tried.insert(key);
      const auto manifest = ManifestOf(config);
      const std::vector<std::string> refused = RefusedBy(policy, config);
      if (!manifest.ok()) continue;  // nobody can sign it
      const std::string weak =
          WeakerThan(guaranteed, ProtectionOf(config, *manifest, agreed.spec()));
      const std::string what = fmt::format("{} = {}: {}", key, other.Dump(), weak);
      if (weak.empty()) {
        EXPECT_THAT(refused, IsEmpty()) << what;
        ++allowed;
      } else {
        EXPECT_THAT(refused, ::testing::Not(IsEmpty())) << what;
        ++weaker;
      }
    }
  }
  EXPECT_GE(tried.size(), 40u);
  EXPECT_GT(weaker, 20u);
  EXPECT_GT(allowed, 60u);
}

// Several keys at once: a protection that one of them gives does not pay for what another takes.
TEST_P(PolicyOfAgreementTest, NorDoSeveralKeysTogether) {
  const RunConfig base = ConfigOf(GetParam());
  const policy::SitePolicy policy = Equal(base);
  const agreement::Manifest agreed = *ManifestOf(base);
  const Protection guaranteed = ProtectionOf(base, agreed, agreed.spec());
  const std::vector<std::pair<std::string, JsonValue>> keys = KeysOf(base);
  std::mt19937 generator(1);
  size_t weaker = 0;
  for (int turn = 0; turn < 200; ++turn) {
    RunConfig config = base;
    std::string what;
    for (int change = 0; change < 3; ++change) {
      const auto& [key, value] = keys[generator() % keys.size()];
      const std::vector<JsonValue> mutations = Mutations(key, value);
      if (mutations.empty()) continue;
      const JsonValue& other = mutations[generator() % mutations.size()];
      if (SetKey(config, key, other).ok()) what += fmt::format("{} = {}, ", key, other.Dump());
    }
    const auto manifest = ManifestOf(config);
    if (!manifest.ok()) continue;  // nobody can sign it
    const std::string weak = WeakerThan(guaranteed, ProtectionOf(config, *manifest, agreed.spec()));
    if (weak.empty()) continue;
    EXPECT_THAT(RefusedBy(policy, config), ::testing::Not(IsEmpty())) << what << weak;
    ++weaker;
  }
  EXPECT_GT(weaker, 30u);
}

INSTANTIATE_TEST_SUITE_P(Units, PolicyOfAgreementTest, ::testing::Values(kPatients, kSites));

// Keys that no agreement has cannot come from its text either.
TEST(PolicyFileTest, AnAgreementHasNoKeysOfTheSite) {
  for (const auto& [key, value] : KeysOf(RunConfig())) {
    for (const std::string_view own :
         {"run.", "ledger.", "data.path", "data.client", "data.held"}) {
      EXPECT_FALSE(key.starts_with(own)) << key;
    }
  }
}

TEST(PolicyFileTest, ReadsTheDocumentedFile) {
  ASSERT_OK_AND_ASSIGN(const auto policy, ParseSitePolicy(R"(
[policy]
sites = ["north"]
serial = 3
[privacy]
epsilon_per_year = 2.0
delta = 1e-5
units = ["record", "person"]
[federation]
min_participants = 3
committee_seats = 3
committee_corrupt = 1
[data]
records = 100
columns = ["age", "sbp", "chol", "smoker", "ill"]
[training]
kinds = ["training"]
[ledger]
folder = "/var/lib/tacet/ledger"
rule = "announced-attempts"
)",
                                                          "policy.toml"));
  EXPECT_EQ(policy.serial, 3u);
  EXPECT_EQ(policy.columns.size(), 5u);
}

TEST(PolicyFileTest, WhatIsNoPolicyIsRefused) {
  EXPECT_THAT(base::Message(ParseSitePolicy("[policy", "policy.toml").status()),
              HasSubstr("policy.toml"));
  EXPECT_THAT(base::Message(ParseSitePolicy("", "policy.toml").status()),
              HasSubstr("key `policy.sites`: is missing"));
  EXPECT_THAT(base::Message(ParseSitePolicy(std::string(70'000, '#'), "policy.toml").status()),
              HasSubstr("a policy has at most 65536"));
}

TEST(PolicyFileTest, ColumnsOfATraining) {
  ASSERT_OK_AND_ASSIGN(const auto use, DataUseOf(ConfigOf(kPatients), "north", 7));
  EXPECT_EQ(use.records, 7u);
  EXPECT_THAT(*use.columns, ::testing::ElementsAre("ill", "patient", "age", "sbp", "smoker"));
  EXPECT_EQ(use.person_column, "patient");
  EXPECT_FALSE(DataUseOf(RunConfig(), "north", 7)->columns.has_value());
}

}  // namespace
}  // namespace tacet::app::federation
