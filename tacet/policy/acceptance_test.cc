#include "tacet/policy/acceptance.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/agreement/epoch_chain.h"
#include "tacet/agreement/terms_table.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/authority_for_test.h"
#include "tacet/crypto/random.h"

namespace tacet::policy {
namespace {

using accounting::Neighbouring;
using accounting::Unit;
using agreement::SignedManifest;
using agreement::SignedManifestSpec;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kSites = 7;
constexpr uint32_t kEpoch = 2;  // joined last; its training began with epoch 0

using Change = std::function<void(SignedManifestSpec&)>;

agreement::ManifestMember Member(uint8_t site) {
  crypto::InsecureSeededEntropy keys(site, "site");
  return agreement::SignMember(std::string("site-") + static_cast<char>('a' + site),
                               crypto::SigningKey::Generate(keys), {201, site},
                               {.exchange = {2, site}, .kem = {}});
}

SignedManifestSpec Federation() {
  SignedManifestSpec spec;
  spec.federation = "hospitals";
  spec.epoch = kEpoch;
  spec.predecessor = {1};
  spec.authority = crypto::SomeAuthority();
  spec.annex = "[train]\nbatch = 20\n";
  spec.server = {.name = "hub", .hosts = {"hub.example"}, .tls_key = {1, 2, 3}};
  for (uint8_t site = 0; site < kSites; ++site) spec.members.push_back(Member(site));
  agreement::ManifestSpec& agreed = spec.agreement;
  agreed.federation = {7};
  agreed.model = "logistic";
  agreed.dimension = 60;
  agreed.rounds = 20;
  agreed.mechanism.noise_stddev = 8;
  agreed.mechanism.scale = 1e-2;
  agreed.committee = {.seats = kSites, .corrupt = 2, .packing = 1};
  agreed.privacy.neighbouring = Neighbouring::kReplaceOne;
  agreed.privacy.colluders = 1;
  return spec;
}

// Each patient is protected, all sites are in every round.
SignedManifestSpec OfPersons() {
  SignedManifestSpec spec = Federation();
  agreement::ManifestSpec& agreed = spec.agreement;
  agreed.sampling.cohort = kSites;
  agreed.sampling.min_participants = 6;
  agreed.sampling.record_rate = 0.1;
  agreed.sampling.expected_batch = 70;
  agreed.sampling.appearances = 2;
  agreed.privacy.unit = Unit::kPerson;
  agreed.mechanism.coordinate_bound = 32;
  return spec;
}

// One question to all patients.
SignedManifestSpec OfQuery() {
  SignedManifestSpec spec = OfPersons();
  agreement::ManifestSpec& agreed = spec.agreement;
  agreed.model = agreement::kQueryModel;
  agreed.rounds = 1;
  agreed.spare_attempts = 2;
  agreed.sampling.record_rate = 1;
  return spec;
}

// Each site is protected, and nobody sees which sites take part.
SignedManifestSpec OfClients() {
  SignedManifestSpec spec = Federation();
  agreement::ManifestSpec& agreed = spec.agreement;
  agreed.sampling.cohort = 4;
  agreed.sampling.min_participants = 6;
  agreed.sampling.method = accounting::Sampling::kPoisson;
  agreed.sampling.dummy_uploads = true;
  agreed.sampling.max_participations = 10;
  return spec;
}

crypto::SigningKey Coordinator() {
  crypto::InsecureSeededEntropy entropy(1, "coordinator");
  return crypto::SigningKey::Generate(entropy);
}
SignedManifest Sign(SignedManifestSpec spec) {
  return base::ValueOf(SignedManifest::Sign(std::move(spec), Coordinator()));
}

// The epoch after `before`, with a change. It goes on with the training or begins another.
enum class Next { kGoesOn, kBegins };
SignedManifest After(const SignedManifest& before, SignedManifestSpec spec, Next next,
                     const Change& change = {}) {
  spec.epoch = kEpoch + 1;
  spec.predecessor = before.manifest().hash();
  if (next == Next::kBegins) spec.agreement.training = kEpoch + 1;
  if (change) change(spec);
  return Sign(std::move(spec));
}

double AgreedEpsilon(const agreement::Manifest& manifest) {
  const double epsilon = agreement::GuaranteesOf(manifest, manifest.attempt_budget())->epsilon();
  const double budget = manifest.spec().privacy.budget_epsilon;
  return budget > 0 ? std::min(epsilon, budget) : epsilon;
}

// Exactly as strong as the manifest in every limit, and it accepts everything.
SitePolicy Equal(const SignedManifest& manifest) {
  const agreement::ManifestSpec& agreed = manifest.manifest().spec();
  return {.sites = {"site-a"},
          .serial = 1,
          .epsilon_per_year = AgreedEpsilon(manifest.manifest()),
          .delta = agreed.privacy.delta,
          .units = {agreed.privacy.unit},
          .neighbouring = {agreed.privacy.neighbouring},
          .noise_laws = {dp::NoiseLaw::kGaussian},
          .colluders = agreed.privacy.colluders,
          .appearances = agreed.sampling.appearances,
          .min_participants = agreed.sampling.min_participants,
          .committee_seats = agreed.committee.seats,
          .committee_corrupt = agreed.committee.corrupt,
          .committee_packing = agreed.committee.packing,
          .dummy_uploads = agreed.sampling.dummy_uploads,
          .records = 500,
          .columns = {"age", "ill"},
          .person_column = "patient",
          .kinds = {"training"},
          .accepted_kinds = {kChangeKinds.begin(), kChangeKinds.end()}};
}

DataUse UseAtSite() {
  return {.site = "site-a",
          .columns = std::vector<std::string>{"age", "ill"},
          .person_column = "patient"};
}

std::set<crypto::PublicKey> AllKeys(const SignedManifest& manifest) {
  std::set<crypto::PublicKey> keys;
  for (const agreement::ManifestMember& member : manifest.members()) {
    keys.insert(member.signing_key);
  }
  return keys;
}

Acceptance Judge(const SitePolicy& policy, const SignedManifest& before, const SignedManifest& now,
                 std::optional<std::set<crypto::PublicKey>> known = std::nullopt) {
  if (!known.has_value()) known = AllKeys(before);
  return base::ValueOf(
      JudgeInvitation(policy, {.before = before, .now = now, .known = *known, .use = UseAtSite()}));
}

std::vector<std::string> Objections(const Acceptance& acceptance) {
  std::vector<std::string> keys;
  for (const Violation& objection : acceptance.objections) keys.push_back(objection.key);
  return keys;
}

void AddSite(SignedManifestSpec& spec, uint8_t site = 20) {
  spec.members.push_back(Member(site));
  spec.agreement.sampling.cohort = spec.members.size();
}

constexpr std::string_view kUnsigned = "unsigned";

// A change of one term, as weak as it takes to be outside.
struct Weakened {
  SignedManifestSpec (*federation)();
  Change change;
  // Of an epoch that begins a training; empty: it may choose. kUnsigned: no manifest has that.
  std::string objection;
};

// By term. A term of the table without a line here fails the test.
std::map<std::string, Weakened> AllWeakened() {
  const auto agreed = [](void (*change)(agreement::ManifestSpec&)) -> Change {
    return [change](SignedManifestSpec& spec) { change(spec.agreement); };
  };
  const std::string epsilon = "privacy.epsilon_per_year";
  return {
      {"federation", {OfPersons, agreed([](auto& a) { a.federation = {8}; }), "chain"}},
      {"training", {OfPersons, agreed([](auto& a) { a.training = 1; }), "chain"}},
      {"model", {OfPersons, agreed([](auto& a) { a.model = "mlp"; }), ""}},
      {"dimension", {OfPersons, agreed([](auto& a) { a.dimension = 61; }), ""}},
      {"initial_model", {OfPersons, agreed([](auto& a) { a.initial_model = {3}; }), ""}},
      {"clients", {OfPersons, [](auto& spec) { AddSite(spec); }, "acceptance.unknown_members"}},
      {"federation.cohort", {OfClients, agreed([](auto& a) { a.sampling.cohort = 5; }), epsilon}},
      {"federation.min_participants",
       {OfPersons, agreed([](auto& a) { a.sampling.min_participants = 5; }),
        "federation.min_participants"}},
      {"federation.rounds", {OfPersons, agreed([](auto& a) { a.rounds = 21; }), epsilon}},
      {"federation.spare_attempts",
       {OfPersons, agreed([](auto& a) { a.spare_attempts += 1; }), epsilon}},
      {"federation.committee_seats",
       {OfPersons, agreed([](auto& a) { a.committee = {.seats = 6, .corrupt = 1, .packing = 1}; }),
        "federation.committee_seats"}},
      {"federation.committee_corrupt",
       {OfPersons, agreed([](auto& a) { a.committee.corrupt = 1; }),
        "federation.committee_corrupt"}},
      {"federation.committee_packing",
       {OfPersons, agreed([](auto& a) { a.committee.packing = 3; }),
        "federation.committee_packing"}},
      {"committee_members",
       {OfPersons,
        [](auto& spec) {
          AddSite(spec);
          spec.agreement.committee_members = {0, 1, 2, 3, 4, 5, 7};
        },
        "committee"}},
      {"federation.sampling",
       {OfClients, agreed([](auto& a) {
          a.sampling.method = accounting::Sampling::kFixedSize;
          a.sampling.dummy_uploads = false;
          a.sampling.max_participations = 0;
          a.sampling.min_participants = 3;
        }),
        "federation.dummy_uploads"}},
      {"privacy.clip_norm",
       {OfPersons, agreed([](auto& a) { a.mechanism.clip_norm *= 1.01; }), epsilon}},
      {"privacy.coordinate_bound",
       {OfPersons, agreed([](auto& a) { a.mechanism.coordinate_bound *= 8; }), ""}},
      {"privacy.noise_stddev",
       {OfPersons, agreed([](auto& a) { a.mechanism.noise_stddev *= 0.99; }), epsilon}},
      {"noise_law",
       {OfQuery, agreed([](auto& a) {
          a.mechanism.noise_law = dp::NoiseLaw::kDiscreteLaplace;
          a.mechanism.scale = 1;
        }),
        "privacy.noise_laws"}},
      {"privacy.scale", {OfPersons, agreed([](auto& a) { a.mechanism.scale = 0.1; }), ""}},
      {"privacy.delta",
       {OfPersons, agreed([](auto& a) { a.privacy.delta *= 1.01; }), "privacy.delta"}},
      {"privacy.sampler",
       {OfPersons, agreed([](auto& a) { a.mechanism.sampler = dp::GaussianSampler::kPolar; }), ""}},
      {"run.no_noise",
       {OfPersons, agreed([](auto& a) {
          a.mechanism.without_noise = true;
          a.mechanism.noise_stddev = 0;
        }),
        epsilon}},
      {"run.no_clip",
       {OfPersons, agreed([](auto& a) { a.mechanism.without_clipping = true; }), epsilon}},
      {"aggregation.parameters",
       {OfPersons, agreed([](auto& a) {
          a.scheme = he::Scheme::kPaperPublicKey;
          a.committee = {};
        }),
        std::string(kUnsigned)}},
      {"server.learning_rate",
       {OfPersons, agreed([](auto& a) { a.optimizer.learning_rate = 0.5; }), ""}},
      {"server.learning_rate_final",
       {OfPersons, agreed([](auto& a) { a.optimizer.learning_rate_final = 0.5; }), ""}},
      {"server.momentum", {OfPersons, agreed([](auto& a) { a.optimizer.momentum = 0.5; }), ""}},
      {"privacy.budget_epsilon",
       {[] {
          SignedManifestSpec spec = OfPersons();
          spec.agreement.privacy.budget_epsilon = 0.9 * AgreedEpsilon(Sign(OfPersons()).manifest());
          return spec;
        },
        agreed([](auto& a) { a.privacy.budget_epsilon = 0; }), epsilon}},
      {"aggregation.plaintext_bits",
       {OfPersons, agreed([](auto& a) { a.plaintext_bits = 34; }), ""}},
      {"privacy.unit",
       {OfPersons, agreed([](auto& a) { a.privacy.unit = Unit::kRecord; }), "privacy.units"}},
      {"privacy.neighbouring",
       {OfPersons, agreed([](auto& a) { a.privacy.neighbouring = Neighbouring::kZeroOut; }),
        "privacy.neighbouring"}},
      {"privacy.record_rate",
       {OfPersons, agreed([](auto& a) { a.sampling.record_rate *= 1.01; }), epsilon}},
      {"privacy.expected_batch",
       {OfPersons, agreed([](auto& a) { a.sampling.expected_batch = 90; }), ""}},
      {"privacy.appearances",
       {OfPersons, agreed([](auto& a) { a.sampling.appearances = 1; }), "privacy.appearances"}},
      {"privacy.colluders",
       {OfPersons, agreed([](auto& a) { a.privacy.colluders = 0; }), "privacy.colluders"}},
      {"federated_part",
       {OfClients, agreed([](auto& a) {
          a.federated_part = "dense2";
          a.whole_dimension = 100;
        }),
        ""}},
      {"whole_dimension",
       {OfClients, agreed([](auto& a) {
          a.federated_part = "dense2";
          a.whole_dimension = 100;
        }),
        ""}},
      {"annex", {OfPersons, [](auto& spec) { spec.annex = "[train]\nbatch = 40\n"; }, ""}},
      {"federation.dummy_uploads",
       {OfClients, agreed([](auto& a) {
          a.sampling.dummy_uploads = false;
          a.sampling.min_participants = 3;
          a.privacy.colluders = 1;
        }),
        "federation.dummy_uploads"}},
      {"federation.max_participations",
       {OfClients, agreed([](auto& a) { a.sampling.max_participations = 0; }),
        "federation.max_participations"}},
  };
}

std::vector<std::string> SignedTerms() {
  std::vector<std::string> keys;
  const agreement::ManifestSpec spec;
  agreement::VisitSignedTerms(
      [&](const agreement::Term& term, const auto&) { keys.emplace_back(term.key); }, spec);
  return keys;
}

JudgedBy RuleOf(const std::string& key) {
  const auto terms = JudgedTerms();
  const auto found = std::ranges::find(terms, key, &JudgedTerm::key);
  EXPECT_NE(found, terms.end()) << key << " is signed, and nothing says who judges its change";
  return found == terms.end() ? JudgedBy::kChain : found->by;
}

// The policy is exactly as strong as the agreement before, so any weakening is outside.
TEST(AcceptanceTest, EachTermThatIsWeakenedStopsAndIsNamed) {
  const std::map<std::string, Weakened> all = AllWeakened();
  for (const std::string& key : SignedTerms()) {
    SCOPED_TRACE(key);
    const auto found = all.find(key);
    ASSERT_NE(found, all.end()) << "a new term: classify it, and weaken it here";
    const Weakened& weakened = found->second;
    const JudgedBy rule = RuleOf(key);
    const SignedManifest before = Sign(weakened.federation());
    const SitePolicy policy = Equal(before);

    if (weakened.objection == kUnsigned) {
      SignedManifestSpec spec = weakened.federation();
      weakened.change(spec);
      EXPECT_FALSE(SignedManifest::Sign(std::move(spec), Coordinator()).ok());
      continue;
    }
    const SignedManifest begins =
        After(before, weakened.federation(), Next::kBegins, weakened.change);
    const SignedManifest goes_on =
        After(before, weakened.federation(), Next::kGoesOn, weakened.change);
    if (rule == JudgedBy::kChain) {
      EXPECT_FALSE(agreement::CheckSuccessor(before.link(), goes_on.link()).ok());
      continue;
    }
    const Acceptance first = Judge(policy, before, begins);
    if (weakened.objection.empty()) {
      // What may be chosen costs no more than the policy allows, or is refused for that.
      EXPECT_TRUE(!first.accepted() || AgreedEpsilon(begins.manifest()) <= policy.epsilon_per_year);
    } else {
      EXPECT_THAT(Objections(first), Contains(weakened.objection));
    }
    if (rule == JudgedBy::kMembers && weakened.objection.empty()) continue;
    // A training that goes on: the chain refuses it, or the term is named, or its limit.
    if (!agreement::CheckSuccessor(before.link(), goes_on.link()).ok()) continue;
    const bool itself =
        rule == JudgedBy::kMechanism || rule == JudgedBy::kNotWeaker || rule == JudgedBy::kSame;
    EXPECT_THAT(Objections(Judge(policy, before, goes_on)),
                Contains(itself ? key : weakened.objection));
  }
}

TEST(AcceptanceTest, TheSameTermsAreAcceptedInEachKindOfChange) {
  for (const auto federation : {OfPersons, OfClients}) {
    const SignedManifest before = Sign(federation());
    const SitePolicy policy = Equal(before);
    const Acceptance renewed = Judge(policy, before, After(before, federation(), Next::kGoesOn));
    EXPECT_THAT(Objections(renewed), IsEmpty());
    EXPECT_THAT(renewed.kinds, ElementsAre(ChangeKind::kRenewal));
    const Acceptance again = Judge(policy, before, After(before, federation(), Next::kBegins));
    EXPECT_THAT(Objections(again), IsEmpty());
    EXPECT_THAT(again.kinds, ElementsAre(ChangeKind::kTraining));
    const Acceptance moved =
        Judge(policy, before, After(before, federation(), Next::kGoesOn, [](auto& spec) {
                spec.server.hosts = {"elsewhere.example"};
              }));
    EXPECT_THAT(Objections(moved), IsEmpty());
    EXPECT_THAT(moved.kinds, ElementsAre(ChangeKind::kServer));
  }
}

// Six of seven go on, where the policy allows six seats of which one may be corrupt.
TEST(AcceptanceTest, ARemovalIsAcceptedWithinTheLimitsOfThePolicy) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest now = After(before, OfPersons(), Next::kGoesOn, [](auto& spec) {
    spec.members.pop_back();
    spec.agreement.sampling.cohort = 6;
    spec.agreement.committee = {.seats = 6, .corrupt = 1, .packing = 1};
  });
  SitePolicy policy = Equal(before);
  EXPECT_THAT(Objections(Judge(policy, before, now)),
              ElementsAre("federation.committee_seats", "federation.committee_corrupt"));
  policy.committee_seats = 6;
  policy.committee_corrupt = 1;
  const Acceptance accepted = Judge(policy, before, now);
  EXPECT_THAT(Objections(accepted), IsEmpty());
  EXPECT_THAT(accepted.kinds, ElementsAre(ChangeKind::kRemoval));
}

TEST(AcceptanceTest, EachKindNeedsThePolicysWord) {
  const SignedManifest before = Sign(OfPersons());
  const std::map<ChangeKind, SignedManifest> all = {
      {ChangeKind::kTraining, After(before, OfPersons(), Next::kBegins)},
      {ChangeKind::kServer,
       After(before, OfPersons(), Next::kGoesOn, [](auto& spec) { spec.server.tls_key = {9}; })},
      {ChangeKind::kRenewal, After(before, OfPersons(), Next::kGoesOn)}};
  for (const auto& [kind, now] : all) {
    SitePolicy policy = Equal(before);
    std::erase(policy.accepted_kinds, kind);
    const Acceptance acceptance = Judge(policy, before, now);
    EXPECT_THAT(Objections(acceptance), ElementsAre("acceptance.kinds"));
    EXPECT_THAT(acceptance.objections[0].text, HasSubstr(ChangeKindName(kind)));
  }
  // The default.
  SitePolicy policy = Equal(before);
  policy.accepted_kinds.clear();
  EXPECT_FALSE(Judge(policy, before, all.at(ChangeKind::kRenewal)).accepted());
}

// Two changes in one epoch are two kinds.
TEST(AcceptanceTest, ATrainingThatRemovesAMemberIsARemovalToo) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest now = After(before, OfPersons(), Next::kBegins, [](auto& spec) {
    spec.members.pop_back();
    spec.agreement.sampling.cohort = 6;
    spec.agreement.committee = {.seats = 6, .corrupt = 1, .packing = 1};
  });
  EXPECT_THAT(Judge(Equal(before), before, now).kinds,
              ElementsAre(ChangeKind::kTraining, ChangeKind::kRemoval));
}

// A site that was offline misses the epoch with which a training began.
TEST(AcceptanceTest, ATrainingThatBeganInAMissedEpochIsATraining) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest now = After(before, OfPersons(), Next::kBegins, [](auto& spec) {
    spec.epoch = kEpoch + 2;
    spec.agreement.rounds = 21;
  });
  ASSERT_FALSE(now.begins_training());
  const Acceptance acceptance = Judge(Equal(before), before, now);
  EXPECT_THAT(acceptance.kinds, ElementsAre(ChangeKind::kTraining));
  EXPECT_THAT(Objections(acceptance), ElementsAre("privacy.epsilon_per_year"));
}

TEST(AcceptanceTest, UnknownKeysAreCountedAndTakeNoSeat) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest grown = After(before, OfPersons(), Next::kGoesOn, [](auto& spec) {
    AddSite(spec);
    spec.agreement.sampling.cohort = 8;
  });
  SitePolicy policy = Equal(before);
  EXPECT_THAT(Objections(Judge(policy, before, grown)), ElementsAre("acceptance.unknown_members"));
  policy.unknown_members = 1;
  EXPECT_THAT(Objections(Judge(policy, before, grown)), IsEmpty());

  // Nothing changes in the agreement, and fewer keys were accepted than a sum has members.
  const SignedManifest same = After(before, OfPersons(), Next::kGoesOn);
  policy.unknown_members = kSites;
  std::set<crypto::PublicKey> known = AllKeys(before);
  known.erase(Member(6).signing_key);
  EXPECT_THAT(Objections(Judge(policy, before, same, known)), ElementsAre("committee"));
  known.erase(Member(5).signing_key);
  const Acceptance few = Judge(policy, before, same, known);
  EXPECT_THAT(Objections(few), ElementsAre("committee", "committee", "members"));
  EXPECT_THAT(few.objections[2].text, HasSubstr("the keys of 5, at least 6 are needed"));
  EXPECT_FALSE(Judge(policy, before, same, std::set<crypto::PublicKey>()).accepted());
}

// A name says nothing: the coordinator gives it to other keys.
TEST(AcceptanceTest, AMemberWithOtherKeysIsUnknown) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest now = After(before, OfPersons(), Next::kGoesOn, [](auto& spec) {
    crypto::InsecureSeededEntropy keys(50, "site");
    spec.members[6] = agreement::SignMember("site-g", crypto::SigningKey::Generate(keys), {201, 50},
                                            {.exchange = {2, 50}, .kem = {}});
  });
  const Acceptance acceptance = Judge(Equal(before), before, now);
  EXPECT_THAT(acceptance.kinds, ElementsAre(ChangeKind::kRemoval));
  EXPECT_THAT(Objections(acceptance), ElementsAre("committee", "acceptance.unknown_members"));
}

TEST(AcceptanceTest, AnotherAuthorityIsNeverAccepted) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest now = After(before, OfPersons(), Next::kBegins, [](auto& spec) {
    spec.authority = crypto::AuthorityOf(crypto::TlsKey::Generate());
  });
  EXPECT_THAT(Objections(Judge(Equal(before), before, now)), ElementsAre("authority"));
}

TEST(AcceptanceTest, ALimitOfOneAgreementIsBelowThatOfTheYear) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest now = After(before, OfPersons(), Next::kBegins);
  SitePolicy policy = Equal(before);
  policy.accepted_epsilon = policy.epsilon_per_year * 0.999;
  EXPECT_THAT(Objections(Judge(policy, before, now)), ElementsAre("acceptance.epsilon"));
  policy.accepted_epsilon = policy.epsilon_per_year * 2;
  EXPECT_THAT(Objections(Judge(policy, before, now)), IsEmpty());
}

// Columns and questions are those that the manifest names; the table's size is not asked.
TEST(AcceptanceTest, WhatIsReadIsJudgedAndTheTableIsNot) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest now = After(before, OfPersons(), Next::kBegins);
  const SitePolicy policy = Equal(before);
  const std::set<crypto::PublicKey> known = AllKeys(before);
  InvitationChange change{.before = before, .now = now, .known = known, .use = UseAtSite()};
  change.use.records = 1;  // the policy demands 500 where it runs
  EXPECT_THAT(Objections(*JudgeInvitation(policy, change)), IsEmpty());
  change.use.columns->push_back("hiv");
  EXPECT_THAT(Objections(*JudgeInvitation(policy, change)), ElementsAre("data.columns"));
  change.use = UseAtSite();
  change.use.person_column = "row";
  EXPECT_THAT(Objections(*JudgeInvitation(policy, change)), ElementsAre("data.person_column"));
  change.use = UseAtSite();
  change.external_model = true;
  EXPECT_THAT(Objections(*JudgeInvitation(policy, change)), ElementsAre("model.name"));
}

}  // namespace
}  // namespace tacet::policy
