// Pair keys of one member: as a client with every seat, and as a seat with any client.
#ifndef TACET_AGREEMENT_PAIR_KEYS_H_
#define TACET_AGREEMENT_PAIR_KEYS_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/ml_kem.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"
#include "tacet/secagg/key_packet.h"

namespace tacet::agreement {

// Secrets of a member from which its pair keys follow, for the call that they are passed to.
struct PairSecrets {
  const crypto::ExchangeKey& exchange_key;
  const crypto::KemKey& kem_key;
  const crypto::SecretBytes& epoch_key;
  uint32_t epoch = 0;
};

struct ClientKeys {
  crypto::SecretBytes pair_keys;  // with all seats, 32 bytes a seat
  base::Bytes packet;             // the same every time: the seats need it (key_packet.h)
};

// For `client`, whose secrets these are. `seat_keys` are the seats' KEM keys. The coins of the
// packet follow from the seed of the client's own KEM key, which is secret and lasts for the epoch.
// InvalidArgument when a seat's key is none.
absl::StatusOr<ClientKeys> KeysWithSeats(const Manifest& manifest, const PairSecrets& secrets,
                                         uint64_t client,
                                         std::span<const crypto::KemPublicKey> seat_keys,
                                         const crypto::SigningKey& signing_key);

// The pair key of the client that made a packet, and the packet's list (secagg::ListDigest).
struct ClientPairKey {
  uint64_t client = 0;
  crypto::Digest list{};
  crypto::SecretBytes key;
};
// With `seat`, whose secrets these are, by its copy of the packet. PermissionDenied when that is of
// another manifest or epoch, or a member of this one did not sign it.
absl::StatusOr<ClientPairKey> PairKeyByPacket(const Manifest& manifest, const PairSecrets& secrets,
                                              uint32_t seat, const secagg::KeyPacket& copy);

// Whether a whole packet is one of `client`. Errors as above; DataLoss when it cannot be read.
absl::Status CheckKeyPacket(const Manifest& manifest, uint32_t epoch, uint64_t client,
                            std::span<const uint8_t> packet);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_PAIR_KEYS_H_
