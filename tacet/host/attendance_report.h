// Attendance of the members as operators read it: who is here, who is absent, and since when.
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

// A sentence such as "waits for members: 3 of 5 are here, 4 are needed, and 3 of the committee (2
// are here)", or "round 3 attempt 0 is open for 2 h, was extended 12 times, and waits for uploads
// (4 came)". Empty when nothing is waited for. It names nobody. `now` in Unix seconds.
std::string WaitingText(const tacet::server::ServerStatus& status,
                        const agreement::SignedManifest& manifest, uint64_t now);

}  // namespace tacet::host

#endif  // TACET_HOST_ATTENDANCE_REPORT_H_
