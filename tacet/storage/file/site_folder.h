// Folder of a site, or of the server: its identity, the federation that it joined, and the files it
// was handed (docs/formats/enrolment.md).
#ifndef TACET_STORAGE_FILE_SITE_FOLDER_H_
#define TACET_STORAGE_FILE_SITE_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/epoch_chain.h"
#include "tacet/agreement/initial_model.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"
#include "tacet/storage/file/exchange_key_files.h"
#include "tacet/storage/file/file_lock.h"

namespace tacet::storage::file {

// Membership in the epoch that the site joined last.
struct Membership {
  agreement::SignedManifest manifest;
  std::optional<uint64_t> member;                // its number; none for the server
  base::Bytes certificate;                       // its own, DER
  base::Bytes sealed_epoch_key;                  // empty for the server
  std::vector<agreement::EpochLink> chain = {};  // of all epochs, this one last

  std::span<const agreement::EpochLink> earlier() const {
    return std::span(chain).first(chain.empty() ? 0 : chain.size() - 1);
  }
};

// Request for the next epoch. While it lives, no other process changes the folder's exchange keys
// or its request, and a thread of this one waits, too.
struct NextRequest {
  base::Bytes request;
  bool is_new = false;  // just made
  FileLock lock;
};

// Whether a renewal keeps keys that no epoch joined has taken up.
enum class UnusedKeys { kKept, kReplaced };

class SiteFolder {
 public:
  // Makes keys and the request to be enrolled with them, which is the only thing that leaves the
  // folder. Again with the same name, hosts and unlocker it gives the same request, as long as the
  // folder has not joined; AlreadyExists when the folder holds another identity.
  static absl::StatusOr<SiteFolder> Create(const std::filesystem::path& path, std::string_view name,
                                           std::span<const std::string> server_hosts,
                                           const crypto::Unlocker& unlocker,
                                           crypto::Entropy& entropy);
  // NotFound when the folder holds no identity. What the request says is in the accepted
  // invitation, too: one that is lost or damaged is missed before Join only.
  static absl::StatusOr<SiteFolder> Open(const std::filesystem::path& path);

  const base::Bytes& request() const { return request_; }  // empty when it is lost
  std::filesystem::path request_path() const;
  // The invitation that was accepted last, if there is one.
  std::filesystem::path invitation_path() const;

  absl::StatusOr<agreement::MemberKeys> UnlockKeys(const crypto::Unlocker& unlocker) const;
  // Hereafter the identity names this officer. The caller makes sure that the one before agrees.
  absl::Status PinOfficer(const crypto::PublicKey& officer, const crypto::Unlocker& unlocker,
                          crypto::Entropy& entropy) const;

  // Makes the exchange keys of the next epoch and the request to be enrolled with them. Where there
  // are some that no epoch joined has taken up, the request is the same again, unless they are to
  // be replaced: then they are deleted. The keys of the present epoch stay in use.
  // FailedPrecondition for the server, which has none; Unavailable while another process works.
  absl::StatusOr<NextRequest> Renew(const crypto::Unlocker& unlocker, crypto::Entropy& entropy,
                                    UnusedKeys unused = UnusedKeys::kKept);

  // The coordinator of the federation that was joined; NotFound before.
  absl::StatusOr<crypto::PublicKey> Coordinator() const;

  // Accepts an invitation: signed by `coordinator`, for this site's keys, its certificate from the
  // federation's authority, the initial model the agreed one, its chain of manifests whole and
  // beginning with the chain joined last, the epoch key and the exchange key ones that this site
  // can use, the server's TLS key the one that the manifest names. PermissionDenied, NotFound,
  // FailedPrecondition or DataLoss says what of it does not hold; nothing is changed then. Exchange
  // keys for the next epoch that the manifest names are taken into use, and those before are
  // deleted.
  absl::StatusOr<Membership> Join(std::span<const uint8_t> invitation,
                                  const crypto::PublicKey& coordinator,
                                  const crypto::Unlocker& unlocker);
  // The checks of Join alone. Changes nothing.
  absl::StatusOr<Membership> CheckInvitation(std::span<const uint8_t> invitation,
                                             const crypto::PublicKey& coordinator,
                                             const crypto::Unlocker& unlocker) const;
  // NotFound before Join, DataLoss when the accepted invitation is damaged: Join replaces it then.
  absl::StatusOr<Membership> Joined() const;
  // The exchange keys of this site in the epoch joined. It ends a Join that a crash interrupted:
  // the keys before are deleted. FailedPrecondition for the server.
  absl::StatusOr<agreement::ExchangeKeys> TakeUpExchangeKeys(const Membership& joined,
                                                             const crypto::Unlocker& unlocker);
  absl::StatusOr<agreement::InitialModel> InitialModel() const;

 private:
  explicit SiteFolder(std::filesystem::path path) : path_(std::move(path)), exchange_keys_(path_) {}

  // Reads the request, or the accepted invitation.
  absl::Status LoadOwn();
  // For an identity that asks for the same again.
  absl::StatusOr<agreement::MemberKeys> KeysToAskAgain(std::string_view name,
                                                       std::span<const std::string> hosts,
                                                       const crypto::Unlocker& unlocker);

  // The present one is replaced, in memory and on disk.
  absl::Status SaveRequest(base::Bytes request);
  absl::StatusOr<Membership> Check(const agreement::Invitation& invitation,
                                   const crypto::PublicKey& coordinator) const;
  absl::StatusOr<Membership> ReadJoined(std::span<const uint8_t> invitation) const;
  // Whether the site has the secrets that the epoch needs.
  absl::Status CheckKeys(const Membership& membership, const crypto::Unlocker& unlocker) const;

  std::filesystem::path path_;
  ExchangeKeyFiles exchange_keys_;
  agreement::EnrolmentRequest own_ = {};  // what this folder asked for last
  base::Bytes request_ = {};
};

// The request of made keys that no epoch joined has taken up, as the disk has it now; nothing where
// there is none. Makes no keys, and does not wait for another process: Unavailable.
absl::StatusOr<std::optional<NextRequest>> UnusedRequest(const SiteFolder& folder);

// Whether Joined() found no invitation that a site could continue with.
bool IsNotJoined(const absl::Status& joined);

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_SITE_FOLDER_H_
