// Attendance of the members as operators read it: who is here, who is away, and since when.
#ifndef TACET_HOST_ATTENDANCE_REPORT_H_
#define TACET_HOST_ATTENDANCE_REPORT_H_

#include <cstdint>
#include <string>

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/json.h"
#include "tacet/server/round_server.h"

namespace tacet::host {

// `attendance` of docs/formats/server-page.md. At most 20 members are named.
base::JsonValue AttendanceJson(const tacet::server::ServerStatus& status,
                               const agreement::SignedManifest& manifest);

// The members that are waited for: [{"name", "last_seen", "silent"}].
base::JsonValue AwayJson(const tacet::server::ServerStatus& status,
                         const agreement::SignedManifest& manifest);

// A sentence such as "waits for members: 3 of 5 are here, 4 are needed; away: north (for 2 h), west
// (since the server started)", or "round 3 attempt 0 is open and waits for north (for 2 h)" once
// its deadline was moved. Empty when nobody is waited for. `now` in Unix seconds.
std::string WaitingText(const tacet::server::ServerStatus& status,
                        const agreement::SignedManifest& manifest, uint64_t now);

}  // namespace tacet::host

#endif  // TACET_HOST_ATTENDANCE_REPORT_H_
