// Mail of a site at the server: its invitation to a later epoch, and its prekey.
#ifndef TACET_SITE_SITE_MAIL_H_
#define TACET_SITE_SITE_MAIL_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/member_keys.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/protocol/letter.h"
#include "tacet/protocol/mail_client.h"
#include "tacet/protocol/wire.h"
#include "tacet/storage/file/exchange_key_files.h"
#include "tacet/storage/file/site_folder.h"

namespace tacet::site {

// Connection of a site to the server of the epoch that it joined. `server` is HOST:PORT, `proxy`
// as in HttpsWireSpec. InvalidArgument names the field that cannot be used.
absl::StatusOr<std::unique_ptr<protocol::Wire>> ConnectToServer(
    const std::string& server, const std::string& proxy, const storage::file::Membership& joined,
    const agreement::MemberKeys& keys);

// Where a site that follows its epochs finds the server of its epoch: `given`, HOST:PORT, as long
// as the server was enrolled with that host; else the server's first host at the same port.
std::string AddressOfServer(const agreement::ManifestServer& server, const std::string& given);

struct FoundLetter {
  protocol::Letter letter;
  crypto::Digest digest{};
  // The site has not accepted what the letter holds: another epoch, or a certificate that lasts
  // longer.
  bool is_news = false;
};
// The letter that waits for this site; nothing where the server says that there is none.
// PermissionDenied when the server gives a letter that the coordinator did not write, or that is
// for another site or federation. One of an epoch before the one joined says nothing new: an honest
// server has it, too, when the site joined by a file.
absl::StatusOr<std::optional<FoundLetter>> LookForLetter(const protocol::MailClient& mail,
                                                         const storage::file::Membership& joined);

// The invitation of a letter, as bytes of an invitation file. DataLoss when the server gives
// another enclosure than the letter names, or when this site's keys do not open it.
absl::StatusOr<base::Bytes> FetchInvitation(const protocol::MailClient& mail,
                                            const FoundLetter& found,
                                            const storage::file::Membership& joined,
                                            const agreement::MemberKeys& keys,
                                            const storage::file::ExchangeKeyFiles& exchange_keys,
                                            const crypto::Unlocker& unlocker);

// Leaves the request at the server for the coordinator.
absl::Status LeavePrekey(const protocol::MailClient& mail, const storage::file::NextRequest& next);
// The same with that of `folder`, as its disk has it now. OK where there is none.
absl::Status LeaveUnusedPrekey(const protocol::MailClient& mail,
                               const storage::file::SiteFolder& folder);

// After the site has joined: makes and leaves its keys for the next epoch, replies to the letter
// that was accepted, and lets the server forget it. Calls that were interrupted are ended by
// another one.
absl::Status EndJoin(const protocol::MailClient& mail, const storage::file::Membership& joined,
                     const crypto::Unlocker& unlocker, storage::file::SiteFolder& folder);

// Tells the coordinator that the site has joined, or which fields of its policy leave the letter
// with this digest, an invitation to `about`, to a person.
absl::Status ReplyToLetter(const protocol::MailClient& mail, const storage::file::Membership& about,
                           const crypto::Digest& letter, bool is_joined,
                           std::vector<std::string> fields = {});
// After a letter that says nothing new: replies that the site has joined, and the server forgets
// the letter, unless another one came in its place.
absl::Status EndLetter(const protocol::MailClient& mail, const storage::file::Membership& joined,
                       const crypto::Digest& letter);

}  // namespace tacet::site

#endif  // TACET_SITE_SITE_MAIL_H_
