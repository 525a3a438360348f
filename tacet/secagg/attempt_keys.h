// Key schedule: derives the keys of one attempt from an epoch key.
#ifndef TACET_SECAGG_ATTEMPT_KEYS_H_
#define TACET_SECAGG_ATTEMPT_KEYS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tacet/crypto/hash.h"
#include "tacet/crypto/secret.h"
#include "tacet/he/aggregation.h"
#include "tacet/secagg/attempt.h"

namespace tacet::secagg {

// Keys that the members of a federation hold in one attempt, and the server never does. Fresh for
// every (round, attempt): an attacker that makes openers answer questions about one attempt learns
// nothing that helps with another.
struct AttemptKeys {
  crypto::SecretBytes group_secret;  // opens the sum of key envelopes
  crypto::SecretBytes tag_key;       // of the homomorphic MAC
  crypto::SecretBytes result_key;    // the opened sum on its way to the members
};

// Each key is HKDF-SHA256(epoch key, "tacet/1/" ‖ name ‖ manifest hash ‖ scheme ‖ epoch ‖ round ‖
// attempt); docs/formats/messages.md. `epoch_key` has 32 bytes.
AttemptKeys DeriveAttemptKeys(const crypto::SecretBytes& epoch_key, he::Scheme scheme,
                              const Attempt& attempt);

// Of checkpoints of the state with which the attempt's round begins; the attempt's number is 0.
crypto::SecretBytes DeriveCheckpointKey(const crypto::SecretBytes& epoch_key, he::Scheme scheme,
                                        const Attempt& attempt);

// Seed of the round's public polynomials: a hash of (manifest hash, epoch, round), known to
// everybody, the same for all attempts of the round.
crypto::Digest PublicSeed(const Attempt& attempt);

// The members that may open this attempt: the first `count` in the order of a pseudo-random
// function of the member's number under a key that the server lacks, lowest first. All members
// when there are fewer than `count`. Numbers are 0, ..., members - 1.
std::vector<uint64_t> ChooseOpeners(const crypto::SecretBytes& epoch_key, he::Scheme scheme,
                                    const Attempt& attempt, uint64_t members, uint32_t count);

// Openers that must agree: more than half of `openers`.
constexpr size_t Majority(size_t openers) { return openers / 2 + 1; }

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_ATTEMPT_KEYS_H_
