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
#include "tacet/crypto/secret.h"
#include "tacet/protocol/attestation.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/opened_sum.h"

namespace tacet::member {

// The openers of an attempt: those that opener order, key and agreement choose.
std::vector<secagg::OpenerIdentity> OpenersOf(const agreement::SignedManifest& manifest,
                                              const crypto::SecretBytes& epoch_key,
                                              const secagg::Attempt& attempt);

// The attestors of the state with which round `round` begins: the members that would open its
// attempt 0. A server that lacks the epoch key does not know them.
std::vector<uint64_t> AttestorsOf(const agreement::SignedManifest& manifest,
                                  const crypto::SecretBytes& epoch_key, uint32_t round);

// State at the beginning of one round that a majority of attestors attests.
struct AttestedState {
  crypto::Digest model_digest{};
  crypto::Digest state_digest{};

  friend auto operator<=>(const AttestedState&, const AttestedState&) = default;
};

// What more than half of `attestors` state of `round`, each counted for the first thing it states;
// nothing when there is no such majority. Attestations that cannot be read, are of others or of
// another round do not count.
std::optional<AttestedState> MajorityOf(std::span<const base::Bytes> statements,
                                        const agreement::SignedManifest& manifest,
                                        std::span<const uint64_t> attestors, uint32_t round);

}  // namespace tacet::member

#endif  // TACET_MEMBER_ATTESTORS_H_
