#include "tacet/secagg/key_packet.h"

#include <string_view>
#include <utility>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::secagg {
namespace {

constexpr std::string_view kPacket = "key packet";
constexpr std::string_view kListLabel = "tacet/1/key packet";
constexpr std::string_view kCoinsLabel = "tacet/1/key packet coins";
constexpr size_t kCoinBytes = 32;
constexpr size_t kOwnerBytes = 32 + 4 + 8;
constexpr size_t kHashBytes = sizeof(crypto::Digest);
constexpr size_t kCiphertextBytes = sizeof(crypto::KemCiphertext);

void WriteOwner(const PacketOwner& owner, base::ByteWriter& writer) {
  writer.Raw(owner.manifest_hash);
  writer.U32(owner.epoch);
  writer.U64(owner.client);
}

base::Bytes SignedBytes(const KeyPacket& packet) {
  base::ByteWriter writer;
  writer.Raw(kListLabel);
  WriteOwner(packet.owner, writer);
  for (const crypto::Digest& hash : packet.hashes) writer.Raw(hash);
  return writer.Take();
}

size_t BytesBeforeCiphertexts(size_t seats) {
  return base::kPreambleBytes + kOwnerBytes + kHashBytes * seats + crypto::kSignatureBytes;
}

}  // namespace

absl::StatusOr<MadePacket> MakeKeyPacket(const PacketOwner& owner,
                                         std::span<const crypto::KemPublicKey> seat_keys,
                                         const crypto::SecretBytes& coins) {
  MadePacket made{.packet = {.owner = owner, .hashes = {}, .ciphertexts = {}}, .shared = {}};
  for (uint32_t seat = 0; seat < seat_keys.size(); ++seat) {
    base::ByteWriter info;
    info.Raw(kCoinsLabel);
    WriteOwner(owner, info);
    info.U32(seat);
    TACET_ASSIGN_OR_RETURN(
        crypto::Encapsulated sent,
        crypto::EncapsulateFrom(crypto::HkdfSha256(coins.Expose(), info.bytes(), kCoinBytes),
                                seat_keys[seat]));
    made.packet.hashes.push_back(crypto::Sha256(sent.ciphertext));
    made.packet.ciphertexts.push_back(sent.ciphertext);
    made.shared.push_back(std::move(sent.shared));
  }
  return made;
}

void SignKeyPacket(const crypto::SigningKey& key, KeyPacket& packet) {
  packet.signature = key.Sign(SignedBytes(packet));
}

size_t KeyPacketBytes(size_t seats, size_t ciphertexts) {
  return BytesBeforeCiphertexts(seats) + kCiphertextBytes * ciphertexts;
}

base::Bytes WriteKeyPacket(const KeyPacket& packet) {
  base::ByteWriter writer;
  writer.Reserve(KeyPacketBytes(packet.hashes.size(), packet.ciphertexts.size()));
  base::WritePreamble(base::format::kKeyPacket, writer);
  WriteOwner(packet.owner, writer);
  for (const crypto::Digest& hash : packet.hashes) writer.Raw(hash);
  writer.Raw(packet.signature);
  for (const crypto::KemCiphertext& ciphertext : packet.ciphertexts) writer.Raw(ciphertext);
  return writer.Take();
}

absl::StatusOr<KeyPacket> ReadKeyPacket(std::span<const uint8_t> bytes, size_t seats,
                                        std::optional<uint32_t> only) {
  const size_t ciphertexts = only.has_value() ? 1 : seats;
  if (bytes.size() != KeyPacketBytes(seats, ciphertexts)) {
    return base::DataLoss("{}: {} bytes, expected {}", kPacket, bytes.size(),
                          KeyPacketBytes(seats, ciphertexts));
  }
  base::ByteReader reader(bytes, kPacket);
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kKeyPacket, reader));
  KeyPacket packet;
  TACET_ASSIGN_OR_RETURN(packet.owner.manifest_hash, ReadArray<32>(reader, "manifest hash"));
  TACET_ASSIGN_OR_RETURN(packet.owner.epoch, reader.ReadU32("epoch"));
  TACET_ASSIGN_OR_RETURN(packet.owner.client, reader.ReadU64("member"));
  for (size_t seat = 0; seat < seats; ++seat) {
    TACET_ASSIGN_OR_RETURN(packet.hashes.emplace_back(), ReadArray<kHashBytes>(reader, "hash"));
  }
  TACET_ASSIGN_OR_RETURN(packet.signature, ReadArray<crypto::kSignatureBytes>(reader, "signature"));
  for (size_t i = 0; i < ciphertexts; ++i) {
    TACET_ASSIGN_OR_RETURN(packet.ciphertexts.emplace_back(),
                           ReadArray<kCiphertextBytes>(reader, "ciphertext"));
    const size_t seat = only.value_or(static_cast<uint32_t>(i));
    if (crypto::Sha256(packet.ciphertexts.back()) != packet.hashes[seat]) {
      return base::DataLoss("{} of member {}: the ciphertext for seat {} does not have its hash",
                            kPacket, packet.owner.client, seat);
    }
  }
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return packet;
}

base::Bytes CopyForSeat(std::span<const uint8_t> packet, size_t seats, uint32_t seat) {
  const size_t before = BytesBeforeCiphertexts(seats);
  const auto list = packet.first(before);
  const auto own = packet.subspan(before + kCiphertextBytes * seat, kCiphertextBytes);
  base::Bytes copy(list.begin(), list.end());
  copy.insert(copy.end(), own.begin(), own.end());
  return copy;
}

bool IsSignedBy(const KeyPacket& packet, const crypto::PublicKey& key) {
  return crypto::VerifySignature(key, SignedBytes(packet), packet.signature);
}

crypto::Digest ListDigest(const KeyPacket& packet) { return crypto::Sha256(SignedBytes(packet)); }

crypto::Digest ListDigest(std::span<const uint8_t> packet, size_t seats) {
  crypto::Sha256Hasher hasher;
  hasher.Update(base::AsBytes(kListLabel));
  hasher.Update(packet.subspan(base::kPreambleBytes, kOwnerBytes + kHashBytes * seats));
  return hasher.Finish();
}

}  // namespace tacet::secagg
