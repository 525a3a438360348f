// Facts of a run that an audit needs. Every figure of a record is computed from them, when the
// record is made and again when it is verified.
#ifndef TACET_AUDIT_AUDIT_FACTS_H_
#define TACET_AUDIT_AUDIT_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"
#include "tacet/agreement/charged_terms.h"
#include "tacet/agreement/manifest.h"
#include "tacet/audit/software.h"
#include "tacet/base/bytes.h"
#include "tacet/base/json.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/signing.h"
#include "tacet/ledger/ledger_anchor.h"
#include "tacet/ledger/ledger_recovery.h"
#include "tacet/protocol/abstention.h"
#include "tacet/protocol/attestation.h"

namespace tacet::audit {

// Outcome of a charged attempt:
//   decrypted    its sum is in the model,
//   refused      it gave no sum; the reason is a word of federation::RefusalName,
//   interrupted  its process ended before the attempt did, or before what came of it was kept.
enum class AttemptOutcome { kDecrypted, kRefused, kInterrupted };
std::string_view AttemptOutcomeName(AttemptOutcome outcome);
absl::StatusOr<AttemptOutcome> ParseAttemptOutcome(std::string_view name);

struct AuditedAttempt {
  uint32_t epoch = 0;
  uint32_t attempt = 0;
  AttemptOutcome outcome = AttemptOutcome::kInterrupted;
  std::string reason = {};  // of a refused one
};

struct AuditedRound {
  uint32_t round = 0;
  // K' of the decrypted sum; 0: the round is not complete, or its sum was not seen.
  uint32_t participants = 0;
  // Complete, but this site took the state after it, or after a later round, from others.
  bool sum_not_seen = false;
  // DigestKey::OfModel of all parameters after the round, under the key of `model_epoch`, which is
  // 0 in a simulation; of a complete round always there, unless its sum was not seen.
  std::optional<crypto::Digest> model = {};
  uint32_t model_epoch = 0;
  std::vector<AuditedAttempt> attempts = {};  // increasing by epoch and attempt

  bool complete() const { return participants > 0 || sum_not_seen; }
};

// The kind of a run:
//   simulation  processes of one user played every member,
//   member      the part of one member of a live federation.
enum class RunKind { kSimulation, kMember };
std::string_view RunKindName(RunKind kind);
absl::StatusOr<RunKind> ParseRunKind(std::string_view name);

// An agreement with the members' keys of one process, or of one epoch of a live federation.
struct AuditedManifest {
  crypto::Digest hash{};
  crypto::Digest epoch{};      // ManifestSpec::epoch; zeros in a simulation
  crypto::Digest agreement{};  // digest of one of the record's agreements
  // By number; absent when a simulation did not keep them: then nobody can recompute the hash.
  std::optional<std::vector<agreement::MemberIdentity>> members = {};
};

// On members' held-out data, outside of epsilon: told rounded, and only where it was published.
struct AuditedResult {
  double accuracy = 0;   // as RoundedShare gives it
  double loss = 0;       // as RoundedLoss gives it
  uint64_t samples = 0;  // held-out
};

// To three decimals; to two significant digits.
double RoundedShare(double share);
double RoundedLoss(double loss);

// A query and its answers.
struct AuditedQuery {
  std::string agreed;         // the text whose digest is the agreement's annex; it holds the query
  crypto::Digest text{};      // SHA-256 of the query file in it
  base::JsonValue answers{};  // as answers.json has them (docs/formats/query.md)
};

struct AuditFacts {
  uint64_t created = 0;  // Unix seconds, of the audit
  RunKind kind = RunKind::kSimulation;
  uint64_t processes = 1;               // of a simulation: its ranks
  std::optional<uint64_t> member = {};  // whose part it is, by number; absent for a simulation
  // The signing key. The run's own key unless another one was given.
  crypto::PublicKey signer{};
  std::optional<crypto::PublicKey> audit_key = {};  // the run's own, if it has one
  std::vector<std::string> labels = {};             // why the run is less than private
  bool finished = false;
  std::string stopped = {};  // why it ended before its last round; empty: it did not
  std::optional<AuditedResult> result = {};  // the last evaluation
  std::optional<AuditedQuery> query = {};    // of a query that was answered
  // For the finished model: `model` of the last round, or the agreement's initial model.
  std::optional<crypto::Digest> released_model = {};
  // For a member: signed statements about the models of its rounds (protocol/attestation.h),
  // its own and those of others that it has.
  std::vector<base::Bytes> attestations = {};
  // For a member: signed statements of participants that their uploads held none of their data
  // (protocol/abstention.h), of complete rounds and of the attempt that ended a training early.
  std::vector<base::Bytes> abstentions = {};
  // Canonical bytes without members, of every agreement under which attempts were charged; the one
  // of the last charge is the last. More than one where members or terms of a live federation
  // changed while its training continued.
  std::vector<base::Bytes> agreements = {};
  std::vector<AuditedManifest> manifests = {};  // of all processes, in the order of their charges
  std::vector<AuditedRound> rounds = {};        // 0, 1, ...; the last one may be incomplete
  base::Bytes ledger = {};                      // header and records
  ledger::LedgerAnchor ledger_end = {};
  std::string version = {};           // of the program that audits
  std::string program_commit = {};    // likewise
  std::string training_commits = {};  // of those that worked on the run
  std::vector<Dependency> dependencies = {};
};

// An agreement as its bytes say, without members.
struct AuditedAgreement {
  agreement::ManifestSpec agreed;
  crypto::Digest digest{};
  accounting::SamplingEvent event = {};  // of one attempt
};

// Facts that agree with each other.
struct AuditedRun {
  AuditFacts facts;
  std::vector<AuditedAgreement> agreements = {};  // in the order of the facts
  ledger::RecoveredLedger ledger;
  // The agreements, planned again, in the same order, with the attempts charged under each.
  // CheckFacts always sets them.
  std::vector<agreement::ChargedTerms> terms = {};
  std::vector<protocol::Attestation> attestations = {};  // as read, in the order of the facts
  std::vector<protocol::Abstention> abstentions = {};    // likewise

  // For the last charge.
  const agreement::ManifestSpec& agreed() const { return agreements.back().agreed; }
  const crypto::Digest& agreement_digest() const { return agreements.back().digest; }
  // The one that a manifest of the record is of; null when there is none.
  const AuditedAgreement* AgreementUnder(const crypto::Digest& manifest_hash) const;
  // The first round that was charged: a member that came later has earlier rounds without attempts.
  uint32_t first_round() const;
  // The federation whose attempts were charged: as agreement::Manifest::federation().
  const crypto::Digest& federation() const;
  uint64_t charges() const { return ledger.entries.size(); }
  // All attempts that are permitted: what is guaranteed follows from them.
  std::vector<agreement::ChargedTerms> permitted() const {
    return agreement::PermittedTerms(terms);
  }
  uint32_t complete_rounds() const;
  // The round that ended with the model after so many rounds, as far as the facts have its digest.
  const AuditedRound* RoundWithModel(uint32_t rounds) const;
  // Whether an attestation is about the record's model. Nothing where that cannot be compared: the
  // record has no digest of that model, or one under the key of another epoch.
  std::optional<bool> Confirms(size_t attestation) const;
  // Participants of a complete round that did not abstain; nothing where its sum was not seen.
  std::optional<uint32_t> Givers(const AuditedRound& round) const;
  // Complete rounds in which the member whose part it is abstained.
  uint32_t abstained_rounds() const;
  // False when the labels leave no guarantee to any observer.
  bool has_guarantee() const { return facts.labels.empty(); }
};

// DataLoss names the first thing that does not fit: an agreement that cannot be planned, one under
// which nothing was charged, one that cannot be of the same training as another, a manifest
// whose hash is another, a ledger that does not end where it should or was charged for another
// manifest, noise or rate than the attempt's agreement says, or for nothing, a round that is
// missing, an attempt that was not charged, a charge without an attempt, a gap in the numbers of
// attempts or epochs, more or fewer participants than the agreement allows, an unknown label; a
// result that is not rounded; a kind that the agreement contradicts, a complete round without a
// model, a released model that is not that of the last round, an attestation that is not signed, is
// about rounds that the facts lack, or, of the member itself, about another model; an abstention
// that is not signed, is there twice, or is from a round that the facts lack; a query's text
// that is not the agreement's annex, answers to no query, or a query without them. Whether the
// answers follow from text and released model is for a reader of query files to check.
absl::StatusOr<AuditedRun> CheckFacts(AuditFacts facts);

}  // namespace tacet::audit

#endif  // TACET_AUDIT_AUDIT_FACTS_H_
