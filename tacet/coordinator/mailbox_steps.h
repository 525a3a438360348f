// Steps of a coordinator through the mailbox at the server: it takes the sites' prekeys, and leaves
// their invitations (docs/design/mailbox.md).
#ifndef TACET_COORDINATOR_MAILBOX_STEPS_H_
#define TACET_COORDINATOR_MAILBOX_STEPS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/certificates.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/secret.h"
#include "tacet/protocol/letter_reply.h"
#include "tacet/protocol/mail_client.h"
#include "tacet/storage/file/coordinator_folder.h"

namespace tacet::coordinator {

// Certificate with which the coordinator connects to the server, for a day and the TLS key `key`.
absl::StatusOr<base::Bytes> IssueOwnCertificate(const crypto::TlsKey& key,
                                                const crypto::TlsKey& authority,
                                                const storage::file::CoordinatorFolder& folder);

// TLS keys of the servers to which the coordinator may connect: those of the present epoch and of
// the one before, which runs until the sites have joined. FailedPrecondition where neither names
// one.
absl::StatusOr<std::vector<base::Bytes>> ServerKeys(const storage::file::CoordinatorFolder& folder);

struct TakenPrekeys {
  std::vector<std::string> taken;
  // Without an unused prekey at the server, and without another renewed key.
  std::vector<std::string> run_out;
  // Letters in a site's name that the coordinator does not take, as sentences.
  std::vector<std::string> refused;
};
// Enrols each site outside of `removed` with its prekey, and a certificate for as long as its last
// one was made for. A site without a prekey, or with one that is refused, is unchanged. Errors are
// those of the mailbox, before anything has changed, and of the folder.
absl::StatusOr<TakenPrekeys> TakePrekeys(const std::set<std::string>& removed,
                                         const crypto::TlsKey& authority,
                                         const protocol::MailClient& mail,
                                         storage::file::CoordinatorFolder& folder);

struct LeftInvitations {
  std::map<std::string, crypto::Digest> left;  // SHA-256 of the letter, by site
  // Sites that were not in the epoch before, or that the server does not know.
  std::vector<std::string> by_file;
};
// Leaves the written invitations of the epoch of `manifest` at the server, but for the sites in
// `joined`. InvalidArgument where they are too large for it.
absl::StatusOr<LeftInvitations> LeaveInvitations(const agreement::SignedManifest& manifest,
                                                 const crypto::SecretBytes& epoch_key,
                                                 const crypto::SigningKey& coordinator,
                                                 const protocol::MailClient& mail,
                                                 const storage::file::CoordinatorFolder& folder,
                                                 const std::set<std::string>& joined = {});

// Gives the server its own written invitation. FailedPrecondition where it takes it as a file.
absl::Status LeaveServerInvitation(const agreement::SignedManifest& manifest,
                                   const protocol::MailClient& mail,
                                   const storage::file::CoordinatorFolder& folder);
// The epoch that the server is in, as it says.
absl::StatusOr<protocol::ServedEpoch> EpochOfServer(const protocol::MailClient& mail);

// The site's signed reply that it has joined the epoch of `manifest`, with the certificate that the
// written invitation has, or that a person is needed for its letter among `letters`; nothing where
// there is none. What a site answered to an earlier letter may hold no longer.
absl::StatusOr<std::optional<protocol::LetterReply>> ReplyOf(
    const storage::file::EnrolledSite& site, const agreement::SignedManifest& manifest,
    const std::map<std::string, crypto::Digest>& letters, const protocol::MailClient& mail,
    const storage::file::CoordinatorFolder& folder);

}  // namespace tacet::coordinator

#endif  // TACET_COORDINATOR_MAILBOX_STEPS_H_
