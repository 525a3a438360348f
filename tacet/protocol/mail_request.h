// Request about the mailbox at the server, by the coordinator or a site (docs/formats/network.md).
//
// It is bound to the federation and not to an epoch: a site that fetches an invitation is an epoch
// behind the server.
#ifndef TACET_PROTOCOL_MAIL_REQUEST_H_
#define TACET_PROTOCOL_MAIL_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/signing.h"

namespace tacet::protocol {

// Name in the certificate with which the coordinator connects. No site can have it
// (agreement::CheckSiteName).
inline constexpr std::string_view kCoordinatorName = "Coordinator";

// The numbers are part of the format.
enum class MailKind : uint8_t {
  kLetter = 1,     // letter.h
  kEnclosure = 2,  // of the letters
  kPrekey = 3,     // agreement::EnrolmentRequest of an enrolled site, for the next epoch
  kReply = 4,      // letter_reply.h
  kServer = 5,     // the server's own invitation; fetched, it is the epoch that the server is in
};

struct MailName {
  MailKind kind = MailKind::kLetter;
  crypto::PublicKey site{};  // signing key; zeros where the mail is not of one site

  friend bool operator==(const MailName&, const MailName&) = default;
};

// The most bytes of one object.
size_t MaxMailBytes(MailKind kind);

// Epoch that a server is in, and how far its training is, as it answers to a fetch of kServer.
struct ServedEpoch {
  uint32_t epoch = 0;
  crypto::Digest manifest_hash{};
  uint32_t finished = 0;  // rounds published, in all epochs of the training
  bool stopped = false;   // no attempt will follow
};
base::Bytes WriteServedEpoch(const ServedEpoch& served);
absl::StatusOr<ServedEpoch> ReadServedEpoch(std::span<const uint8_t> bytes);

struct PutMail {  // u64: how many bytes have arrived; an empty part only asks. The content follows.
  MailName name;
  uint64_t total = 0;
  crypto::Digest digest{};  // SHA-256 of the whole
  uint64_t offset = 0;
};
struct FetchMail {  // u64 total, then a blob of at most kMaxPartBytes from `offset` on
  MailName name;
  uint64_t offset = 0;
};
struct DropMail {  // nothing
  MailName name;
  crypto::Digest digest{};
};
// In the order of the kinds in the format, from 1.
using MailBody = std::variant<PutMail, FetchMail, DropMail>;
// put-mail, fetch-mail, drop-mail; by MailBody::index().
std::string_view MailRequestName(size_t index);

struct MailRequest {
  crypto::PublicKey sender{};  // signing key
  uint64_t time = 0;           // Unix seconds of the sender's clock
  MailBody body;
};

// Whether these first bytes of a request are of one about mail.
bool IsMailRequest(std::span<const uint8_t> first);

// Without content: a longer head is none.
inline constexpr size_t kMaxMailHeadBytes = 512;

// The head; the content of a PutMail, at most kMaxPartBytes, follows it. The signature covers the
// content's length and SHA-256.
base::Bytes WriteMailHead(const MailRequest& request, std::span<const uint8_t> content,
                          const crypto::Digest& federation, const crypto::SigningKey& key);

struct MailHead {
  MailRequest request;
  size_t head_bytes = 0;
  size_t content_bytes = 0;
  crypto::Digest content_digest{};
};
// For a request's first bytes, all of them or at least kMaxMailHeadBytes. DataLoss when cut short
// or larger than MaxMailBytes; FailedPrecondition for another federation; PermissionDenied unless
// the sender signed it. Who the sender is, and the time, are for the caller to check.
absl::StatusOr<MailHead> ReadMailHead(std::span<const uint8_t> first,
                                      const crypto::Digest& federation);

}  // namespace tacet::protocol

#endif  // TACET_PROTOCOL_MAIL_REQUEST_H_
