#include "tacet/host/server_status.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tacet/agreement/manifest_text.h"
#include "tacet/base/bytes.h"
#include "tacet/base/process_cost.h"
#include "tacet/host/attendance_report.h"

namespace tacet::host {

using base::JsonValue;
using protocol::AttemptPhase;
using tacet::server::AttemptRecord;

namespace {

constexpr size_t kMaxListed = 500;  // attempts, the last ones

JsonValue AttemptJson(const AttemptRecord& record) {
  return JsonValue::MakeObject()
      .Set("epoch", record.attempt.number.epoch)
      .Set("round", record.attempt.number.round)
      .Set("attempt", record.attempt.number.attempt)
      .Set("phase", protocol::AttemptPhaseName(record.phase))
      .Set("begun", record.begun)
      .Set("participants", record.participants)
      .Set("failure", record.failure);
}

JsonValue AttemptsJson(const std::vector<AttemptRecord>& attempts) {
  JsonValue list = JsonValue::MakeArray();
  for (size_t i = attempts.size() - std::min(attempts.size(), kMaxListed); i < attempts.size();
       ++i) {
    list.Append(AttemptJson(attempts[i]));
  }
  return list;
}

JsonValue FailuresJson(const std::vector<AttemptRecord>& attempts) {
  std::map<std::string, uint64_t> counts;
  for (const AttemptRecord& record : attempts) {
    if (record.phase == AttemptPhase::kFailed) ++counts[record.failure];
  }
  JsonValue failures = JsonValue::MakeObject();
  for (const auto& [reason, count] : counts) failures.Set(reason, count);
  return failures;
}

JsonValue CurrentJson(const tacet::server::ServerStatus& status) {
  if (!status.last.has_value()) return {};
  return AttemptJson(*status.last)
      .Set("deadline", status.last->deadline)
      .Set("invited", status.invited)
      .Set("accepted", status.accepted)
      .Set("votes", status.votes)
      .Set("unmask_shares", status.unmask_shares)
      .Set("extensions", status.extensions);
}

// At most kMostNamed names each, and how many there are.
JsonValue MailJson(const ServerParts& parts) {
  const tacet::server::MailStatus mail = parts.mailbox.Status();
  const auto name = [&parts](uint64_t member) { return parts.manifest.members()[member].name; };
  JsonValue letters = JsonValue::MakeArray(), without = JsonValue::MakeArray();
  for (size_t i = 0; i < std::min(mail.letters.size(), kMostNamed); ++i) {
    letters.Append(JsonValue::MakeObject()
                       .Set("name", name(mail.letters[i].member))
                       .Set("since", mail.letters[i].since));
  }
  for (size_t i = 0; i < std::min(mail.without_prekey.size(), kMostNamed); ++i) {
    without.Append(name(mail.without_prekey[i]));
  }
  return JsonValue::MakeObject()
      .Set("letters", std::move(letters))
      .Set("letters_in_all", mail.letters.size())
      .Set("without_prekey", std::move(without))
      .Set("without_prekey_in_all", mail.without_prekey.size());
}

JsonValue RequestsJson(const ServerMetrics& metrics) {
  JsonValue list = JsonValue::MakeArray();
  for (const CountedRequests& requests : metrics.requests()) {
    list.Append(JsonValue::MakeObject()
                    .Set("kind", requests.kind)
                    .Set("status", requests.status)
                    .Set("count", requests.count));
  }
  return list;
}

}  // namespace

std::vector<Problem> ServerProblems(const ServerParts& parts) {
  std::vector<Problem> own = parts.readiness.Problems();
  if (std::optional<Problem> store = parts.store.Now()) own.push_back(*std::move(store));
  const tacet::server::ServerStatus status = parts.rounds.Status();
  const tacet::server::MailStatus mail = parts.mailbox.Status();
  const uint64_t now = parts.clock();
  return FindProblems({.manifest = parts.manifest,
                       .status = status,
                       .mail = mail,
                       .own = std::move(own),
                       .certificate_end = parts.metrics.certificate_end(),
                       .now = now,
                       .unsettled = parts.readiness.IsUnsettled(now)});
}

JsonValue ServerStatusJson(const ServerParts& parts) {
  const tacet::server::ServerStatus status = parts.rounds.Status();
  const std::vector<AttemptRecord> attempts = parts.rounds.Attempts();
  JsonValue problems = JsonValue::MakeArray();
  for (const Problem& problem : ServerProblems(parts)) {
    problems.Append(ProblemJson(problem, parts.manifest));
  }
  JsonValue events = JsonValue::MakeArray();
  for (JsonValue& event : parts.log.Recent()) events.Append(std::move(event));
  return JsonValue::MakeObject()
      .Set("format", 4)
      .Set("version", parts.version)
      .Set("now", parts.clock())
      .Set("started_at", parts.started_at)
      .Set("problems", std::move(problems))
      .Set("attendance", AttendanceJson(status, parts.manifest))
      .Set("mail", MailJson(parts))
      .Set("operators", parts.desk.Json())
      .Set("draining", status.draining)
      .Set("stopped", status.stopped)
      .Set("current", CurrentJson(status))
      .Set("finished", status.finished)
      .Set("attempts", status.attempts)
      .Set("failed", status.failed)
      .Set("failures", FailuresJson(attempts))
      .Set("listed", AttemptsJson(attempts))
      .Set("received_bytes", parts.metrics.bytes_received())
      .Set("sent_bytes", parts.metrics.bytes_sent())
      .Set("store_errors", parts.metrics.store_errors())
      .Set("memory_bytes", base::OwnCost().memory)
      .Set("certificate_end", parts.metrics.certificate_end())
      .Set("requests", RequestsJson(parts.metrics))
      .Set("spent", parts.guarantees.Spent(status.attempts))
      .Set("events", std::move(events));
}

JsonValue ServerAgreementJson(const ServerParts& parts) {
  const agreement::ManifestSpec& agreed = parts.manifest.manifest().spec();
  JsonValue whole = parts.guarantees.Whole();
  JsonValue privacy;
  if (const JsonValue* rows = whole.Find("privacy"); rows != nullptr) privacy = *rows;
  return JsonValue::MakeObject()
      .Set("format", 2)
      .Set("attempt_budget", parts.manifest.manifest().attempt_budget())
      .Set("unit", accounting::UnitName(agreed.privacy.unit))
      .Set("sampling", accounting::SamplingName(*agreed.sampling.method))
      .Set("words", agreement::MembershipText(parts.manifest))
      .Set("manifest", agreement::SignedManifestJson(parts.manifest, std::move(privacy)))
      .Set("whole", std::move(whole));
}

}  // namespace tacet::host
