// Objection: a member's signed statement that it does not act on what the server announces, and
// why.
//
// It follows from announcements, from objects that the server gives or withholds, and from
// restarts: from no data and from no coin.
#ifndef TACET_PROTOCOL_OBJECTION_H_
#define TACET_PROTOCOL_OBJECTION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/signing.h"
#include "tacet/secagg/attempt.h"

namespace tacet::protocol {

// The numbers are part of the format.
enum class ObjectionReason : uint8_t {
  kRollback = 1,       // the server announced more before
  kFork = 2,           // a round starts from another model than this member's
  kNoClosedRound = 3,  // the server does not give this seat the sum that it announces
  // This seat may have voted in the attempt, and does not know for what: it says nothing in it.
  kMayHaveVoted = 4,
};
// rollback, fork, no-closed-round, may-have-voted
std::string_view ObjectionReasonName(ObjectionReason reason);
std::optional<ObjectionReason> ObjectionReasonNamed(std::string_view name);

struct Objection {
  uint64_t member = 0;
  uint64_t revision = 0;  // of the announcement to which it objects
  // kRollback: the last attempt that this member knows; else the one to which it objects.
  secagg::AttemptNumber attempt;
  ObjectionReason reason = ObjectionReason::kRollback;

  friend bool operator==(const Objection&, const Objection&) = default;
};

base::Bytes WriteObjection(const Objection& objection, const agreement::SignedManifest& manifest,
                           const crypto::SigningKey& key);
// DataLoss when cut short or with an unknown reason; FailedPrecondition when it is for another
// manifest or epoch; PermissionDenied when the member does not exist or did not sign it.
absl::StatusOr<Objection> ReadObjection(std::span<const uint8_t> bytes,
                                        const agreement::SignedManifest& manifest);

}  // namespace tacet::protocol

#endif  // TACET_PROTOCOL_OBJECTION_H_
