// Key packet: with it a client and each seat of a committee share a secret of ML-KEM-768 for an
// epoch.
//
// The client encapsulates to the KEM key of each seat, and signs the list of the ciphertexts'
// hashes. The server keeps the packet and gives each seat the signed list with the seat's own
// ciphertext. Everything follows from the client's coins, so a client that was restarted makes the
// same packet. Pair keys are bound to the list (pair_masks.h), and so are rosters: a seat takes one
// list of a member in an epoch (taken_lists.h).
#ifndef TACET_SECAGG_KEY_PACKET_H_
#define TACET_SECAGG_KEY_PACKET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/ml_kem.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"

namespace tacet::secagg {

struct PacketOwner {
  crypto::Digest manifest_hash{};
  uint32_t epoch = 0;
  uint64_t client = 0;  // its member number

  friend bool operator==(const PacketOwner&, const PacketOwner&) = default;
};

struct KeyPacket {
  PacketOwner owner;
  std::vector<crypto::Digest> hashes;  // SHA-256 of the ciphertexts, by seat
  crypto::Signature signature{};       // of the client, over owner and hashes
  // By seat; in a seat's copy its own one only.
  std::vector<crypto::KemCiphertext> ciphertexts;
};

// A packet with the secrets that it shares.
struct MadePacket {
  KeyPacket packet;
  std::vector<crypto::SecretBytes> shared;  // by seat, 32 bytes each
};

// `seat_keys` by seat. The coins are uniform and secret, and stay the same for the whole epoch:
// with others the client would make another packet. It is not signed yet. InvalidArgument for a key
// that is none.
absl::StatusOr<MadePacket> MakeKeyPacket(const PacketOwner& owner,
                                         std::span<const crypto::KemPublicKey> seat_keys,
                                         const crypto::SecretBytes& coins);
void SignKeyPacket(const crypto::SigningKey& key, KeyPacket& packet);

// The bytes of docs/formats/messages.md, "Key packet".
base::Bytes WriteKeyPacket(const KeyPacket& packet);
// The length of one with so many hashes and ciphertexts.
size_t KeyPacketBytes(size_t seats, size_t ciphertexts);
// A whole packet, or the copy of `only`. DataLoss for another length, and for a ciphertext that
// does not have its hash. The signature is not verified.
absl::StatusOr<KeyPacket> ReadKeyPacket(std::span<const uint8_t> bytes, size_t seats,
                                        std::optional<uint32_t> only = std::nullopt);
// A seat's copy of a whole packet, of which nothing is checked.
base::Bytes CopyForSeat(std::span<const uint8_t> packet, size_t seats, uint32_t seat);

bool IsSignedBy(const KeyPacket& packet, const crypto::PublicKey& key);
// SHA-256 of what the client signed.
crypto::Digest ListDigest(const KeyPacket& packet);
// The same of a written packet or copy, of which nothing is checked.
crypto::Digest ListDigest(std::span<const uint8_t> packet, size_t seats);

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_KEY_PACKET_H_
