#include "tacet/agreement/pair_keys.h"

#include <algorithm>

#include "tacet/base/status.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/pair_masks.h"

namespace tacet::agreement {
namespace {

absl::StatusOr<crypto::SecretBytes> PairKey(const PairSecrets& secrets,
                                            const crypto::ExchangePublicKey& other,
                                            const crypto::SecretBytes& shared,
                                            const secagg::KeyPacket& packet, uint32_t seat) {
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes agreed, secrets.exchange_key.Agree(other));
  return secagg::DerivePairKey({.agreed = agreed, .shared = shared, .epoch_key = secrets.epoch_key},
                               {.manifest_hash = packet.owner.manifest_hash,
                                .epoch = packet.owner.epoch,
                                .client = packet.owner.client,
                                .seat = seat,
                                .list = secagg::ListDigest(packet)});
}

// That a member of this manifest made it, for this epoch.
absl::Status CheckOwner(const Manifest& manifest, uint32_t epoch, const secagg::KeyPacket& packet) {
  const secagg::PacketOwner& owner = packet.owner;
  if (owner.manifest_hash != manifest.hash() || owner.epoch != epoch) {
    return base::PermissionDenied("key packet of member {}: for another manifest or epoch",
                                  owner.client);
  }
  const std::vector<MemberIdentity>& members = manifest.spec().members;
  if (owner.client >= members.size() ||
      !secagg::IsSignedBy(packet, members[owner.client].signing_key)) {
    return base::PermissionDenied("key packet: member {} did not sign it", owner.client);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ClientKeys> KeysWithSeats(const Manifest& manifest, const PairSecrets& secrets,
                                         uint64_t client,
                                         std::span<const crypto::KemPublicKey> seat_keys,
                                         const crypto::SigningKey& signing_key) {
  const secagg::Committee& committee = manifest.committee();
  TACET_ASSIGN_OR_RETURN(
      secagg::MadePacket made,
      secagg::MakeKeyPacket(
          {.manifest_hash = manifest.hash(), .epoch = secrets.epoch, .client = client}, seat_keys,
          secrets.kem_key.seed()));
  secagg::SignKeyPacket(signing_key, made.packet);
  ClientKeys keys{.pair_keys = crypto::SecretBytes(secagg::kPairKeyBytes * committee.size()),
                  .packet = secagg::WriteKeyPacket(made.packet)};
  for (uint32_t seat = 0; seat < committee.size(); ++seat) {
    TACET_ASSIGN_OR_RETURN(
        const crypto::SecretBytes key,
        PairKey(secrets, committee[seat].exchange_key, made.shared[seat], made.packet, seat));
    std::ranges::copy(key.Expose(),
                      keys.pair_keys.Expose().subspan(secagg::kPairKeyBytes * seat).begin());
  }
  return keys;
}

absl::StatusOr<ClientPairKey> PairKeyByPacket(const Manifest& manifest, const PairSecrets& secrets,
                                              uint32_t seat, const secagg::KeyPacket& copy) {
  TACET_RETURN_IF_ERROR(CheckOwner(manifest, secrets.epoch, copy));
  const uint64_t client = copy.owner.client;
  TACET_ASSIGN_OR_RETURN(
      crypto::SecretBytes key,
      PairKey(secrets, manifest.spec().members[client].exchange_key,
              secrets.kem_key.Decapsulate(copy.ciphertexts.front()), copy, seat));
  return ClientPairKey{.client = client, .list = secagg::ListDigest(copy), .key = std::move(key)};
}

absl::Status CheckKeyPacket(const Manifest& manifest, uint32_t epoch, uint64_t client,
                            std::span<const uint8_t> packet) {
  TACET_ASSIGN_OR_RETURN(const secagg::KeyPacket read,
                         secagg::ReadKeyPacket(packet, manifest.committee().size()));
  TACET_RETURN_IF_ERROR(CheckOwner(manifest, epoch, read));
  if (read.owner.client == client) return absl::OkStatus();
  return base::PermissionDenied("key packet: it is of member {}, sent by member {}",
                                read.owner.client, client);
}

}  // namespace tacet::agreement
