// Identity of an attempt: its number, and the context to which its messages belong.
#ifndef TACET_SECAGG_ATTEMPT_H_
#define TACET_SECAGG_ATTEMPT_H_

#include <compare>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"

namespace tacet::secagg {

// Number of an attempt within a federation: the key by which ledgers charge and stores sort.
struct AttemptNumber {
  uint32_t epoch = 0;    // which epoch key
  uint32_t round = 0;    // from 0
  uint32_t attempt = 0;  // from 0 within the round

  friend auto operator<=>(const AttemptNumber&, const AttemptNumber&) = default;
};

// The context that every message carries and every key, tag and signature is bound to.
struct Attempt {
  crypto::Digest manifest_hash{};  // what the federation agreed on
  AttemptNumber number;
  crypto::Digest model_digest{};  // DigestKey::OfModel, of the model that training started from

  friend bool operator==(const Attempt&, const Attempt&) = default;
};

inline constexpr size_t kAttemptBytes = 32 + 3 * 4 + 32;

// manifest hash ‖ epoch u32 ‖ round u32 ‖ attempt u32 ‖ model digest.
void WriteAttempt(const Attempt& attempt, base::ByteWriter& writer);
absl::StatusOr<Attempt> ReadAttempt(base::ByteReader& reader);

// FailedPrecondition naming the first field of `got` that differs from `expected`; `what` names the
// message.
absl::Status CheckAttempt(const Attempt& got, const Attempt& expected, std::string_view what);

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_ATTEMPT_H_
