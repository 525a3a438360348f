// Attestation: a member's signed digest of the state with which a round begins. Members that were
// absent use attestations to recognise a genuine checkpoint.
#ifndef TACET_PROTOCOL_ATTESTATION_H_
#define TACET_PROTOCOL_ATTESTATION_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/signing.h"
#include "tacet/he/key_sharing.h"
#include "tacet/protocol/checkpoint.h"

namespace tacet::protocol {

struct Attestation {
  uint64_t member = 0;
  uint32_t round = 0;             // that begins with this state
  crypto::Digest model_digest{};  // StateDigests::model
  crypto::Digest state_digest{};  // StateDigests::state

  friend bool operator==(const Attestation&, const Attestation&) = default;
};

// Seats that must attest one state before a member takes it for the federation's: a majority of the
// committee, and more than its corrupt seats, so that an honest one is among them.
size_t StateQuorum(const agreement::Manifest& manifest);
// max(floor(seats / 2), corrupt) + 1.
size_t StateQuorum(const he::CommitteeShape& committee);

base::Bytes WriteAttestation(const Attestation& attestation,
                             const agreement::SignedManifest& manifest,
                             const crypto::SigningKey& key);
// The same by those who have no more of the manifest than its hash.
base::Bytes WriteAttestation(const Attestation& attestation, const crypto::Digest& manifest_hash,
                             uint32_t epoch, const crypto::SigningKey& key);
// DataLoss when cut short; FailedPrecondition when it is for another manifest or epoch;
// PermissionDenied when the member does not exist or did not sign it.
absl::StatusOr<Attestation> ReadAttestation(std::span<const uint8_t> bytes,
                                            const agreement::SignedManifest& manifest);

// The manifest under which a attestation was made, before anything is checked. DataLoss when cut
// short.
absl::StatusOr<crypto::Digest> ManifestOfAttestation(std::span<const uint8_t> bytes);
// For those who have no more of that manifest than its members' keys, by number. Errors as above.
absl::StatusOr<Attestation> ReadAttestation(std::span<const uint8_t> bytes,
                                            const crypto::Digest& manifest_hash,
                                            std::span<const agreement::MemberIdentity> members);

}  // namespace tacet::protocol

#endif  // TACET_PROTOCOL_ATTESTATION_H_
