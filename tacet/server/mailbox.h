// Mailbox of a federation: invitations for its sites and prekeys for its coordinator
// (docs/design/mailbox.md).
#ifndef TACET_SERVER_MAILBOX_H_
#define TACET_SERVER_MAILBOX_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/base/mutex.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/signing.h"
#include "tacet/protocol/letter.h"
#include "tacet/protocol/mail_request.h"
#include "tacet/server/blob_store.h"
#include "tacet/server/request_handler.h"
#include "tacet/server/request_limits.h"

namespace tacet::server {

class Mailbox;

// A request whose content is on its way in. Not thread-safe. If it goes before Finish, the request
// had no effect.
class IncomingMail {
 public:
  // The next bytes of the content; DataLoss behind its announced end.
  absl::Status Write(std::span<const uint8_t> bytes);
  // After the last one; call it once. DataLoss unless they are those that the sender signed.
  absl::StatusOr<RequestAnswer> Finish();

 private:
  friend class Mailbox;
  IncomingMail(Mailbox& mailbox, protocol::MailHead head, uint64_t sender, size_t request_bytes)
      : mailbox_(mailbox), head_(std::move(head)), sender_(sender), request_bytes_(request_bytes) {}

  Mailbox& mailbox_;
  protocol::MailHead head_;
  uint64_t sender_;
  size_t request_bytes_;
  base::Bytes content_;
};

// The state of a request when its head was read.
struct BegunMail {
  size_t head_bytes = 0;
  std::variant<RequestAnswer, std::unique_ptr<IncomingMail>> next;
};

struct WaitingLetter {
  uint64_t member = 0;
  uint64_t since = 0;  // Unix seconds
};
// The number and age of waiting letters, without contents.
struct MailStatus {
  std::vector<WaitingLetter> letters;  // by member
  // Members without a prekey whose keys the epoch does not use yet and without a letter. Empty as
  // long as no member has left one.
  std::vector<uint64_t> without_prekey;  // increasing
};

// Thread-safe. The texts of its errors are for the senders.
class Mailbox {
 public:
  // The progress of the training, without epoch and manifest.
  using Progress = std::function<protocol::ServedEpoch()>;
  // Reads the letters that `blobs` holds and forgets those that nobody fetches any more. All must
  // outlive it. `blobs` holds nothing else. `limits` are those of the members' other
  // requests; the coordinator has none. `progress` is told to the coordinator.
  static absl::StatusOr<std::unique_ptr<Mailbox>> Open(const agreement::SignedManifest& manifest,
                                                       BlobStore& blobs, RequestLimits& limits,
                                                       RequestObserver& observer,
                                                       base::UnixClock clock,
                                                       Progress progress = nullptr);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Begins a request of `total` bytes, of which `first` has all, or at least kMaxMailHeadBytes: its
  // answer, or what takes its content. Everything that can be checked without the content is.
  // `certificate_name` as for RequestHandler::Begin. PermissionDenied for somebody else's mail,
  // NotFound where there is none.
  absl::StatusOr<BegunMail> Begin(std::span<const uint8_t> first, size_t total,
                                  std::optional<std::string_view> certificate_name);

  // Where the coordinator leaves the server's own invitation: `take` gets it whole, and its error
  // goes to the coordinator. Without a call the server takes none.
  using TakeInvitation = std::function<absl::Status(std::span<const uint8_t> invitation)>;
  void OnInvitation(TakeInvitation take);

  // Reads letters that could not be read, and forgets those that have expired, and an enclosure
  // that none names. To be called now and then.
  absl::Status ForgetExpired();

  MailStatus Status() const;

 private:
  friend class IncomingMail;
  struct Kept {
    protocol::Letter letter;
    crypto::Digest digest{};
  };

  Mailbox(const agreement::SignedManifest& manifest, BlobStore& blobs, RequestLimits& limits,
          RequestObserver& observer, base::UnixClock clock, Progress progress);

  // The letter of a site as `blobs` has it; DataLoss for one that is damaged.
  absl::StatusOr<Kept> ReadKept(const crypto::PublicKey& site) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Load() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LoadPrekeys() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Sweep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The sender's number, one behind the last member's for the coordinator.
  absl::StatusOr<uint64_t> Admit(const protocol::MailHead& head, size_t total,
                                 std::optional<std::string_view> certificate_name) const;
  absl::Status CheckMay(const protocol::MailRequest& request, uint64_t sender) const;
  absl::StatusOr<RequestAnswer> Fetch(const protocol::FetchMail& request);
  absl::Status Drop(const protocol::DropMail& request);
  absl::StatusOr<uint64_t> Put(const protocol::PutMail& request, std::span<const uint8_t> part);
  // For mail that comes in parts.
  absl::StatusOr<uint64_t> PutPart(const protocol::PutMail& request, std::span<const uint8_t> part)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<uint64_t> PutWhole(const protocol::PutMail& request,
                                    std::span<const uint8_t> content)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status TakeServerInvitation(const protocol::PutMail& request);
  // For a letter that the coordinator puts.
  absl::StatusOr<protocol::Letter> CheckLetter(const protocol::PutMail& request,
                                               std::span<const uint8_t> content) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<RequestAnswer> Account(const protocol::MailRequest& request, uint64_t sender,
                                        size_t request_bytes, absl::StatusOr<RequestAnswer> answer);

  const agreement::SignedManifest& manifest_;
  RequestLimits& limits_;
  RequestObserver& observer_;
  base::UnixClock clock_;

  mutable base::Mutex mutex_;
  BlobStore& blobs_ ABSL_GUARDED_BY(mutex_);
  std::map<crypto::PublicKey, Kept> letters_ ABSL_GUARDED_BY(mutex_);  // by site
  // The sites whose letters the disk did not give: they are read again, and not swept.
  std::set<crypto::PublicKey> unread_ ABSL_GUARDED_BY(mutex_);
  struct Hooks {
    Progress progress;
    TakeInvitation take = nullptr;
  };
  Hooks hooks_ ABSL_GUARDED_BY(mutex_);
  bool invitation_arrives_ ABSL_GUARDED_BY(mutex_) = false;  // in parts
  // Exchange keys of the prekeys that `blobs` holds, by site.
  std::map<crypto::PublicKey, crypto::ExchangePublicKey> prekeys_ ABSL_GUARDED_BY(mutex_);
  bool enclosure_alone_ ABSL_GUARDED_BY(mutex_) = false;  // its letters are on their way
};

}  // namespace tacet::server

#endif  // TACET_SERVER_MAILBOX_H_
