// Invitations of a federation of seven sites, for tests of what a policy accepts.
#ifndef TACET_POLICY_ACCEPTANCE_FOR_TEST_H_
#define TACET_POLICY_ACCEPTANCE_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tacet/base/status_for_test.h"
#include "tacet/crypto/authority_for_test.h"
#include "tacet/crypto/random.h"
#include "tacet/policy/acceptance.h"

namespace tacet::policy {

using accounting::Neighbouring;
using accounting::Unit;
using agreement::SignedManifest;
using agreement::SignedManifestSpec;

inline constexpr uint64_t kSites = 7;
inline constexpr uint32_t kEpoch = 2;  // joined last; its training began with epoch 0

using Change = std::function<void(SignedManifestSpec&)>;

inline agreement::ManifestMember Member(uint8_t site, uint8_t epoch = kEpoch) {
  crypto::InsecureSeededEntropy keys(site, "site");
  return agreement::SignMember(std::string("site-") + static_cast<char>('a' + site),
                               crypto::SigningKey::Generate(keys), {201, site},
                               {.exchange = {static_cast<uint8_t>(epoch + 2), site}, .kem = {}});
}

inline SignedManifestSpec Federation() {
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
inline SignedManifestSpec OfPersons() {
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
inline SignedManifestSpec OfQuery() {
  SignedManifestSpec spec = OfPersons();
  agreement::ManifestSpec& agreed = spec.agreement;
  agreed.model = agreement::kQueryModel;
  agreed.rounds = 1;
  agreed.spare_attempts = 2;
  agreed.sampling.record_rate = 1;
  return spec;
}

// Each site is protected, and nobody sees which sites take part.
inline SignedManifestSpec OfClients() {
  SignedManifestSpec spec = Federation();
  agreement::ManifestSpec& agreed = spec.agreement;
  agreed.sampling.cohort = 4;
  agreed.sampling.min_participants = 6;
  agreed.sampling.method = accounting::Sampling::kPoisson;
  agreed.sampling.dummy_uploads = true;
  agreed.sampling.max_participations = 10;
  return spec;
}

inline crypto::SigningKey Coordinator() {
  crypto::InsecureSeededEntropy entropy(1, "coordinator");
  return crypto::SigningKey::Generate(entropy);
}
inline SignedManifest Sign(SignedManifestSpec spec) {
  return base::ValueOf(SignedManifest::Sign(std::move(spec), Coordinator()));
}

// The epoch after `before`, with fresh exchange keys and a change. It continues with the training
// or begins another.
enum class Next { kGoesOn, kBegins };
inline SignedManifest After(const SignedManifest& before, SignedManifestSpec spec, Next next,
                            const Change& change = {}) {
  spec.epoch = kEpoch + 1;
  spec.predecessor = before.manifest().hash();
  if (next == Next::kBegins) spec.agreement.training = kEpoch + 1;
  for (uint8_t site = 0; site < kSites; ++site) spec.members[site] = Member(site, kEpoch + 1);
  if (change) change(spec);
  return Sign(std::move(spec));
}

inline double AgreedEpsilon(const agreement::Manifest& manifest) {
  const double epsilon = agreement::GuaranteesOf(manifest, manifest.attempt_budget())->epsilon();
  const double budget = manifest.spec().privacy.budget_epsilon;
  return budget > 0 ? std::min(epsilon, budget) : epsilon;
}

// Exactly as strong as the manifest in every limit, and it accepts everything.
inline SitePolicy Equal(const SignedManifest& manifest) {
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

// It accepts everything, too, and every limit is lower than what was agreed.
inline SitePolicy Loose(const SignedManifest& manifest) {
  SitePolicy policy = Equal(manifest);
  policy.epsilon_per_year *= 100;
  policy.delta *= 100;
  policy.units = {Unit::kClient, Unit::kPerson, Unit::kRecord};
  policy.neighbouring = {Neighbouring::kReplaceOne, Neighbouring::kZeroOut};
  policy.noise_laws = {dp::NoiseLaw::kGaussian, dp::NoiseLaw::kDiscreteLaplace};
  policy.colluders = 0;
  policy.appearances = 1;
  policy.min_participants = 3;
  policy.committee_seats = 3;
  policy.committee_corrupt = 0;
  policy.committee_packing = 0;
  policy.dummy_uploads = false;
  return policy;
}

inline DataUse UseAtSite() {
  return {.site = "site-a",
          .columns = std::vector<std::string>{"age", "ill"},
          .person_column = "patient"};
}

inline std::set<crypto::PublicKey> AllKeys(const SignedManifest& manifest) {
  std::set<crypto::PublicKey> keys;
  for (const agreement::ManifestMember& member : manifest.members()) {
    keys.insert(member.signing_key);
  }
  return keys;
}

// `between`: epochs that the site missed.
inline Acceptance Judge(const SitePolicy& policy, const SignedManifest& before,
                        const SignedManifest& now,
                        std::optional<std::set<crypto::PublicKey>> known = std::nullopt,
                        const std::vector<SignedManifest>& between = {}) {
  if (!known.has_value()) known = AllKeys(before);
  std::vector<agreement::EpochLink> chain = {before.link()};
  for (const SignedManifest& missed : between) chain.push_back(missed.link());
  chain.push_back(now.link());
  return base::ValueOf(JudgeInvitation(
      policy, {.before = before, .now = now, .chain = chain, .known = *known, .use = UseAtSite()}));
}

inline std::vector<std::string> Objections(const Acceptance& acceptance) {
  std::vector<std::string> keys;
  for (const Violation& objection : acceptance.objections) keys.push_back(objection.key);
  return keys;
}

inline void AddSite(SignedManifestSpec& spec, uint8_t site = 20) {
  spec.members.push_back(Member(site));
  spec.agreement.sampling.cohort = spec.members.size();
}

}  // namespace tacet::policy

#endif  // TACET_POLICY_ACCEPTANCE_FOR_TEST_H_
