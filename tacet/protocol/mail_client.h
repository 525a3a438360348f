// Client of the mailbox: the coordinator or a site puts, fetches and drops mail.
#ifndef TACET_PROTOCOL_MAIL_CLIENT_H_
#define TACET_PROTOCOL_MAIL_CLIENT_H_

#include <cstdint>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/signing.h"
#include "tacet/protocol/mail_request.h"
#include "tacet/protocol/wire.h"

namespace tacet::protocol {

// Each call may be made again, whatever came of it. Errors are those of the wire and the server;
// DataLoss for an answer that is none, or an object above MaxMailBytes. DeadlineExceeded for an
// object that takes more than an hour to fetch.
class MailClient {
 public:
  // `key` and `wire` must outlive it. A call has `most_seconds` for each of its requests.
  MailClient(const crypto::Digest& federation, const crypto::SigningKey& key, Wire& wire,
             uint32_t most_seconds, base::UnixClock clock = base::SystemUnixSeconds)
      : federation_(federation),
        key_(key),
        wire_(wire),
        most_seconds_(most_seconds),
        clock_(std::move(clock)) {}

  const crypto::SigningKey& key() const { return key_; }
  crypto::PublicKey sender() const { return key_.public_key(); }

  // InvalidArgument for an object above MaxMailBytes.
  absl::Status Put(const MailName& name, std::span<const uint8_t> object) const;
  // NotFound where there is none.
  absl::StatusOr<base::Bytes> Fetch(const MailName& name) const;
  // OK when another object, or none, is there.
  absl::Status Drop(const MailName& name, const crypto::Digest& digest) const;

 private:
  absl::StatusOr<base::Bytes> Call(MailBody body, std::span<const uint8_t> content = {}) const;

  crypto::Digest federation_;
  const crypto::SigningKey& key_;
  Wire& wire_;
  uint32_t most_seconds_;
  base::UnixClock clock_;
};

}  // namespace tacet::protocol

#endif  // TACET_PROTOCOL_MAIL_CLIENT_H_
