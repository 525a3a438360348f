// Abstention: a member's signed statement that its upload to an attempt holds none of its data.
//
// It is made where the reason depends on no data: a budget or a policy allows no further attempt.
// It is made for every attempt alike, so it tells nothing about the member's coins.
#ifndef TACET_PROTOCOL_ABSTENTION_H_
#define TACET_PROTOCOL_ABSTENTION_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/signing.h"
#include "tacet/secagg/attempt.h"

namespace tacet::protocol {

// The numbers are part of the format.
enum class AbstentionReason : uint8_t {
  kBudget = 1,  // of the population, or of the training
  kPolicy = 2,  // of a year, by the site's policy
};
std::string_view AbstentionReasonName(AbstentionReason reason);  // budget, policy

struct Abstention {
  uint64_t member = 0;
  secagg::Attempt attempt;
  AbstentionReason reason = AbstentionReason::kBudget;

  friend bool operator==(const Abstention&, const Abstention&) = default;
};

// Whether members of this agreement abstain: every member uploads in every attempt, and none
// because its data were given as often as agreed. Those zeros would follow from coins.
bool MembersAbstain(const agreement::ManifestSpec& spec);

// Fewest members that must not abstain, or an attempt ends and none follows: K_min in a training.
// The answer to a query about fewer sites is of use, and names those that are missing: there at
// least two givers remain besides the members that may pool what they know.
uint64_t MinGivers(const agreement::Manifest& manifest);

base::Bytes WriteAbstention(const Abstention& abstention, const crypto::SigningKey& key);
// DataLoss when cut short or with an unknown reason; FailedPrecondition when it is for another
// manifest; PermissionDenied when the member does not exist or did not sign it.
absl::StatusOr<Abstention> ReadAbstention(std::span<const uint8_t> bytes,
                                          const agreement::SignedManifest& manifest);

// For those who have no more of that manifest than its members' keys, by number. Errors as above.
absl::StatusOr<Abstention> ReadAbstention(std::span<const uint8_t> bytes,
                                          const crypto::Digest& manifest_hash,
                                          std::span<const agreement::MemberIdentity> members);
// The manifest under which an abstention was made, before anything is checked. DataLoss when cut
// short.
absl::StatusOr<crypto::Digest> ManifestOfAbstention(std::span<const uint8_t> bytes);

// For one that was read before: its signature is not verified again.
AbstentionReason ReasonOfAbstention(std::span<const uint8_t> bytes);

// As its member signed it.
struct SignedAbstention {
  Abstention said;
  base::Bytes bytes;
};
// Those of `blobs` that are abstentions from this attempt, one a member, by member. Others are left
// out.
std::vector<SignedAbstention> AbstentionsAmong(std::span<const base::Bytes> blobs,
                                               const secagg::Attempt& attempt,
                                               const agreement::SignedManifest& manifest);
// Names of their members with the reasons: "a, b (budget), c (policy)".
std::string AbstainersInWords(std::span<const SignedAbstention> abstentions,
                              const agreement::SignedManifest& manifest);

}  // namespace tacet::protocol

#endif  // TACET_PROTOCOL_ABSTENTION_H_
