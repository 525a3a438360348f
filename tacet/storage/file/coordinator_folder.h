// Folder of the coordinating member of a federation: its keys, the agreement, the enrolled members,
// and the files for others (docs/formats/enrolment.md).
#ifndef TACET_STORAGE_FILE_COORDINATOR_FOLDER_H_
#define TACET_STORAGE_FILE_COORDINATOR_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/member_keys.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/certificates.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"
#include "tacet/storage/file/coordinator_files.h"
#include "tacet/storage/file/file_lock.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {

struct CoordinatorKeys {
  crypto::SigningKey signing;  // of manifests and epoch keys
  crypto::TlsKey authority;    // of certificates
};

// The terms on which the members of one training, or query, agree.
struct TrainingTerms {
  std::string agreement;      // TOML; without members
  base::Bytes initial_model;  // of agreement::WriteInitialModel
};

// One process at a time uses a folder: Create and Open lock it and wait some seconds for another
// one, then Unavailable. What a call wrote is durable when it returns OK. Secrets are in files of
// their own, encrypted and readable by their owner alone.
class CoordinatorFolder {
 public:
  struct Parts {
    std::string federation;     // its name
    crypto::Digest identity{};  // random bytes, drawn once
    TrainingTerms terms;        // of the training that began last
    base::Bytes authority;      // its certificate, DER
  };

  // With the key of epoch 0. AlreadyExists when the folder holds anything. It happens wholly or not
  // at all: an error leaves no file and no folder behind, and what a killed process left is cleared
  // by the next call. `disk` must outlive it.
  static absl::StatusOr<CoordinatorFolder> Create(const std::filesystem::path& path,
                                                  const Parts& parts, const CoordinatorKeys& keys,
                                                  const crypto::SecretBytes& first_key,
                                                  const crypto::Unlocker& unlocker,
                                                  crypto::Entropy& entropy,
                                                  DiskCalls& disk = DiskCalls::System());
  // Files of which others in the folder have the content are written again
  // (coordinator_repair.h). NotFound when the folder holds no federation, DataLoss when a part is
  // damaged that nothing repeats.
  static absl::StatusOr<CoordinatorFolder> Open(const std::filesystem::path& path,
                                                DiskCalls& disk = DiskCalls::System());

  const std::filesystem::path& path() const { return path_; }
  const Parts& parts() const { return parts_; }

  absl::StatusOr<CoordinatorKeys> UnlockKeys(const crypto::Unlocker& unlocker) const;

  // By name.
  absl::StatusOr<std::vector<EnrolledSite>> Enrolled() const;
  // Whether the signature of `request` shows that an enrolled site asks: it is that site's request
  // itself, or renews its exchange key. Of a site whose file is lost the manifest has the keys.
  absl::StatusOr<bool> Recognises(const agreement::EnrolmentRequest& request) const;
  // The request of a site that is enrolled already renews its certificate, and its exchange key if
  // that is another one. AlreadyExists for any other request in its name, FailedPrecondition for an
  // exchange key that an epoch has had: the request is an old one. Request and certificate are one
  // file: an error leaves both as they were.
  absl::Status Enrol(std::span<const uint8_t> request, std::span<const uint8_t> certificate);
  // NotFound when there is none of that name. The request is kept below removed/.
  absl::Status Remove(std::string_view name);
  // Begins the epoch of `manifest` with its key and removes the named sites. `terms` are of the
  // training that begins with it, null when one continues. AlreadyExists when it has begun. Either
  // all of it happens, also when the process dies half way, or nothing: Open ends what was begun,
  // and forgets what was not. `asked`, a text, is kept until EndHandingOut.
  absl::Status BeginNextEpoch(const agreement::SignedManifest& manifest, const TrainingTerms* terms,
                              std::span<const std::string> removed, const crypto::SecretBytes& key,
                              std::string_view asked, const crypto::Unlocker& unlocker,
                              crypto::Entropy& entropy);

  // For the epoch that was begun last, also when its key is lost.
  absl::StatusOr<uint32_t> Epoch() const;
  // Keeps the key of epoch `epoch`; AlreadyExists when it has one.
  absl::Status BeginEpoch(uint32_t epoch, const crypto::SecretBytes& key,
                          const crypto::Unlocker& unlocker, crypto::Entropy& entropy);
  // DataLoss where it is lost or damaged: no invitation of this epoch can be written any more.
  absl::StatusOr<crypto::SecretBytes> EpochKey(uint32_t epoch,
                                               const crypto::Unlocker& unlocker) const;
  // Deletes the keys of the epochs before `epoch`, overwritten with zeros first, and their
  // invitations. The signed manifests stay. OK when nothing is there.
  absl::Status ForgetEpochsBefore(uint32_t epoch);

  // NotFound as long as the epoch's manifest is not signed.
  absl::StatusOr<base::Bytes> SignedManifest(uint32_t epoch) const;
  absl::Status SaveSignedManifest(uint32_t epoch, std::span<const uint8_t> manifest);
  // Signed manifests of the epochs before `epoch`, from epoch 0 on; DataLoss when one is missing.
  absl::StatusOr<std::vector<base::Bytes>> ManifestsBefore(uint32_t epoch) const;
  // Returns the file that is to be handed to `name`.
  absl::StatusOr<std::filesystem::path> SaveInvitation(uint32_t epoch, std::string_view name,
                                                       std::span<const uint8_t> invitation);

 private:
  CoordinatorFolder(std::filesystem::path path, Parts parts, FileLock lock, DiskCalls& disk)
      : path_(std::move(path)), parts_(std::move(parts)), lock_(std::move(lock)), disk_(&disk) {}

  // Terms and removals of an epoch that has begun are carried out; those of one that has not are
  // dropped.
  absl::Status FinishEpochs();
  absl::Status FinishEpoch(uint32_t epoch);
  absl::Status CheckUnused(const agreement::EnrolmentRequest& request) const;

  std::filesystem::path path_;
  Parts parts_;
  FileLock lock_;
  DiskCalls* disk_;
};

// The invitation that SaveInvitation saved; NotFound where there is nothing for `name`.
absl::StatusOr<base::Bytes> SavedInvitation(const CoordinatorFolder& folder, uint32_t epoch,
                                            std::string_view name);
// The text of the command that began the present epoch; nothing after KeepHandedOut and
// EndHandingOut.
absl::StatusOr<std::optional<std::string>> AskedOfHandingOut(const CoordinatorFolder& folder);
// The command with the text `asked`, whose invitations are where their readers find them.
struct HandedOutCommand {
  std::string asked;
  bool is_answered = false;  // by every site: it has joined
};
absl::Status KeepHandedOut(const CoordinatorFolder& folder, const HandedOutCommand& command);
// The last one in the present epoch; nothing after EndHandingOut.
absl::StatusOr<std::optional<HandedOutCommand>> CommandHandedOut(const CoordinatorFolder& folder);
// Invitations and kits of the present epoch are written. It is the last step of a command, so it
// need not be durable: after a loss of power they may be written once more.
absl::Status EndHandingOut(const CoordinatorFolder& folder);

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_COORDINATOR_FOLDER_H_
