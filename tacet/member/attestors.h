// Selection of the members whose attestations of a round's initial model are accepted.
#ifndef TACET_MEMBER_ATTESTORS_H_
#define TACET_MEMBER_ATTESTORS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/protocol/attestation.h"

namespace tacet::member {

// The attestors of the state with which a round begins: the members on the committee.
std::vector<uint64_t> AttestorsOf(const agreement::SignedManifest& manifest);

// State at the beginning of one round that protocol::StateQuorum attestors attest.
struct AttestedState {
  crypto::Digest model_digest{};
  crypto::Digest state_digest{};

  friend auto operator<=>(const AttestedState&, const AttestedState&) = default;
};

// Those that can be read and are signed by their members.
std::vector<protocol::Attestation> ReadableAttestations(std::span<const base::Bytes> attestations,
                                                        const agreement::SignedManifest& manifest);

// The statement of as many of `attestors` as protocol::StateQuorum of `round`, each counted for the
// first thing it states; nothing when they are not enough. Attestations of others or of another
// round do not count.
std::optional<AttestedState> MajorityOf(std::span<const protocol::Attestation> attestations,
                                        const agreement::SignedManifest& manifest,
                                        std::span<const uint64_t> attestors, uint32_t round);

}  // namespace tacet::member

#endif  // TACET_MEMBER_ATTESTORS_H_
