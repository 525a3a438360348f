#include "tacet/host/server_watch.h"

#include <algorithm>
#include <utility>

#include "tacet/base/json.h"
#include "tacet/host/attendance_report.h"

namespace tacet::host {

using base::JsonValue;
using protocol::AttemptPhase;
using tacet::server::AttemptRecord;

namespace {

JsonValue Naming(const AttemptRecord& record) {
  return JsonValue::MakeObject()
      .Set("epoch", record.attempt.number.epoch)
      .Set("round", record.attempt.number.round)
      .Set("attempt", record.attempt.number.attempt);
}

bool HasEnded(const AttemptRecord& record) {
  return record.phase == AttemptPhase::kPublished || record.phase == AttemptPhase::kFailed;
}

}  // namespace

void ServerWatch::Look(const tacet::server::RoundServer& server) {
  Note(server.Status(), server.Attempts());
}

void ServerWatch::Note(const tacet::server::ServerStatus& status,
                       const std::vector<AttemptRecord>& attempts) {
  const base::MutexLock lock(mutex_);
  metrics_.SetStatus(status);
  metrics_.SetAttendance(status, manifest_);
  const bool current = status.last.has_value() && !attempts.empty() &&
                       status.last->attempt == attempts.back().attempt;
  if (!std::exchange(looked_, true)) {
    Remember(attempts, current ? status.accepted : 0);
    LogFound(attempts);
  }
  if (last_.number > 0 && last_.number <= attempts.size() &&
      attempts[last_.number - 1].phase != last_.phase) {
    NotePhase(attempts[last_.number - 1]);
  }
  for (; last_.number < attempts.size(); ++last_.number) {
    const AttemptRecord& record = attempts[last_.number];
    NoteBegun(record, status.invited);
    if (record.phase != last_.phase) NotePhase(record);
  }
  if (current && status.last->phase == AttemptPhase::kCollecting) NoteAccepted(status.accepted);
  if (current && !HasEnded(*status.last)) NoteDeadline(status);
  NoteLeftOut(status);
  NoteWaiting(status);
  NoteStopped(status);
}

void ServerWatch::Remember(const std::vector<AttemptRecord>& attempts, uint32_t accepted) {
  for (const AttemptRecord& record : attempts) {
    if (HasEnded(record)) metrics_.CountEnded(record.failure);
  }
  last_.number = attempts.size();
  if (!attempts.empty()) {
    last_.phase = attempts.back().phase;
    last_.deadline = attempts.back().deadline;
  }
  last_.accepted = accepted;
}

// At most one attempt begins between two looks, so the process before logged all that came earlier
// than these two.
void ServerWatch::LogFound(std::span<const AttemptRecord> attempts) {
  for (const AttemptRecord& record : attempts.last(std::min<size_t>(attempts.size(), 2))) {
    JsonValue fields = Naming(record)
                           .Set("phase", protocol::AttemptPhaseName(record.phase))
                           .Set("deadline", record.deadline)
                           .Set("participants", record.participants);
    if (!record.failure.empty()) fields.Set("reason", record.failure);
    log_.Write(LogLevel::kInfo, "attempt-found", std::move(fields));
  }
}

void ServerWatch::NoteBegun(const AttemptRecord& record, uint32_t invited) {
  JsonValue fields = Naming(record).Set("deadline", record.deadline);
  if (invited > 0) fields.Set("invited", invited);
  log_.Write(LogLevel::kInfo, "attempt-begun", std::move(fields));
  last_.phase = AttemptPhase::kCollecting;
  last_.deadline = record.deadline;
  last_.phase_began = clock_();
  last_.accepted = 0;
}

void ServerWatch::NotePhase(const AttemptRecord& record) {
  const auto now = clock_();
  if (last_.phase_began.has_value()) {
    metrics_.ObservePhase(last_.phase,
                          std::chrono::duration<double>(now - *last_.phase_began).count());
  }
  last_.phase_began = now;
  last_.phase = record.phase;
  last_.deadline = record.deadline;
  NoteAccepted(record.participants);
  JsonValue fields = Naming(record).Set("participants", record.participants);
  if (HasEnded(record)) metrics_.CountEnded(record.failure);
  switch (record.phase) {
    case AttemptPhase::kCollecting:
      break;  // where every attempt begins
    case AttemptPhase::kUnmasking:
      log_.Write(LogLevel::kInfo, "attempt-closed", fields.Set("deadline", record.deadline));
      break;
    case AttemptPhase::kPublished:
      log_.Write(LogLevel::kInfo, "attempt-published", std::move(fields));
      break;
    case AttemptPhase::kFailed:
      log_.Write(LogLevel::kWarning, "attempt-failed", fields.Set("reason", record.failure));
      break;
  }
}

void ServerWatch::NoteDeadline(const tacet::server::ServerStatus& status) {
  if (std::exchange(last_.deadline, status.last->deadline) >= status.last->deadline) return;
  JsonValue fields = Naming(*status.last).Set("deadline", status.last->deadline);
  if (status.last->phase == AttemptPhase::kCollecting) {
    fields.Set("accepted", status.accepted);
  } else {
    fields.Set("votes", status.votes).Set("unmask_shares", status.unmask_shares);
  }
  log_.Write(LogLevel::kWarning, "attempt-extended",
             std::move(fields.Set("away", AwayJson(status, manifest_))));
}

void ServerWatch::NoteLeftOut(const tacet::server::ServerStatus& status) {
  const std::vector<uint64_t> before = std::exchange(left_out_, status.left_out);
  JsonValue names = JsonValue::MakeArray();
  bool is_new = false;
  for (const uint64_t member : left_out_) {
    if (std::ranges::find(before, member) != before.end()) continue;
    names.Append(manifest_.members()[member].name);
    is_new = true;
  }
  if (!is_new) return;
  log_.Write(LogLevel::kWarning, "participants-left-out",
             JsonValue::MakeObject().Set("names", std::move(names)));
}

// An attempt that begins within seconds is not logged.
void ServerWatch::NoteWaiting(const tacet::server::ServerStatus& status) {
  const bool enough = status.gathering.has_value() && status.gathering->enough();
  if (!status.waiting || enough || status.awaited.empty()) {
    if (wait_.logged.has_value()) log_.Write(LogLevel::kInfo, "members-are-back");
    wait_.since.reset();
    wait_.logged.reset();
    return;
  }
  const auto now = clock_();
  if (!wait_.since.has_value()) wait_.since = now;
  if (now - *wait_.since < kBeforeWaitingIsLogged) return;
  std::vector<uint64_t> away;
  for (const tacet::server::Absence& absence : status.awaited) away.push_back(absence.member);
  if (wait_.logged.has_value() &&
      (away == wait_.away_logged || now - *wait_.logged < kBetweenWaitingLines)) {
    return;
  }
  wait_.logged = now;
  wait_.away_logged = std::move(away);
  JsonValue fields = JsonValue::MakeObject().Set("here", status.here);
  if (status.gathering.has_value()) {
    fields.Set("needed", status.gathering->needed)
        .Set("seats_here", status.gathering->seats_here)
        .Set("seats_needed", status.gathering->seats_needed);
  }
  log_.Write(LogLevel::kWarning, "waiting-for-members",
             fields.Set("away", AwayJson(status, manifest_)));
}

void ServerWatch::NoteAccepted(uint64_t accepted) {
  if (accepted <= last_.accepted) return;
  metrics_.CountAccepted(accepted - last_.accepted);
  last_.accepted = accepted;
}

void ServerWatch::NoteStopped(const tacet::server::ServerStatus& status) {
  if (status.stopped.empty() || std::exchange(stopped_, true)) return;
  const bool done = status.finished >= manifest_.manifest().spec().rounds;
  log_.Write(done ? LogLevel::kInfo : LogLevel::kError,
             done ? "all-rounds-published" : "federation-stopped",
             JsonValue::MakeObject().Set("reason", status.stopped));
}

}  // namespace tacet::host
