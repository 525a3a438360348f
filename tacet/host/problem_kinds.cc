#include "tacet/host/problem_kinds.h"

#include <algorithm>
#include <array>

namespace tacet::host {
namespace {

constexpr std::array kKinds = {
    ProblemKind{.code = ProblemCode::kNotListening,
                .name = "not-listening",
                .stops = true,
                .says = "it does not listen for members",
                .remedy = "Wait some seconds. If it stays so, read the end of the log."},
    ProblemKind{.code = ProblemCode::kEnding,
                .name = "ending",
                .stops = true,
                .says = "it was asked to end",
                .remedy = "Wait until it has ended. An open attempt continues after its start."},
    ProblemKind{.code = ProblemCode::kNotStarted,
                .name = "not-started",
                .stops = true,
                .says = "it has not begun its work",
                .remedy = "Wait some seconds. If it stays so, read the end of the log."},
    ProblemKind{.code = ProblemCode::kStandstill,
                .name = "standstill",
                .stops = true,
                .says = "its work has stood still",
                .remedy = "Restart `tacet server`. An open attempt continues."},
    ProblemKind{.code = ProblemCode::kDiskFull,
                .name = "disk-full",
                .stops = true,
                .says = "there is no room for its state or its objects",
                .remedy = "Make room on that disk. Members send again by themselves."},
    ProblemKind{.code = ProblemCode::kDatabaseAway,
                .name = "database-away",
                .stops = true,
                .says = "its database cannot be reached",
                .remedy = "Start PostgreSQL, or repair the network between the two. The server "
                          "connects again by itself."},
    ProblemKind{.code = ProblemCode::kStoreFailed,
                .name = "store-failed",
                .stops = true,
                .says = "its store does not work",
                .remedy = "Read `store-failed` in the log, and repair what it names."},
    ProblemKind{.code = ProblemCode::kObjectLost,
                .name = "object-lost",
                .stops = true,
                .says = "objects that its store names are not in its folder `blobs`",
                .remedy = "Members that have them are asked to give them again. Repair that disk, "
                          "or put the folder back. If this stays for ten minutes, the coordinating "
                          "member begins an epoch (`tacet federation rotate`)."},
    ProblemKind{.code = ProblemCode::kServerCertificateEnded,
                .name = "server-certificate-ended",
                .stops = true,
                .says = "its certificate has ended, so no member can connect",
                .remedy = "Ask the coordinating member for a new invitation (`tacet federation "
                          "seal-key`), and accept it with `tacet client join`."},
    ProblemKind{.code = ProblemCode::kServerCertificateEnds,
                .name = "server-certificate-ends",
                .says = "its certificate ends soon",
                .remedy = "Ask the coordinating member for a new invitation (`tacet federation "
                          "seal-key`), and accept it with `tacet client join`."},
    ProblemKind{.code = ProblemCode::kServerClock,
                .name = "server-clock",
                .says = "its clock differs from those of most members that call",
                .remedy = "Set this machine's clock, best by NTP."},
    ProblemKind{.code = ProblemCode::kRollback,
                .name = "rollback",
                .says = "members know later attempts than this server has, as after a backup was "
                        "put back",
                .remedy = "Put back the newest state of the server. Without one, begin an epoch "
                          "(`tacet federation rotate`): it continues from the members' states."},
    ProblemKind{.code = ProblemCode::kServerFork,
                .name = "server-fork",
                .says = "most members that are here have another model than the one it announces",
                .remedy = "Stop it, and compare the node logs of the sites. The coordinating "
                          "member begins an epoch (`tacet federation rotate`)."},
    ProblemKind{.code = ProblemCode::kNoClosedRound,
                .name = "no-closed-round",
                .says = "committee members do not get the sum that it announces",
                .remedy = "Look at the disk that holds its folder `blobs`, and at the log."},
    ProblemKind{.code = ProblemCode::kStopped,
                .name = "stopped",
                .says = "no attempt follows although rounds are missing",
                .remedy = "Read `federation-stopped` in the log. The coordinating member decides "
                          "whether an epoch follows."},
    ProblemKind{.code = ProblemCode::kPaused,
                .name = "paused",
                .says = "no further attempt begins, since an operator has paused",
                .remedy = "Resume on the page, with an operator's token (`--operators`)."},
    ProblemKind{.code = ProblemCode::kMemberCertificate,
                .name = "member-certificate",
                .names_members = true,
                .says = "the certificate of a member is refused",
                .remedy = "Its site asks the coordinating member for a new invitation, and accepts "
                          "it with `tacet client join`."},
    ProblemKind{.code = ProblemCode::kMemberClock,
                .name = "member-clock",
                .names_members = true,
                .says = "the clock of a member differs from this server's by more than 600 s",
                .remedy = "Set the clock there, best by NTP."},
    ProblemKind{.code = ProblemCode::kMemberFork,
                .name = "member-fork",
                .names_members = true,
                .says = "a member has another model than the federation",
                .remedy = "Stop its site, and read `fork` in its node log: its state may be "
                          "damaged, or be another one's."},
    ProblemKind{.code = ProblemCode::kBudget,
                .name = "budget",
                .names_members = true,
                .says = "a member's budget is spent, and it gives none of its data",
                .remedy = "Its data protection officer sees what was spent with `tacet ledger "
                          "show`. A larger budget needs a new agreement."},
    ProblemKind{.code = ProblemCode::kPolicy,
                .name = "policy",
                .names_members = true,
                .says = "the yearly limit of a member's policy is reached, and it gives none of "
                        "its data",
                .remedy = "Its data protection officer decides about `policy.toml` there, or waits "
                          "for the next year."},
    ProblemKind{.code = ProblemCode::kMemberAway,
                .name = "member-away",
                .names_members = true,
                .says = "a member does not call",
                .remedy = "Start `tacet client run` at its site. If it runs, test the line there "
                          "with `tacet client check`."},
    ProblemKind{.code = ProblemCode::kSeatAway,
                .name = "seat-away",
                .names_members = true,
                .says = "the open attempt waits for a committee member that does not call",
                .remedy = "Start `tacet client run` at its site. If it runs, test the line there "
                          "with `tacet client check`."},
    ProblemKind{.code = ProblemCode::kMayHaveVoted,
                .name = "may-have-voted",
                .names_members = true,
                .says = "a committee member may have voted in the open attempt before its site was "
                        "started again or put back, and says nothing in it",
                .remedy = "It votes again in the next attempt. If nobody started that machine "
                          "again, look for a second copy of the site's folder."},
    ProblemKind{.code = ProblemCode::kSeatSilent,
                .name = "seat-silent",
                .names_members = true,
                .says = "a committee member calls, and has not answered for two deadlines",
                .remedy = "Read the node log at its site, and restart `tacet client run` there."},
    ProblemKind{.code = ProblemCode::kUploadMissing,
                .name = "upload-missing",
                .names_members = true,
                .says = "a member has not uploaded by the deadline",
                .remedy = "Read the node log at its site. If its training takes longer, start the "
                          "server with a longer `--collecting-seconds`."},
    ProblemKind{.code = ProblemCode::kLetterWaits,
                .name = "letter-waits",
                .names_members = true,
                .says = "an invitation waits in the mailbox for a member that has not fetched it",
                .remedy = "Start `tacet client run` at its site. If it runs, it waits for a "
                          "person: `tacet client join --server HOST:PORT`."},
    ProblemKind{.code = ProblemCode::kPrekeyMissing,
                .name = "prekey-missing",
                .names_members = true,
                .says = "a member has left no unused prekey, so the next epoch needs a request "
                        "from its site",
                .remedy = "Run `tacet client renew --server HOST:PORT` at its site."},
};

consteval bool AreInOrder() {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i].code != static_cast<ProblemCode>(i)) return false;
  }
  return kKinds.back().code == ProblemCode::kPrekeyMissing;
}
static_assert(AreInOrder());

}  // namespace

std::span<const ProblemKind> ProblemKinds() { return kKinds; }

const ProblemKind& KindOf(ProblemCode code) { return kKinds[static_cast<size_t>(code)]; }

}  // namespace tacet::host
