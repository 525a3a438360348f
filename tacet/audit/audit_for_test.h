// Facts of a small federation, as a run writes them, and alterations of an audit.
#ifndef TACET_AUDIT_AUDIT_FOR_TEST_H_
#define TACET_AUDIT_AUDIT_FOR_TEST_H_

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/agreement/manifest_bytes.h"
#include "tacet/audit/audit_facts.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/random.h"

namespace tacet::audit {

inline crypto::SigningKey KeyForTest(uint8_t number) {
  crypto::SecretBytes seed(32);
  std::ranges::fill(seed.Expose(), number);
  return *crypto::SigningKey::FromSeed(seed);
}

inline agreement::ManifestSpec SmallAgreement() {
  agreement::ManifestSpec spec;
  spec.model = "logistic";
  spec.dimension = 60;
  spec.sampling.clients = 12;
  spec.sampling.cohort = spec.sampling.min_participants = 6;
  spec.rounds = 3;
  spec.spare_attempts = 4;
  spec.mechanism.coordinate_bound = 0.1;
  spec.mechanism.noise_stddev = 6;
  spec.mechanism.scale = 1e-3;
  for (uint8_t member = 0; member < 12; ++member) {
    spec.members.push_back(
        {.signing_key = KeyForTest(static_cast<uint8_t>(100 + member)).public_key(),
         .exchange_key = {member, 1}});
  }
  return spec;
}

// Four sites, each record protected.
inline agreement::ManifestSpec RecordAgreement() {
  agreement::ManifestSpec spec = SmallAgreement();
  spec.sampling.clients = spec.sampling.cohort = spec.sampling.min_participants = 4;
  spec.members.resize(4);
  spec.privacy.unit = accounting::Unit::kRecord;
  spec.privacy.neighbouring = accounting::Neighbouring::kZeroOut;
  spec.sampling.record_rate = 0.1;
  spec.sampling.expected_batch = 70;
  spec.mechanism.coordinate_bound = 32;
  spec.mechanism.scale = 1e-2;
  return spec;
}

// The header and the charges of all attempts in `facts.rounds`, one second apart, each as `alter`
// leaves it. `under` has the manifest of each epoch; the last one is that of later epochs, too.
inline void WriteLedgerOf(const std::vector<agreement::Manifest>& under, AuditFacts& facts,
                          const std::function<void(ledger::LedgerEntry&)>& alter = {}) {
  const agreement::ManifestSpec& spec = under.front().spec();
  ledger::LedgerHeader header;
  header.population = "drawn";
  header.unit = spec.privacy.unit;
  header.neighbouring = spec.privacy.neighbouring;
  header.spending.delta = spec.privacy.delta;
  if (under.size() > 1) header.spending.composition = accounting::Composition::kAnyEvents;
  header.created = 1'700'000'000;
  facts.ledger = ledger::WriteLedgerHeader(header);
  facts.ledger_end = {.genesis = ledger::LedgerGenesis(header)};
  facts.ledger_end.head = facts.ledger_end.genesis;
  for (const AuditedRound& round : facts.rounds) {
    for (const AuditedAttempt& attempt : round.attempts) {
      const agreement::Manifest& manifest =
          under[std::min<size_t>(attempt.epoch, under.size() - 1)];
      ledger::LedgerEntry entry;
      entry.federation = manifest.federation();
      entry.label = {
          .manifest_hash = manifest.hash(),
          .number = {.epoch = attempt.epoch, .round = round.round, .attempt = attempt.attempt}};
      entry.event = agreement::ChargedEvent(manifest.spec());
      if (alter) alter(entry);
      entry.time = header.created + ++facts.ledger_end.count;
      const base::Bytes record = ledger::WriteLedgerRecord(entry, facts.ledger_end.head);
      facts.ledger_end.head = ledger::RecordHash(record);
      facts.ledger.insert(facts.ledger.end(), record.begin(), record.end());
    }
  }
}
inline void WriteLedgerOf(const agreement::Manifest& manifest, AuditFacts& facts) {
  WriteLedgerOf(std::vector{manifest}, facts);
}

inline AuditedManifest AuditedManifestOf(const agreement::Manifest& manifest) {
  return {.hash = manifest.hash(),
          .epoch = manifest.spec().epoch,
          .agreement = manifest.agreement(),
          .members = manifest.spec().members};
}

// The model after so many rounds.
inline crypto::Digest ModelForTest(uint8_t rounds) { return {0xab, rounds}; }

// Three rounds: the second was refused once, the third interrupted once and continued with under
// new epoch keys.
inline AuditFacts FactsForTest(const agreement::ManifestSpec& agreement = SmallAgreement()) {
  const auto manifest = base::ValueOf(agreement::Manifest::Create(agreement));
  const auto cohort = static_cast<uint32_t>(manifest.spec().sampling.cohort);
  AuditFacts facts;
  facts.created = 1'700'000'100;
  facts.signer = KeyForTest(1).public_key();
  facts.audit_key = facts.signer;
  facts.finished = true;
  facts.result = {.accuracy = 0.5, .loss = 1.3, .samples = 40};
  facts.agreements = {agreement::AgreementBytes(manifest.spec())};
  facts.manifests = {AuditedManifestOf(manifest)};
  facts.rounds = {
      {.round = 0,
       .participants = cohort,
       .attempts = {{.epoch = 0, .attempt = 0, .outcome = AttemptOutcome::kDecrypted}}},
      {.round = 1,
       .participants = cohort,
       .attempts = {{.epoch = 0,
                     .attempt = 0,
                     .outcome = AttemptOutcome::kRefused,
                     .reason = "too-few-uploads"},
                    {.epoch = 0, .attempt = 1, .outcome = AttemptOutcome::kDecrypted}}},
      {.round = 2,
       .participants = cohort,
       .attempts = {{.epoch = 0, .attempt = 0, .outcome = AttemptOutcome::kInterrupted},
                    {.epoch = 1, .attempt = 0, .outcome = AttemptOutcome::kDecrypted}}}};
  WriteLedgerOf(manifest, facts);
  for (AuditedRound& round : facts.rounds) {
    round.model = ModelForTest(static_cast<uint8_t>(round.round + 1));
  }
  facts.released_model = ModelForTest(3);
  facts.version = "0.1.0";
  facts.program_commit = "0123456789ab";
  facts.training_commits = "0123456789ab";
  facts.dependencies = {{.name = "fmt", .version = "9.1.0"}};
  return facts;
}

// The attestation of member `member` of that federation.
inline base::Bytes AttestationForTest(const AuditFacts& facts, uint64_t member, uint32_t rounds,
                                      const crypto::Digest& model) {
  return protocol::WriteAttestation(
      {.member = member, .round = rounds, .model_digest = model, .state_digest = {}},
      facts.manifests.front().hash, 0, KeyForTest(static_cast<uint8_t>(100 + member)));
}

// That member's abstention from the attempt that was decrypted at `round`.
inline base::Bytes AbstentionForTest(const AuditFacts& facts, uint64_t member, uint32_t round) {
  return protocol::WriteAbstention(
      {.member = member,
       .attempt = {.manifest_hash = facts.manifests.front().hash, .number = {.round = round}}},
      KeyForTest(static_cast<uint8_t>(100 + member)));
}

// The agreement of a live federation whose members make new keys in each epoch.
inline agreement::ManifestSpec LiveAgreement(uint8_t epoch, agreement::ManifestSpec spec) {
  spec.annex = {1};
  spec.federation = {9};
  spec.epoch = {0xe0, epoch};
  for (agreement::MemberIdentity& member : spec.members) member.exchange_key[1] = 1 + epoch;
  return spec;
}

// The same rounds as member 2 of a live federation kept them: it did not see the second round's
// sum.
inline AuditFacts MemberFactsForTest() {
  AuditFacts facts = FactsForTest(LiveAgreement(0, SmallAgreement()));
  const auto second =
      base::ValueOf(agreement::Manifest::Create(LiveAgreement(1, SmallAgreement())));
  facts.manifests.push_back(AuditedManifestOf(second));
  WriteLedgerOf({*agreement::Manifest::Create(LiveAgreement(0, SmallAgreement())), second}, facts);
  facts.kind = RunKind::kMember;
  facts.member = 2;
  facts.result.reset();
  facts.rounds[1].participants = 0;
  facts.rounds[1].sum_not_seen = true;
  facts.rounds[1].model.reset();
  facts.attestations = {AttestationForTest(facts, 2, 1, ModelForTest(1)),
                        AttestationForTest(facts, 2, 3, ModelForTest(3)),
                        AttestationForTest(facts, 7, 3, ModelForTest(3))};
  return facts;
}

// So many sites, all of them in every round: another K and K_min, so another cost of an attempt.
inline agreement::ManifestSpec SitesAgreement(uint8_t epoch, uint64_t sites) {
  agreement::ManifestSpec spec = SmallAgreement();
  spec.sampling.clients = spec.sampling.cohort = spec.sampling.min_participants = sites;
  spec.members.resize(sites);
  return LiveAgreement(epoch, std::move(spec));
}

// Five sites, then four, then five again.
inline std::vector<agreement::Manifest> ChangedManifestsForTest() {
  std::vector<agreement::Manifest> manifests;
  for (const uint64_t sites : {5, 4, 5}) {
    auto manifest = base::ValueOf(
        agreement::Manifest::Create(SitesAgreement(static_cast<uint8_t>(manifests.size()), sites)));
    manifests.push_back(std::move(manifest));
  }
  return manifests;
}

// Member 2's part of a training under these manifests: a charge in each epoch, and one that gave
// no sum.
inline AuditFacts ChangedFactsForTest(
    const std::vector<agreement::Manifest>& manifests = ChangedManifestsForTest()) {
  AuditFacts facts = FactsForTest(manifests[0].spec());
  facts.kind = RunKind::kMember;
  facts.member = 2;
  facts.result.reset();
  facts.agreements = {agreement::AgreementBytes(manifests[1].spec()),
                      agreement::AgreementBytes(manifests[2].spec())};
  facts.manifests.clear();
  for (const agreement::Manifest& manifest : manifests) {
    facts.manifests.push_back(AuditedManifestOf(manifest));
  }
  facts.rounds[0].participants = 5;
  facts.rounds[1].participants = 4;
  facts.rounds[1].attempts[1] = {.epoch = 1, .attempt = 0, .outcome = AttemptOutcome::kDecrypted};
  facts.rounds[2].participants = 5;
  facts.rounds[2].attempts = {{.epoch = 2, .attempt = 0, .outcome = AttemptOutcome::kDecrypted}};
  WriteLedgerOf(manifests, facts);
  facts.attestations = {AttestationForTest(facts, 2, 3, ModelForTest(3))};
  return facts;
}

// `text` with the first `what` replaced; fails the test when there is none.
inline std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

}  // namespace tacet::audit

#endif  // TACET_AUDIT_AUDIT_FOR_TEST_H_
