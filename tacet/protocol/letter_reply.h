// Reply of a site to its letter: whether it has joined the epoch, or which fields of its officer's
// policy leave the decision to a person. It waits at the server for the coordinator
// (docs/design/mailbox.md).
#ifndef TACET_PROTOCOL_LETTER_REPLY_H_
#define TACET_PROTOCOL_LETTER_REPLY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/signing.h"

namespace tacet::protocol {

inline constexpr size_t kMaxReplyBytes = 4096;
inline constexpr size_t kMaxReplyFields = 32;
inline constexpr size_t kMaxReplyFieldBytes = 64;

struct LetterReply {
  crypto::Digest federation{};  // Manifest::federation()
  uint32_t epoch = 0;
  crypto::Digest manifest_hash{};
  crypto::Digest certificate{};  // SHA-256 of the site's own, in the letter
  crypto::Digest letter{};       // SHA-256 of the letter
  bool joined = false;
  // Names of keys, such as privacy.epsilon_per_year, where the site has not joined. No values: they
  // are the officer's, and the server reads this.
  std::vector<std::string> fields = {};

  friend bool operator==(const LetterReply&, const LetterReply&) = default;
};

// Fields beyond kMaxReplyFields are left out, and another text than the name of a key becomes
// "other".
base::Bytes WriteLetterReply(const LetterReply& reply, const crypto::SigningKey& site);
// DataLoss when cut short or altered in form; PermissionDenied unless `site` signed it.
absl::StatusOr<LetterReply> ReadLetterReply(std::span<const uint8_t> bytes,
                                            const crypto::PublicKey& site);

}  // namespace tacet::protocol

#endif  // TACET_PROTOCOL_LETTER_REPLY_H_
