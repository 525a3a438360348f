#include "tacet/audit/audit_facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "tacet/agreement/epoch_chain.h"
#include "tacet/agreement/manifest_bytes.h"
#include "tacet/base/status.h"
#include "tacet/ledger/attempt_cost.h"

namespace tacet::audit {
namespace {

using agreement::ManifestSpec;
using ledger::LedgerEntry;

// Far above the members of any federation.
constexpr uint64_t kMaxClients = uint64_t{1} << 22;
// Each is planned and priced.
constexpr size_t kMaxAgreements = 256;

constexpr std::array<std::string_view, 5> kLabels = {"insecure-seed", "no-encryption", "no-noise",
                                                     "no-clip", "no-quantisation"};

bool Has(const std::vector<std::string>& labels, std::string_view label) {
  return std::ranges::find(labels, label) != labels.end();
}

std::string Hex(const crypto::Digest& digest) { return base::ToHex(digest).substr(0, 16); }

absl::Status CheckLabels(const AuditFacts& facts, const ManifestSpec& agreed) {
  for (const std::string& label : facts.labels) {
    if (std::ranges::find(kLabels, label) == kLabels.end()) {
      return base::DataLoss("the label \"{}\" is unknown", label);
    }
  }
  const auto check = [&](std::string_view label, bool without) {
    if (Has(facts.labels, label) == without) return absl::OkStatus();
    return base::DataLoss("the agreement is {} {}, but the labels {} \"{}\"",
                          without ? "one" : "not one",
                          label.substr(3) == "noise" ? "without noise" : "without clipping",
                          without ? "lack" : "have", label);
  };
  TACET_RETURN_IF_ERROR(check("no-noise", agreed.mechanism.without_noise));
  return check("no-clip", agreed.mechanism.without_clipping);
}

absl::StatusOr<AuditedAgreement> ReadAgreement(const base::Bytes& bytes) {
  TACET_ASSIGN_OR_RETURN(ManifestSpec agreed, agreement::ReadAgreementBytes(bytes));
  if (!agreed.members.empty()) return base::DataLoss("member keys follow the agreement");
  if (agreed.sampling.clients > kMaxClients) {
    return base::DataLoss("{} clients, expected at most {}", agreed.sampling.clients, kMaxClients);
  }
  AuditedAgreement agreement{.agreed = std::move(agreed), .digest = crypto::Sha256(bytes)};
  agreement.event =
      ledger::AttemptEvent(agreement.agreed, ledger::ChargingRule::kAnnouncedAttempts);
  return agreement;
}

// All of one training: what a later epoch may not change is the same in all of them.
absl::Status ReadAgreements(AuditedRun& run) {
  const size_t count = run.facts.agreements.size();
  if (count == 0 || count > kMaxAgreements) {
    return base::DataLoss("the record has {} agreements, expected 1 to {}", count, kMaxAgreements);
  }
  for (const base::Bytes& bytes : run.facts.agreements) {
    absl::StatusOr<AuditedAgreement> read = ReadAgreement(bytes);
    if (!read.ok()) return base::Annotate(read.status(), "the agreement");
    if (std::ranges::find(run.agreements, read->digest, &AuditedAgreement::digest) !=
        run.agreements.end()) {
      return base::DataLoss("the agreement {} is there twice", Hex(read->digest));
    }
    run.agreements.push_back(*std::move(read));
  }
  const ManifestSpec& last = run.agreed();
  for (const AuditedAgreement& one : run.agreements) {
    if (one.agreed.federation != last.federation || one.agreed.training != last.training) {
      return base::DataLoss("the agreement {} is of another federation or training than {}",
                            Hex(one.digest), Hex(run.agreement_digest()));
    }
    const absl::Status same = agreement::CheckSameTraining(one.agreed, last);
    if (same.ok()) continue;
    return base::DataLoss("the agreements {} and {} are not of one training: {}", Hex(one.digest),
                          Hex(run.agreement_digest()), base::Message(same));
  }
  return absl::OkStatus();
}

// The agreements can be planned, and their bytes are the whole of them. What costs most comes last:
// by then they are the agreements that the ledger was charged for.
absl::Status CheckPlan(AuditedRun& run) {
  for (const AuditedAgreement& one : run.agreements) {
    absl::StatusOr<agreement::Manifest> plan =
        agreement::Manifest::CreateWithoutMembers(one.agreed);
    if (!plan.ok()) return base::Annotate(plan.status(), "it cannot be planned");
    if (plan->agreement() != one.digest) {
      return base::DataLoss("its plan is another one than its bytes say");
    }
    const auto attempts = std::ranges::count_if(run.ledger.entries, [&](const LedgerEntry& entry) {
      return run.AgreementUnder(entry.label.manifest_hash) == &one;
    });
    if (attempts == 0 && !run.ledger.entries.empty())
      return base::DataLoss("nothing was charged under {}", Hex(one.digest));
    run.terms.push_back({.plan = *std::move(plan), .attempts = static_cast<uint64_t>(attempts)});
  }
  return absl::OkStatus();
}

absl::Status CheckResult(const AuditFacts& facts) {
  if (!facts.result.has_value()) return absl::OkStatus();
  const AuditedResult& result = *facts.result;
  if (result.accuracy == RoundedShare(result.accuracy) && result.loss == RoundedLoss(result.loss)) {
    return absl::OkStatus();
  }
  return base::DataLoss(
      "accuracy {} and loss {} are not rounded to three decimals and two significant digits",
      result.accuracy, result.loss);
}

// A live federation's agreement has an annex, a simulation's has none. That of a query has one, but
// no federation's identity in a simulation.
absl::Status CheckKind(const AuditedRun& run) {
  const AuditFacts& facts = run.facts;
  const bool is_member = facts.kind == RunKind::kMember;
  for (const auto& [agreed, digest, event] : run.agreements) {
    const crypto::Digest& telling =
        agreed.model == agreement::kQueryModel ? agreed.federation : agreed.annex;
    if (is_member == (telling != crypto::Digest{})) continue;
    return base::DataLoss("the run is said to be a {}, but its agreement is that of a {}",
                          RunKindName(facts.kind), is_member ? "simulation" : "live federation");
  }
  const uint64_t clients = run.agreed().sampling.clients;
  if (is_member != facts.member.has_value() ||
      facts.member.value_or(0) >= std::max<uint64_t>(clients, 1)) {
    return base::DataLoss(
        "a run of the kind {} cannot be that of member {} of {}", RunKindName(facts.kind),
        facts.member.has_value() ? fmt::format("{}", *facts.member) : "(none)", clients);
  }
  if (facts.processes == 0 || (is_member && facts.processes != 1)) {
    return base::DataLoss("a run of the kind {} cannot have {} processes", RunKindName(facts.kind),
                          facts.processes);
  }
  if (is_member) return absl::OkStatus();
  if (facts.agreements.size() > 1) {
    return base::DataLoss("a simulation has one agreement, the record has {}",
                          facts.agreements.size());
  }
  if (facts.attestations.empty()) return absl::OkStatus();
  return base::DataLoss("a simulation has no members that could attest its models");
}

absl::Status CheckManifest(const AuditedRun& run, const AuditedManifest& manifest) {
  const auto place =
      std::ranges::find(run.agreements, manifest.agreement, &AuditedAgreement::digest);
  if (place == run.agreements.end()) {
    return base::DataLoss("manifest {} is of the agreement {}, which the record does not have",
                          Hex(manifest.hash), Hex(manifest.agreement));
  }
  if (!manifest.members.has_value()) {
    // Whatever agreement it is said to be of, nobody could tell.
    if (run.facts.kind == RunKind::kSimulation) return absl::OkStatus();
    return base::DataLoss("manifest {} is without its members' keys, which a member has",
                          Hex(manifest.hash));
  }
  const uint64_t clients = place->agreed.sampling.clients;
  if (manifest.members->size() != clients) {
    return base::DataLoss("manifest {} has {} members, the agreement {}", Hex(manifest.hash),
                          manifest.members->size(), clients);
  }
  crypto::Sha256Hasher hasher;
  hasher.Update(run.facts.agreements[static_cast<size_t>(place - run.agreements.begin())]);
  hasher.Update(manifest.epoch);
  for (const agreement::MemberIdentity& member : *manifest.members) {
    hasher.Update(member.signing_key);
    hasher.Update(member.exchange_key);
  }
  if (const crypto::Digest hash = hasher.Finish(); hash != manifest.hash) {
    return base::DataLoss("the manifest hash is {} by the record, {} by its bytes",
                          Hex(manifest.hash), Hex(hash));
  }
  return absl::OkStatus();
}

absl::Status CheckManifests(const AuditedRun& run) {
  std::set<crypto::Digest> hashes;
  for (const AuditedManifest& manifest : run.facts.manifests) {
    TACET_RETURN_IF_ERROR(CheckManifest(run, manifest));
    if (hashes.insert(manifest.hash).second) continue;
    return base::DataLoss("manifest {} is there twice", Hex(manifest.hash));
  }
  return absl::OkStatus();
}

absl::Status CheckCharge(const AuditedRun& run, const LedgerEntry& entry) {
  if (entry.federation != run.federation()) {
    return base::DataLoss("is for the federation {}, the record has {}", Hex(entry.federation),
                          Hex(run.federation()));
  }
  const AuditedAgreement* const agreement = run.AgreementUnder(entry.label.manifest_hash);
  if (agreement == nullptr) {
    return base::DataLoss("is for the manifest {}, which the record does not have",
                          Hex(entry.label.manifest_hash));
  }
  if (entry.rule != ledger::ChargingRule::kAnnouncedAttempts) {
    return base::DataLoss("was made by {}, a record holds announced-attempts",
                          ledger::ChargingRuleName(entry.rule));
  }
  const accounting::SamplingEvent& agreed = agreement->event;
  if (!accounting::SameEvent(entry.event, agreed)) {
    return base::DataLoss("is for ({}), by the agreement it is ({})",
                          accounting::EventText(entry.event), accounting::EventText(agreed));
  }
  if (entry.count == 1) return absl::OkStatus();
  return base::DataLoss("counts {} releases, an attempt is one", entry.count);
}

// An epoch has one manifest, and each of a live federation has one epoch: no charge can be moved to
// milder terms by itself.
absl::Status CheckEpochs(const AuditedRun& run) {
  std::map<uint32_t, crypto::Digest> manifests;
  std::map<crypto::Digest, uint32_t> epochs;
  for (const LedgerEntry& entry : run.ledger.entries) {
    const uint32_t epoch = entry.label.number.epoch;
    const crypto::Digest& hash = entry.label.manifest_hash;
    if (const auto& known = manifests.emplace(epoch, hash).first->second; known != hash) {
      return base::DataLoss("epoch {} was charged under the manifests {} and {}", epoch, Hex(known),
                            Hex(hash));
    }
  }
  if (run.facts.kind == RunKind::kSimulation) return absl::OkStatus();
  for (const auto& [epoch, hash] : manifests) {
    const auto [known, is_new] = epochs.emplace(hash, epoch);
    if (is_new) continue;
    return base::DataLoss("manifest {} was charged in the epochs {} and {}", Hex(hash),
                          known->second, epoch);
  }
  return absl::OkStatus();
}

absl::Status CheckLedger(const AuditFacts& facts, AuditedRun& run) {
  TACET_ASSIGN_OR_RETURN(ledger::LedgerHeader named, ledger::ReadLedgerHeader(facts.ledger));
  ledger::LedgerAnchor end = facts.ledger_end;  // the record names no population of its own
  end.population = std::move(named.population);
  TACET_ASSIGN_OR_RETURN(run.ledger,
                         ledger::RecoverLedger(facts.ledger, ledger::WriteLedgerAnchor(end)));
  if (run.ledger.end != end || run.ledger.torn_bytes > 0) {
    return base::DataLoss(
        "it ends with charge {} and {} bytes more, the record's head is that of {}",
        run.ledger.end.count, run.ledger.torn_bytes, facts.ledger_end.count);
  }
  const ledger::LedgerHeader& header = run.ledger.header;
  if (header.unit != run.agreed().privacy.unit ||
      header.neighbouring != run.agreed().privacy.neighbouring ||
      header.spending.delta != run.agreed().privacy.delta) {
    return base::DataLoss(
        "it counts unit {}, {} at delta {}, the agreement unit {}, {} at delta {}",
        accounting::UnitName(header.unit), accounting::NeighbouringName(header.neighbouring),
        header.spending.delta, accounting::UnitName(run.agreed().privacy.unit),
        accounting::NeighbouringName(run.agreed().privacy.neighbouring),
        run.agreed().privacy.delta);
  }
  // It fixes the order at which charges of several events are added.
  if (header.spending.budget_epsilon != run.agreed().privacy.budget_epsilon) {
    return base::DataLoss("its budget is {}, the agreement's is {}", header.spending.budget_epsilon,
                          run.agreed().privacy.budget_epsilon);
  }
  if (run.ledger.entries.empty()) {
    // A member that came after the last round.
    const bool came_late = facts.kind == RunKind::kMember && facts.finished;
    return came_late ? absl::OkStatus() : base::DataLoss("nothing was charged to it");
  }
  for (size_t i = 0; i < run.ledger.entries.size(); ++i) {
    const absl::Status charge = CheckCharge(run, run.ledger.entries[i]);
    if (!charge.ok()) return base::Annotate(charge, fmt::format("charge {}", i + 1));
  }
  const crypto::Digest& last = run.ledger.entries.back().label.manifest_hash;
  if (run.AgreementUnder(last) != &run.agreements.back()) {
    return base::DataLoss("the last charge is not under the last agreement");
  }
  return CheckEpochs(run);
}

// Those of the last attempt's agreement. An attempt that was not charged is found by CheckCharged.
absl::Status CheckParticipants(const AuditedRun& run, const AuditedRound& round) {
  const secagg::AttemptNumber number{.epoch = round.attempts.back().epoch,
                                     .round = round.round,
                                     .attempt = round.attempts.back().attempt};
  const auto charge = std::ranges::find(
      run.ledger.entries, number, [](const LedgerEntry& entry) { return entry.label.number; });
  if (charge == run.ledger.entries.end()) return absl::OkStatus();
  const ManifestSpec& agreed = run.AgreementUnder(charge->label.manifest_hash)->agreed;
  const uint32_t most = agreement::UploadRange(agreed).largest;
  // A server that adds in the clear opens any update that arrived.
  const uint64_t least =
      Has(run.facts.labels, "no-encryption") ? 1 : agreed.sampling.min_participants;
  if (round.participants >= least && round.participants <= most) return absl::OkStatus();
  return base::DataLoss("round {} has {} participants, the agreement allows {} to {}", round.round,
                        round.participants, least, most);
}

absl::Status CheckQuery(const AuditedRun& run) {
  const AuditFacts& facts = run.facts;
  const bool answered = run.agreed().model == agreement::kQueryModel && facts.finished &&
                        run.complete_rounds() == run.agreed().rounds;
  if (answered != facts.query.has_value()) {
    return base::DataLoss("the run answered {} query, but its answers are {}",
                          answered ? "a" : "no", answered ? "missing" : "there");
  }
  if (!answered) return absl::OkStatus();
  const crypto::Digest digest = crypto::Sha256(base::AsBytes(facts.query->agreed));
  if (digest == run.agreed().annex) return absl::OkStatus();
  return base::DataLoss("the query's text has the digest {}, agreed was {}: it was changed",
                        Hex(digest), Hex(run.agreed().annex));
}

// The outcomes within a round: of a complete one the last attempt was decrypted, and no other one.
absl::Status CheckOutcomes(const AuditedRound& round) {
  if (round.attempts.empty()) return base::DataLoss("round {} has no attempt", round.round);
  for (size_t i = 0; i < round.attempts.size(); ++i) {
    const AuditedAttempt& attempt = round.attempts[i];
    const bool last = i + 1 == round.attempts.size();
    const bool decrypted = attempt.outcome == AttemptOutcome::kDecrypted;
    if (decrypted != (last && round.complete())) {
      return base::DataLoss("round {} attempt {} of epoch {} is {}, but the round {}", round.round,
                            attempt.attempt, attempt.epoch, AttemptOutcomeName(attempt.outcome),
                            !round.complete() ? "is not complete"
                            : last            ? "is complete"
                                              : "continued");
    }
    if ((attempt.outcome == AttemptOutcome::kRefused) == attempt.reason.empty()) {
      return base::DataLoss("round {} attempt {} of epoch {} is {} with the reason \"{}\"",
                            round.round, attempt.attempt, attempt.epoch,
                            AttemptOutcomeName(attempt.outcome), attempt.reason);
    }
  }
  return absl::OkStatus();
}

// A member has no attempt in rounds at which it was not there: before it came, or before it came
// back in a later epoch. Within an epoch it catches up with every attempt.
absl::Status CheckAbsence(const AuditedRun& run) {
  if (run.ledger.entries.empty()) return absl::OkStatus();
  int64_t last_epoch = run.agreed().training;
  const AuditedRound* absent = nullptr;
  for (const AuditedRound& round : run.facts.rounds) {
    if (round.attempts.empty()) {
      absent = &round;
      continue;
    }
    if (absent != nullptr && round.attempts.front().epoch <= last_epoch) break;
    absent = nullptr;
    last_epoch = std::max<int64_t>(last_epoch, round.attempts.back().epoch);
  }
  if (absent == nullptr) return absl::OkStatus();
  return base::DataLoss("round {} has no attempt", absent->round);
}

absl::Status CheckSchedule(const AuditedRun& run) {
  const AuditFacts& facts = run.facts;
  for (size_t i = 0; i < facts.rounds.size(); ++i) {
    const AuditedRound& round = facts.rounds[i];
    if (round.round > i) return base::DataLoss("round {} is missing", i);
    if (round.round < i) return base::DataLoss("round {} is there twice", round.round);
    const bool absent =
        facts.kind == RunKind::kMember && round.sum_not_seen && round.attempts.empty();
    if (!absent) TACET_RETURN_IF_ERROR(CheckOutcomes(round));
    if (round.sum_not_seen) {
      if (facts.kind != RunKind::kMember || round.participants > 0) {
        return base::DataLoss("round {} of a {} cannot be one whose sum was not seen", i,
                              RunKindName(facts.kind));
      }
    } else if (round.complete()) {
      TACET_RETURN_IF_ERROR(CheckParticipants(run, round));
    } else if (i + 1 < facts.rounds.size()) {
      return base::DataLoss("round {} is not complete, but round {} followed", i, i + 1);
    }
  }
  TACET_RETURN_IF_ERROR(CheckAbsence(run));
  const uint32_t complete = run.complete_rounds();
  if (complete > run.agreed().rounds) {
    return base::DataLoss("{} rounds, the agreement plans {}", complete, run.agreed().rounds);
  }
  if (facts.finished && facts.stopped.empty() && complete != run.agreed().rounds) {
    return base::DataLoss("the run is said to be finished after {} rounds, the agreement plans {}",
                          complete, run.agreed().rounds);
  }
  return absl::OkStatus();
}

absl::Status CheckModels(const AuditedRun& run) {
  const AuditFacts& facts = run.facts;
  for (const AuditedRound& round : facts.rounds) {
    if (round.complete() && !round.model && !round.sum_not_seen) {
      return base::DataLoss("round {} is complete, but its model is missing", round.round);
    }
    if (!round.complete() && round.model) {
      return base::DataLoss("round {} is not complete, but has a model", round.round);
    }
  }
  if (facts.finished != facts.released_model.has_value()) {
    return base::DataLoss("the run is {}, but {}", facts.finished ? "finished" : "not finished",
                          facts.finished ? "its released model is missing" : "a model is released");
  }
  if (!facts.finished) return absl::OkStatus();
  const uint32_t rounds = run.complete_rounds();
  const AuditedRound* round = run.RoundWithModel(rounds);
  std::optional<crypto::Digest> last;
  if (round != nullptr) last = round->model;
  if (rounds == 0) last = run.agreed().initial_model;
  if (last == facts.released_model) return absl::OkStatus();
  return base::DataLoss("the released model is {}, but {} rounds ended with {}",
                        Hex(*facts.released_model), rounds,
                        last ? Hex(*last) : "one that is missing");
}

absl::StatusOr<protocol::Attestation> ReadAttestation(const AuditFacts& facts,
                                                      const base::Bytes& bytes) {
  TACET_ASSIGN_OR_RETURN(const crypto::Digest hash, protocol::ManifestOfAttestation(bytes));
  const auto manifest = std::ranges::find(facts.manifests, hash, &AuditedManifest::hash);
  if (manifest == facts.manifests.end() || !manifest->members.has_value()) {
    return base::DataLoss("is for the manifest {}, whose members the record does not have",
                          Hex(hash));
  }
  return protocol::ReadAttestation(bytes, hash, *manifest->members);
}

// Whether the member whose part the run is attests: its number may be another one in each manifest.
bool IsOwn(const AuditFacts& facts, const base::Bytes& bytes,
           const protocol::Attestation& statement) {
  const AuditedManifest& last = facts.manifests.back();
  const absl::StatusOr<crypto::Digest> hash = protocol::ManifestOfAttestation(bytes);
  if (!facts.member.has_value() || !last.members.has_value() || !hash.ok()) return false;
  const auto manifest = std::ranges::find(facts.manifests, *hash, &AuditedManifest::hash);
  return *facts.member < last.members->size() &&
         (*manifest->members)[statement.member].signing_key ==
             (*last.members)[*facts.member].signing_key;
}

absl::Status CheckAttestations(AuditedRun& run) {
  const AuditFacts& facts = run.facts;
  bool attested = false;
  for (size_t i = 0; i < facts.attestations.size(); ++i) {
    const std::string which = fmt::format("attestation {}", i + 1);
    const auto statement = ReadAttestation(facts, facts.attestations[i]);
    if (!statement.ok()) {
      return base::DataLoss("{}: {}", which, base::Message(statement.status()));
    }
    if (statement->round > run.complete_rounds()) {
      return base::DataLoss("{}: member {} attests the model after {} rounds, the record has {}",
                            which, statement->member, statement->round, run.complete_rounds());
    }
    const bool is_own = IsOwn(facts, facts.attestations[i], *statement);
    run.attestations.push_back(*statement);
    const std::optional<bool> confirms = run.Confirms(i);
    if (is_own && confirms == false) {
      return base::DataLoss("{}: member {} attests the model {} after {} rounds, the record has {}",
                            which, statement->member, Hex(statement->model_digest),
                            statement->round, Hex(*run.RoundWithModel(statement->round)->model));
    }
    attested = attested || (is_own && statement->round == run.complete_rounds() &&
                            confirms.value_or(statement->round == 0));
  }
  if (facts.kind != RunKind::kMember || !facts.finished) return absl::OkStatus();
  if (attested) return absl::OkStatus();
  return base::DataLoss("member {} does not attest the released model", *facts.member);
}

absl::Status CheckAbstentions(AuditedRun& run) {
  const AuditFacts& facts = run.facts;
  std::set<std::pair<uint32_t, uint64_t>> known;  // round, member
  for (size_t i = 0; i < facts.abstentions.size(); ++i) {
    const std::string which = fmt::format("abstention {}", i + 1);
    const auto hash = protocol::ManifestOfAbstention(facts.abstentions[i]);
    if (!hash.ok()) return base::Annotate(hash.status(), which);
    const auto manifest = std::ranges::find(facts.manifests, *hash, &AuditedManifest::hash);
    if (manifest == facts.manifests.end() || !manifest->members.has_value()) {
      return base::DataLoss("{}: is for the manifest {}, whose members the record does not have",
                            which, Hex(*hash));
    }
    const auto read = protocol::ReadAbstention(facts.abstentions[i], *hash, *manifest->members);
    if (!read.ok()) return base::DataLoss("{}: {}", which, base::Message(read.status()));
    const uint32_t round = read->attempt.number.round;
    if (!known.emplace(round, read->member).second) {
      return base::DataLoss("{}: member {} abstains from round {} twice", which, read->member,
                            round);
    }
    if (round > run.complete_rounds()) {
      return base::DataLoss("{}: member {} abstains from round {}, the record has {} rounds", which,
                            read->member, round, run.complete_rounds());
    }
    run.abstentions.push_back(*read);
  }
  for (const AuditedRound& round : facts.rounds) {
    const auto abstained = std::ranges::count(
        run.abstentions, round.round, [](const auto& one) { return one.attempt.number.round; });
    if (!round.complete() || abstained == 0 || abstained <= round.participants) continue;
    return base::DataLoss("{} members abstain from round {}, which has {} participants", abstained,
                          round.round, round.participants);
  }
  return absl::OkStatus();
}

// Attempts and charges are the same.
absl::Status CheckCharged(const AuditedRun& run) {
  std::set<secagg::AttemptNumber> charged;
  for (const LedgerEntry& entry : run.ledger.entries) {
    const secagg::AttemptNumber& number = entry.label.number;
    if (!charged.insert(number).second) {
      return base::DataLoss("the ledger charges round {} attempt {} of epoch {} twice",
                            number.round, number.attempt, number.epoch);
    }
    if (number.round >= run.facts.rounds.size()) {
      return base::DataLoss("round {} is missing: the ledger was charged for it", number.round);
    }
  }
  uint64_t allowed = 0;
  for (const auto& [agreed, digest, event] : run.agreements) {
    allowed = std::max(allowed, uint64_t{agreed.rounds} + agreed.spare_attempts);
  }
  if (charged.size() > allowed) {
    return base::DataLoss("{} attempts were charged, the agreement allows {}", charged.size(),
                          allowed);
  }
  for (const AuditedRound& round : run.facts.rounds) {
    secagg::AttemptNumber before;
    for (const AuditedAttempt& attempt : round.attempts) {
      const secagg::AttemptNumber number{
          .epoch = attempt.epoch, .round = round.round, .attempt = attempt.attempt};
      if (&attempt != &round.attempts.front() && number <= before) {
        return base::DataLoss("the attempts of round {} are not in order", round.round);
      }
      before = number;
      if (charged.erase(number) == 0) {
        return base::DataLoss("round {} attempt {} of epoch {} is not in the ledger", round.round,
                              attempt.attempt, attempt.epoch);
      }
    }
  }
  if (charged.empty()) return absl::OkStatus();
  const secagg::AttemptNumber& first = *charged.begin();
  return base::DataLoss("the ledger charges round {} attempt {} of epoch {}, the record lacks it",
                        first.round, first.attempt, first.epoch);
}

// Attempts of a round are numbered from 0 under each epoch's keys, and a simulation's processes
// number their epochs from 0: a charge that was cut leaves a gap.
absl::Status CheckNumbering(const AuditedRun& run) {
  std::set<uint32_t> epochs;
  for (const AuditedRound& round : run.facts.rounds) {
    std::map<uint32_t, uint32_t> next;  // attempt, by epoch
    for (const AuditedAttempt& attempt : round.attempts) {
      epochs.insert(attempt.epoch);
      const uint32_t expected = next[attempt.epoch]++;
      if (attempt.attempt == expected) continue;
      return base::DataLoss(
          "round {} attempt {} of epoch {} was charged, attempt {} before it was not", round.round,
          attempt.attempt, attempt.epoch, expected);
    }
  }
  if (run.facts.kind == RunKind::kMember) return absl::OkStatus();
  uint32_t expected = 0;
  for (const uint32_t epoch : epochs) {
    if (epoch != expected) {
      return base::DataLoss("attempts of epoch {} were charged, none of epoch {} before it", epoch,
                            expected);
    }
    ++expected;
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view AttemptOutcomeName(AttemptOutcome outcome) {
  switch (outcome) {
    case AttemptOutcome::kDecrypted:
      return "decrypted";
    case AttemptOutcome::kRefused:
      return "refused";
    case AttemptOutcome::kInterrupted:
      break;
  }
  return "interrupted";
}

absl::StatusOr<AttemptOutcome> ParseAttemptOutcome(std::string_view name) {
  for (const AttemptOutcome outcome :
       {AttemptOutcome::kDecrypted, AttemptOutcome::kRefused, AttemptOutcome::kInterrupted}) {
    if (name == AttemptOutcomeName(outcome)) return outcome;
  }
  return base::DataLoss("expected decrypted, refused or interrupted, found \"{}\"", name);
}

uint32_t AuditedRun::complete_rounds() const {
  return static_cast<uint32_t>(std::ranges::count_if(
      facts.rounds, [](const AuditedRound& round) { return round.complete(); }));
}

std::optional<uint32_t> AuditedRun::Givers(const AuditedRound& round) const {
  if (round.participants == 0) return std::nullopt;
  const auto abstained = std::ranges::count(
      abstentions, round.round, [](const auto& one) { return one.attempt.number.round; });
  return round.participants - static_cast<uint32_t>(abstained);
}

uint32_t AuditedRun::abstained_rounds() const {
  return static_cast<uint32_t>(
      std::ranges::count_if(abstentions, [this](const protocol::Abstention& one) {
        return one.member == facts.member && one.attempt.number.round < complete_rounds();
      }));
}

const crypto::Digest& AuditedRun::federation() const {
  return agreed().federation == crypto::Digest{} ? agreement_digest() : agreed().federation;
}

const AuditedAgreement* AuditedRun::AgreementUnder(const crypto::Digest& manifest_hash) const {
  const auto manifest = std::ranges::find(facts.manifests, manifest_hash, &AuditedManifest::hash);
  if (manifest == facts.manifests.end()) return nullptr;
  const auto found = std::ranges::find(agreements, manifest->agreement, &AuditedAgreement::digest);
  return found == agreements.end() ? nullptr : &*found;
}

uint32_t AuditedRun::first_round() const {
  const auto first = std::ranges::find_if(
      facts.rounds, [](const AuditedRound& round) { return !round.attempts.empty(); });
  return static_cast<uint32_t>(first - facts.rounds.begin());
}

const AuditedRound* AuditedRun::RoundWithModel(uint32_t rounds) const {
  if (rounds == 0 || rounds > facts.rounds.size()) return nullptr;
  const AuditedRound& round = facts.rounds[rounds - 1];
  return round.model.has_value() ? &round : nullptr;
}

std::optional<bool> AuditedRun::Confirms(size_t attestation) const {
  const protocol::Attestation& statement = attestations[attestation];
  const AuditedRound* const round = RoundWithModel(statement.round);
  const auto manifest = protocol::ManifestOfAttestation(facts.attestations[attestation]);
  if (round == nullptr || !manifest.ok()) return std::nullopt;
  const bool is_under_its_key = std::ranges::any_of(ledger.entries, [&](const LedgerEntry& entry) {
    return entry.label.manifest_hash == *manifest && entry.label.number.epoch == round->model_epoch;
  });
  // Without a charge the record has one manifest, under which the member took the model over.
  if (!is_under_its_key && !ledger.entries.empty()) return std::nullopt;
  return *round->model == statement.model_digest;
}

double RoundedShare(double share) { return std::round(share * 1000) / 1000; }

double RoundedLoss(double loss) {
  if (!std::isfinite(loss) || loss == 0) return loss;
  // Through text: the nearest double to the decimal fraction, whatever the digit's place.
  return std::strtod(fmt::format("{:.1e}", loss).c_str(), nullptr);
}

std::string_view RunKindName(RunKind kind) {
  return kind == RunKind::kMember ? "member" : "simulation";
}

absl::StatusOr<RunKind> ParseRunKind(std::string_view name) {
  for (const RunKind kind : {RunKind::kSimulation, RunKind::kMember}) {
    if (name == RunKindName(kind)) return kind;
  }
  return base::DataLoss("expected simulation or member, found \"{}\"", name);
}

absl::StatusOr<AuditedRun> CheckFacts(AuditFacts facts) {
  AuditedRun run;
  run.facts = std::move(facts);
  TACET_RETURN_IF_ERROR(ReadAgreements(run));
  for (const auto& [agreed, digest, event] : run.agreements) {
    TACET_RETURN_IF_ERROR(CheckLabels(run.facts, agreed));
  }
  TACET_RETURN_IF_ERROR(CheckResult(run.facts));
  TACET_RETURN_IF_ERROR(CheckKind(run));
  TACET_RETURN_IF_ERROR(CheckManifests(run));
  TACET_RETURN_IF_ERROR(base::Annotate(CheckLedger(run.facts, run), "the ledger"));
  TACET_RETURN_IF_ERROR(CheckSchedule(run));
  TACET_RETURN_IF_ERROR(CheckCharged(run));
  TACET_RETURN_IF_ERROR(CheckNumbering(run));
  TACET_RETURN_IF_ERROR(CheckModels(run));
  TACET_RETURN_IF_ERROR(CheckQuery(run));
  TACET_RETURN_IF_ERROR(CheckAttestations(run));
  TACET_RETURN_IF_ERROR(CheckAbstentions(run));
  TACET_RETURN_IF_ERROR(base::Annotate(CheckPlan(run), "the agreement"));
  return run;
}

}  // namespace tacet::audit
