// Checks that a member makes on everything that a server announces, before it acts on it.
#ifndef TACET_MEMBER_ANNOUNCEMENT_CHECKS_H_
#define TACET_MEMBER_ANNOUNCEMENT_CHECKS_H_

#include <cstdint>
#include <optional>

#include "tacet/agreement/signed_manifest.h"
#include "tacet/member/member_memory.h"
#include "tacet/member/suspicion.h"
#include "tacet/protocol/announcement.h"

namespace tacet::member {

// Violations that are visible in the announcement alone: another federation or epoch; rounds,
// attempts, invitations and counts that the manifest does not allow; lists that contradict the
// rest. It was asked for attempts from `listed_from` on.
std::optional<Suspicion> CheckAnnouncement(const protocol::Announcement& announcement,
                                           const agreement::SignedManifest& manifest,
                                           uint64_t listed_from);

// Violations that are visible compared with earlier announcements: an earlier attempt or phase
// again, another model, count or outcome of the same attempt, fewer rounds finished than this
// member has applied. Before an attempt of an epoch after the first of `training` was announced to
// it, the last round may be undone.
std::optional<Suspicion> CheckContinues(const protocol::Announcement& announcement,
                                        const std::optional<MemberMemory>& memory,
                                        uint32_t next_round, uint32_t training);

// Probability below which so many invitations are taken for a server that does not draw cohorts at
// random.
inline constexpr double kMinDrawChance = 0x1p-20;

// Whether the server invited this member more often than an honest draw does.
std::optional<Suspicion> CheckDraw(const MemberMemory& memory,
                                   const agreement::ManifestSpec& agreed);

}  // namespace tacet::member

#endif  // TACET_MEMBER_ANNOUNCEMENT_CHECKS_H_
