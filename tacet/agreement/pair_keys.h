// Pair keys of one member: as a client with every seat, and as a seat with any client.
#ifndef TACET_AGREEMENT_PAIR_KEYS_H_
#define TACET_AGREEMENT_PAIR_KEYS_H_

#include <cstdint>

#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/secret.h"

namespace tacet::agreement {

// Secrets of a member from which its pair keys follow, for the call that they are passed to.
struct PairSecrets {
  const crypto::ExchangeKey& exchange_key;
  const crypto::SecretBytes& epoch_key;
  uint32_t epoch = 0;
};

// Of `client`, whose secrets these are, with all seats, 32 bytes a seat. InvalidArgument when a
// seat's key is none.
absl::StatusOr<crypto::SecretBytes> PairKeysWithSeats(const Manifest& manifest,
                                                      const PairSecrets& secrets, uint64_t client);

// Of `client` with `seat`, whose secrets these are. NotFound for a client that is not a member.
absl::StatusOr<crypto::SecretBytes> PairKeyOfClient(const Manifest& manifest,
                                                    const PairSecrets& secrets, uint64_t client,
                                                    uint32_t seat);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_PAIR_KEYS_H_
