#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tacet/audit/audit_record.h"
#include "tacet/base/json_members.h"
#include "tacet/base/status.h"

namespace tacet::audit {
namespace {

using base::JsonMembers;
using base::JsonValue;

absl::Status ReadRun(const JsonValue& value, AuditFacts& facts) {
  JsonMembers run(value);
  std::string kind;
  run.Need("kind", kind);
  run.Need("processes", facts.processes);
  run.Take("member", facts.member);
  run.Take("released_model", facts.released_model);
  TACET_RETURN_IF_ERROR(run.status());
  TACET_ASSIGN_OR_RETURN(facts.kind, ParseRunKind(kind));
  run.Need("finished", facts.finished);
  run.Take("stopped", facts.stopped);
  for (const JsonValue& label : run.Child("labels").items()) {
    TACET_ASSIGN_OR_RETURN(facts.labels.emplace_back(), label.AsString());
  }
  const JsonValue& found = run.Child("result");
  if (!found.is_null()) {
    JsonMembers result(found);
    facts.result.emplace();
    result.Need("accuracy", facts.result->accuracy);
    result.Need("loss", facts.result->loss);
    result.Need("held_out_samples", facts.result->samples);
    TACET_RETURN_IF_ERROR(base::Annotate(result.status(), "result"));
  }
  return run.status();
}

absl::Status ReadQuery(const JsonValue& value, AuditFacts& facts) {
  if (value.is_null()) return absl::OkStatus();
  JsonMembers query(value);
  facts.query.emplace();
  query.Need("agreed", facts.query->agreed);
  query.Need("digest", facts.query->text);
  facts.query->answers = query.Child("answers");
  TACET_RETURN_IF_ERROR(query.status());
  if (facts.query->answers.is_object()) return absl::OkStatus();
  return base::DataLoss("`answers` is no object");
}

absl::StatusOr<AuditedAttempt> AttemptOf(const JsonValue& value) {
  AuditedAttempt attempt;
  std::string outcome;
  JsonMembers members(value);
  members.Need("epoch", attempt.epoch);
  members.Need("attempt", attempt.attempt);
  members.Need("outcome", outcome);
  members.Take("cause", attempt.reason);
  TACET_RETURN_IF_ERROR(members.status());
  TACET_ASSIGN_OR_RETURN(attempt.outcome, ParseAttemptOutcome(outcome));
  return attempt;
}

absl::Status ReadRounds(const JsonValue& value, AuditFacts& facts) {
  for (const JsonValue& item : value.items()) {
    AuditedRound& round = facts.rounds.emplace_back();
    const std::string where = fmt::format("element {}", facts.rounds.size() - 1);
    JsonMembers members(item);
    members.Need("round", round.round);
    std::optional<uint32_t> participants;
    members.Take("participants", participants);
    members.Take("model", round.model);
    if (round.model.has_value()) members.Need("model_epoch", round.model_epoch);
    TACET_RETURN_IF_ERROR(base::Annotate(members.status(), where));
    round.sum_not_seen = !participants.has_value();
    round.participants = participants.value_or(0);
    for (const JsonValue& attempt : members.Child("attempts").items()) {
      absl::StatusOr<AuditedAttempt> read = AttemptOf(attempt);
      if (!read.ok()) return base::Annotate(read.status(), where);
      round.attempts.push_back(*std::move(read));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadStatements(const JsonValue& value, std::vector<base::Bytes>& statements) {
  for (const JsonValue& item : value.items()) {
    JsonMembers members(item);
    members.Need("bytes", statements.emplace_back());
    TACET_RETURN_IF_ERROR(members.status());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<agreement::MemberIdentity>> SplitKeys(std::span<const uint8_t> bytes) {
  constexpr size_t kKeyBytes = sizeof(crypto::PublicKey) + sizeof(crypto::ExchangePublicKey);
  if (bytes.size() % kKeyBytes != 0) {
    return base::DataLoss("{} bytes of member keys, expected {} each", bytes.size(), kKeyBytes);
  }
  std::vector<agreement::MemberIdentity> members(bytes.size() / kKeyBytes);
  for (size_t i = 0; i < members.size(); ++i) {
    const std::span<const uint8_t> keys = bytes.subspan(i * kKeyBytes, kKeyBytes);
    std::ranges::copy(keys.first(sizeof(crypto::PublicKey)), members[i].signing_key.begin());
    std::ranges::copy(keys.subspan(sizeof(crypto::PublicKey)), members[i].exchange_key.begin());
  }
  return members;
}

absl::Status ReadAgreement(const JsonValue& value, AuditFacts& facts) {
  JsonMembers agreement(value);
  for (const JsonValue& item : agreement.Child("earlier").items()) {
    JsonMembers earlier(item);
    earlier.Need("bytes", facts.agreements.emplace_back());
    TACET_RETURN_IF_ERROR(base::Annotate(earlier.status(), "earlier"));
  }
  agreement.Need("bytes", facts.agreements.emplace_back());
  TACET_RETURN_IF_ERROR(agreement.status());
  for (const JsonValue& item : agreement.Child("manifests").items()) {
    AuditedManifest& manifest = facts.manifests.emplace_back();
    std::optional<base::Bytes> keys;
    JsonMembers members(item);
    members.Need("hash", manifest.hash);
    members.Need("epoch", manifest.epoch);
    members.Need("agreement", manifest.agreement);
    members.Take("member_keys", keys);
    TACET_RETURN_IF_ERROR(base::Annotate(members.status(), "manifests"));
    if (!keys.has_value()) continue;
    TACET_ASSIGN_OR_RETURN(manifest.members, SplitKeys(*keys));
  }
  return absl::OkStatus();
}

absl::Status ReadLedger(const JsonValue& value, AuditFacts& facts) {
  JsonMembers ledger(value);
  ledger.Need("genesis", facts.ledger_end.genesis);
  ledger.Need("charges", facts.ledger_end.count);
  ledger.Need("head", facts.ledger_end.head);
  ledger.Need("bytes", facts.ledger);
  return ledger.status();
}

absl::Status ReadSoftware(const JsonValue& value, AuditFacts& facts) {
  JsonMembers software(value);
  software.Need("version", facts.version);
  software.Need("commit", facts.program_commit);
  software.Need("training_commits", facts.training_commits);
  for (const JsonValue& item : software.Child("dependencies").items()) {
    Dependency& dependency = facts.dependencies.emplace_back();
    JsonMembers members(item);
    members.Need("name", dependency.name);
    members.Need("version", dependency.version);
    TACET_RETURN_IF_ERROR(base::Annotate(members.status(), "dependencies"));
  }
  return software.status();
}

}  // namespace

absl::StatusOr<AuditFacts> FactsOfRecord(const JsonValue& record) {
  AuditFacts facts;
  std::string format;
  uint64_t version = 0;
  JsonMembers members(record);
  members.Need("format", format);
  members.Need("version", version);
  TACET_RETURN_IF_ERROR(members.status());
  if (format != kAuditFormat || version != kAuditVersion) {
    return base::InvalidArgument("the record has format \"{}\" version {}, expected \"{}\" {}",
                                 format, version, kAuditFormat, kAuditVersion);
  }
  members.Need("created", facts.created);
  members.Need("signer", facts.signer);
  members.Take("audit_key", facts.audit_key);
  TACET_RETURN_IF_ERROR(members.status());
  TACET_RETURN_IF_ERROR(base::Annotate(ReadRun(members.Child("run"), facts), "run"));
  TACET_RETURN_IF_ERROR(base::Annotate(ReadQuery(members.Child("query"), facts), "query"));
  TACET_RETURN_IF_ERROR(base::Annotate(ReadRounds(members.Child("rounds"), facts), "rounds"));
  for (const auto& [name, statements] : {std::pair("attestations", &facts.attestations),
                                         std::pair("abstentions", &facts.abstentions)}) {
    TACET_RETURN_IF_ERROR(base::Annotate(ReadStatements(members.Child(name), *statements), name));
  }
  TACET_RETURN_IF_ERROR(
      base::Annotate(ReadAgreement(members.Child("agreement"), facts), "agreement"));
  TACET_RETURN_IF_ERROR(base::Annotate(ReadLedger(members.Child("ledger"), facts), "ledger"));
  TACET_RETURN_IF_ERROR(base::Annotate(ReadSoftware(members.Child("software"), facts), "software"));
  return facts;
}

}  // namespace tacet::audit
