// Abstentions in a site's run directory (docs/design/member.md, "Abstentions").
#ifndef TACET_SITE_SITE_ABSTENTIONS_H_
#define TACET_SITE_SITE_ABSTENTIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/crypto/hash.h"
#include "tacet/member/member_session.h"
#include "tacet/protocol/abstention.h"
#include "tacet/run/query_run.h"
#include "tacet/storage/file/membership.h"
#include "tacet/storage/file/run_directory.h"

namespace tacet::site {

// The members that the manifest with this hash has: the present one, or one of an earlier epoch.
std::span<const agreement::MemberIdentity> MembersUnder(const storage::file::Membership& membership,
                                                        const crypto::Digest& hash);

class SiteAbstentions {
 public:
  // Both must outlive it.
  SiteAbstentions(const storage::file::Membership& membership,
                  storage::file::RunDirectory& directory)
      : membership_(membership), directory_(directory) {}

  // Keeps them, of an attempt after those that are kept.
  absl::Status Keep(std::span<const protocol::SignedAbstention> abstentions);
  // Those from attempts at `round` and later ones.
  absl::Status Forget(uint32_t round);
  // For a query that was answered: sites whose data are not in the answers.
  absl::StatusOr<std::vector<run::MissingSite>> Missing() const;
  // Why no attempt follows the rounds of the session. Keeps the abstentions that say so.
  absl::StatusOr<std::string> WhyStopped(const member::MemberSession& session);

 private:
  const storage::file::Membership& membership_;
  storage::file::RunDirectory& directory_;
};

}  // namespace tacet::site

#endif  // TACET_SITE_SITE_ABSTENTIONS_H_
