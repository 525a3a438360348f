#include "tacet/host/attendance_report.h"

#include <algorithm>
#include <string_view>

#include "fmt/core.h"

#include "tacet/base/unix_clock.h"

namespace tacet::host {

using base::JsonValue;
using tacet::server::Absence;
using tacet::server::ServerStatus;

namespace {

constexpr size_t kMaxNamed = 20;

std::string DurationText(uint64_t seconds) {
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 120 * 60) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} days", seconds / base::kSecondsADay);
}

std::string AbsenceText(const Absence& absence, std::string_view name, uint64_t now) {
  if (absence.silent) return fmt::format("{} (connected, silent for two deadlines)", name);
  if (!absence.last_seen.has_value()) return fmt::format("{} (since the server started)", name);
  if (*absence.last_seen + tacet::server::kHereSeconds >= now) {
    return fmt::format("{} (connected)", name);
  }
  return fmt::format("{} (for {})", name, DurationText(now - std::min(now, *absence.last_seen)));
}

std::string NamesText(const ServerStatus& status, const agreement::SignedManifest& manifest,
                      uint64_t now) {
  std::string text;
  for (size_t i = 0; i < std::min(status.awaited.size(), kMaxNamed); ++i) {
    const Absence& absence = status.awaited[i];
    text +=
        (i > 0 ? ", " : "") + AbsenceText(absence, manifest.members()[absence.member].name, now);
  }
  if (status.awaited.size() > kMaxNamed) {
    text += fmt::format(" and {} more", status.awaited.size() - kMaxNamed);
  }
  return text;
}

}  // namespace

JsonValue AwayJson(const ServerStatus& status, const agreement::SignedManifest& manifest) {
  JsonValue away = JsonValue::MakeArray();
  for (size_t i = 0; i < std::min(status.awaited.size(), kMaxNamed); ++i) {
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
  for (uint64_t member = 0; member < manifest.members().size() && named < kMaxNamed; ++member) {
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

std::string WaitingText(const ServerStatus& status, const agreement::SignedManifest& manifest,
                        uint64_t now) {
  std::string opening;
  if (status.waiting && status.opening.has_value()) {
    opening = fmt::format(
        "epoch {} begins when {} of the {} committee members agree on its state ({} were heard)",
        manifest.epoch(), protocol::OpeningQuorum(manifest.manifest()),
        manifest.manifest().committee().size(), *status.opening);
  }
  if (status.awaited.empty()) return opening;
  if (status.extended && status.last.has_value()) {
    return fmt::format("round {} attempt {} is open and waits for {}",
                       status.last->attempt.number.round, status.last->attempt.number.attempt,
                       NamesText(status, manifest, now));
  }
  if (!status.waiting) return opening;
  std::string text =
      (opening.empty() ? "" : opening + "; ") +
      fmt::format("waits for members: {} of {} are here", status.here, manifest.members().size());
  if (status.gathering.has_value() && !status.gathering->enough()) {
    text += fmt::format(", {} are needed, and {} of the committee ({} are here)",
                        status.gathering->needed, status.gathering->seats_needed,
                        status.gathering->seats_here);
  }
  return text + "; away: " + NamesText(status, manifest, now);
}

}  // namespace tacet::host
