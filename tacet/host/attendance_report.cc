#include "tacet/host/attendance_report.h"

#include <algorithm>
#include <string_view>

#include "fmt/core.h"

#include "tacet/host/problems.h"

namespace tacet::host {

using base::JsonValue;
using tacet::server::Absence;
using tacet::server::ServerStatus;

JsonValue AwayJson(const ServerStatus& status, const agreement::SignedManifest& manifest) {
  JsonValue away = JsonValue::MakeArray();
  for (size_t i = 0; i < std::min(status.awaited.size(), kMostNamed); ++i) {
    const Absence& absence = status.awaited[i];
    away.Append(JsonValue::MakeObject()
                    .Set("name", manifest.members()[absence.member].name)
                    .Set("last_seen", absence.last_seen.has_value() ? JsonValue(*absence.last_seen)
                                                                    : JsonValue(nullptr))
                    .Set("silent", absence.silent));
  }
  return away;
}

namespace {

// Members that are not away while others are awaited between attempts, which tells nothing beyond
// the names of those. Null at other times: nobody is named without need.
JsonValue ConnectedJson(const ServerStatus& status, const agreement::SignedManifest& manifest) {
  if (!status.waiting || status.awaited.empty()) return JsonValue(nullptr);
  JsonValue connected = JsonValue::MakeArray();
  size_t named = 0;
  for (uint64_t member = 0; member < manifest.members().size() && named < kMostNamed; ++member) {
    if (std::ranges::count(status.awaited, member, &Absence::member) > 0) continue;
    connected.Append(manifest.members()[member].name);
    ++named;
  }
  return connected;
}

}  // namespace

JsonValue AttendanceJson(const ServerStatus& status, const agreement::SignedManifest& manifest) {
  JsonValue gathering;
  if (status.gathering.has_value()) {
    gathering = JsonValue::MakeObject()
                    .Set("needed", status.gathering->needed)
                    .Set("seats_here", status.gathering->seats_here)
                    .Set("seats_needed", status.gathering->seats_needed)
                    .Set("enough", status.gathering->enough())
                    .Set("pause_ends", status.pause_ends);
  }
  return JsonValue::MakeObject()
      .Set("epoch", manifest.epoch())
      .Set("opening", status.opening.has_value() ? JsonValue(*status.opening) : JsonValue())
      .Set("opening_needed", protocol::OpeningQuorum(manifest.manifest()))
      .Set("seats", manifest.manifest().committee().size())
      .Set("here", status.here)
      .Set("members", manifest.members().size())
      .Set("connected", ConnectedJson(status, manifest))
      .Set("gathering", std::move(gathering))
      .Set("away", AwayJson(status, manifest))
      .Set("away_in_all", status.awaited.size());
}

namespace {

std::string OpenText(const ServerStatus& status, uint64_t now) {
  const tacet::server::AttemptRecord& open = *status.last;
  std::string text =
      fmt::format("round {} attempt {} is open for {}", open.attempt.number.round,
                  open.attempt.number.attempt, DurationText(now - std::min(now, open.begun)));
  if (status.extensions > 0) {
    text += fmt::format(", was extended {} {}", status.extensions,
                        status.extensions == 1 ? "time" : "times");
  }
  if (open.phase == protocol::AttemptPhase::kCollecting) {
    return text + fmt::format(", and waits for uploads ({} came)", status.accepted);
  }
  return text + fmt::format(", and waits for the committee ({} votes and {} unmask shares came)",
                            status.votes, status.unmask_shares);
}

}  // namespace

std::string WaitingText(const ServerStatus& status, const agreement::SignedManifest& manifest,
                        uint64_t now) {
  const bool is_open =
      status.last.has_value() && (status.last->phase == protocol::AttemptPhase::kCollecting ||
                                  status.last->phase == protocol::AttemptPhase::kUnmasking);
  if (is_open) return OpenText(status, now);
  if (!status.waiting) return status.stopped.empty() ? "" : "no attempt follows: " + status.stopped;
  std::string text;
  if (status.opening.has_value()) {
    text = fmt::format(
        "epoch {} begins when {} of the {} committee members agree on its state ({} were heard)",
        manifest.epoch(), protocol::OpeningQuorum(manifest.manifest()),
        manifest.manifest().committee().size(), *status.opening);
  }
  if (status.awaited.empty()) return text;
  text += fmt::format("{}waits for members: {} of {} are here", text.empty() ? "" : "; ",
                      status.here, manifest.members().size());
  if (status.gathering.has_value() && !status.gathering->enough()) {
    text += fmt::format(", {} are needed, and {} of the committee ({} are here)",
                        status.gathering->needed, status.gathering->seats_needed,
                        status.gathering->seats_here);
  }
  return text;
}

}  // namespace tacet::host
