// Signed terms, each weakened once: who objects.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/agreement/epoch_chain.h"
#include "tacet/agreement/terms_table.h"
#include "tacet/policy/acceptance.h"
#include "tacet/policy/acceptance_for_test.h"

namespace tacet::policy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

constexpr std::string_view kUnsigned = "unsigned";

// A change of one term, as weak as it takes to be outside.
struct Weakened {
  SignedManifestSpec (*federation)();
  Change change;
  // For an epoch that begins a training, under a policy that equals the agreement before; empty: it
  // may choose. kUnsigned: no manifest has that.
  std::string objection;
  // Under a policy that allows much less, by other terms that the change needs.
  std::vector<std::string> others = {};
};

// By term. A term of the table without a line here fails the test.
std::map<std::string, Weakened> AllWeakened() {
  const auto agreed = [](void (*change)(agreement::ManifestSpec&)) -> Change {
    return [change](SignedManifestSpec& spec) { change(spec.agreement); };
  };
  const std::string epsilon = "privacy.epsilon_per_year";
  return {
      {"federation", {OfPersons, agreed([](auto& a) { a.federation = {8}; }), "federation"}},
      {"training", {OfPersons, agreed([](auto& a) { a.training = 1; }), ""}},
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
       {OfClients,
        agreed([](auto& a) {
          a.sampling.method = accounting::Sampling::kFixedSize;
          a.sampling.dummy_uploads = false;
          a.sampling.max_participations = 0;
          a.sampling.min_participants = 3;
        }),
        "federation.dummy_uploads",
        {"federation.min_participants", "federation.dummy_uploads",
         "federation.max_participations"}}},
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

// Terms that CheckSuccessor refuses, weakened as above, in a training that continues.
const std::set<std::string> kRefusedByChain = {"federation",
                                               "training",
                                               "model",
                                               "dimension",
                                               "initial_model",
                                               "federation.sampling",
                                               "privacy.delta",
                                               "run.no_noise",
                                               "run.no_clip",
                                               "privacy.budget_epsilon",
                                               "privacy.unit",
                                               "privacy.neighbouring",
                                               "privacy.colluders",
                                               "federated_part",
                                               "whole_dimension",
                                               "federation.dummy_uploads"};

TEST(AcceptanceTermsTest, EachTermThatIsWeakenedStopsAndIsNamed) {
  const std::map<std::string, Weakened> all = AllWeakened();
  for (const std::string& key : SignedTerms()) {
    SCOPED_TRACE(key);
    const auto found = all.find(key);
    ASSERT_NE(found, all.end()) << "a new term: classify it, and weaken it here";
    const Weakened& weakened = found->second;
    const JudgedBy rule = RuleOf(key);
    const SignedManifest before = Sign(weakened.federation());
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
    EXPECT_EQ(agreement::CheckSuccessor(before.link(), goes_on.link()).ok(),
              !kRefusedByChain.contains(key));
    if (rule == JudgedBy::kKind) continue;

    // The policy is exactly as strong as the agreement before, so any weakening is outside.
    const std::vector<std::string> strict = Objections(Judge(Equal(before), before, begins));
    if (!weakened.objection.empty()) {
      EXPECT_THAT(strict, Contains(weakened.objection));
    }
    // The policy allows much less than what was agreed before.
    const SitePolicy loose = Loose(before);
    const std::vector<std::string> first = Objections(Judge(loose, before, begins));
    const std::vector<std::string> later = Objections(Judge(loose, before, goes_on));
    switch (rule) {
      case JudgedBy::kMechanism:
      case JudgedBy::kSame:
        EXPECT_THAT(first, ElementsAreArray(weakened.others));
        EXPECT_THAT(later, Contains(key));
        break;
      case JudgedBy::kMembers:
        EXPECT_THAT(first, IsEmpty());
        if (key == "federation.cohort") {
          EXPECT_THAT(later, ElementsAre(key));
        }
        break;
      case JudgedBy::kKeys:
        EXPECT_THAT(first, Contains(weakened.objection));
        EXPECT_THAT(later, Contains(weakened.objection));
        break;
      default:
        EXPECT_THAT(first, Contains(key));
        EXPECT_THAT(later, Contains(key));
    }
  }
}

}  // namespace
}  // namespace tacet::policy
