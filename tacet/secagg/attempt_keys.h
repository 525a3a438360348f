// Key schedule: derives the keys of one attempt from an epoch key.
#ifndef TACET_SECAGG_ATTEMPT_KEYS_H_
#define TACET_SECAGG_ATTEMPT_KEYS_H_

#include "tacet/crypto/hash.h"
#include "tacet/crypto/secret.h"
#include "tacet/he/aggregation.h"
#include "tacet/secagg/attempt.h"

namespace tacet::secagg {

// Keys that the members of a federation hold in one attempt, and the server never does. Fresh for
// every (round, attempt): keys of one attempt say nothing about another.
struct AttemptKeys {
  crypto::SecretBytes group_secret;  // of the paper's schemes
  crypto::SecretBytes tag_key;       // of the homomorphic MAC
  crypto::SecretBytes result_key;    // of unmask shares on their way to the members
};

// Each key is HKDF-SHA256(epoch key, "tacet/1/" ‖ name ‖ manifest hash ‖ scheme ‖ epoch ‖ round ‖
// attempt); docs/formats/messages.md. `epoch_key` has 32 bytes.
AttemptKeys DeriveAttemptKeys(const crypto::SecretBytes& epoch_key, he::Scheme scheme,
                              const Attempt& attempt);

// For checkpoints of the state with which the attempt's round begins; the attempt's number is 0.
crypto::SecretBytes DeriveCheckpointKey(const crypto::SecretBytes& epoch_key, he::Scheme scheme,
                                        const Attempt& attempt);

// For digests of parameters and state in the epoch (digest_key.h); round and attempt are 0.
crypto::SecretBytes DeriveDigestKey(const crypto::SecretBytes& epoch_key, he::Scheme scheme,
                                    const Attempt& attempt);

// Seed of the round's public polynomials: a hash of (manifest hash, epoch, round), known to
// everybody, the same for all attempts of the round.
crypto::Digest PublicSeed(const Attempt& attempt);

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_ATTEMPT_KEYS_H_
