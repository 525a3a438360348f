#include "tacet/host/problem_log.h"

#include <algorithm>
#include <utility>

#include "tacet/base/json.h"

namespace tacet::host {

using base::JsonValue;

void ProblemLog::Note(std::span<const Problem> problems) {
  std::map<ProblemCode, std::vector<uint64_t>> now;
  for (const Problem& problem : problems) {
    std::vector<uint64_t>& members = now[problem.code];
    for (const ConcernedMember& one : problem.members) members.push_back(one.member);
    const auto known = known_.find(problem.code);
    if (known != known_.end() && known->second == members) continue;
    log_.Write(problem.stops() ? LogLevel::kError : LogLevel::kWarning, "problem",
               ProblemJson(problem, manifest_));
  }
  for (const auto& [code, members] : known_) {
    if (now.contains(code)) continue;
    log_.Write(LogLevel::kInfo, "problem-over",
               JsonValue::MakeObject().Set("code", KindOf(code).name));
  }
  known_ = std::move(now);
}

void ProblemLog::NoteObjections(std::span<const protocol::Objection> objections) {
  for (const protocol::Objection& one : objections) {
    if (std::ranges::count(objections_, one) > 0) continue;
    log_.Write(LogLevel::kWarning, "member-objects",
               JsonValue::MakeObject()
                   .Set("name", manifest_.members()[one.member].name)
                   .Set("reason", protocol::ObjectionReasonName(one.reason))
                   .Set("round", one.attempt.round)
                   .Set("attempt", one.attempt.attempt));
  }
  objections_.assign(objections.begin(), objections.end());
}

}  // namespace tacet::host
