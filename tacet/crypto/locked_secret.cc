#include "tacet/crypto/locked_secret.h"

#include <algorithm>
#include <string>

#include <sodium.h>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/crypto/aead.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/sodium.h"

namespace tacet::crypto {
namespace {

constexpr size_t kSaltBytes = crypto_pwhash_SALTBYTES;
constexpr size_t kMaxPurposeBytes = 64;
constexpr uint64_t kMinMemory = crypto_pwhash_MEMLIMIT_MIN;
constexpr uint64_t kMaxMemory = uint64_t{1} << 30;
constexpr uint64_t kMaxPasses = 16;

absl::Status CheckCost(const Argon2Cost& cost) {
  if (cost.passes < 1 || cost.passes > kMaxPasses || cost.memory_bytes < kMinMemory ||
      cost.memory_bytes > kMaxMemory) {
    return base::InvalidArgument(
        "Argon2id with {} passes over {} bytes: 1 to {} over {} to {} are allowed", cost.passes,
        cost.memory_bytes, kMaxPasses, kMinMemory, kMaxMemory);
  }
  return absl::OkStatus();
}

// Everything before the encrypted part, which is bound to it.
struct LockHeader {
  uint8_t method = 0;
  Argon2Cost cost;
  base::Bytes salt;
  std::string purpose;
};

base::Bytes WriteHeader(const LockHeader& header) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kLockedSecret, writer);
  writer.U8(header.method);
  writer.U64(header.cost.passes);
  writer.U64(header.cost.memory_bytes);
  writer.Raw(header.salt);
  writer.Blob(header.purpose);
  return writer.Take();
}

absl::StatusOr<LockHeader> ReadHeader(base::ByteReader& reader) {
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kLockedSecret, reader));
  LockHeader header;
  TACET_ASSIGN_OR_RETURN(header.method, reader.ReadU8("method"));
  TACET_ASSIGN_OR_RETURN(header.cost.passes, reader.ReadU64("passes"));
  TACET_ASSIGN_OR_RETURN(header.cost.memory_bytes, reader.ReadU64("memory"));
  TACET_ASSIGN_OR_RETURN(const auto salt, reader.ReadBytes(kSaltBytes, "salt"));
  header.salt.assign(salt.begin(), salt.end());
  TACET_ASSIGN_OR_RETURN(header.purpose, reader.ReadString(kMaxPurposeBytes, "purpose"));
  return header;
}

}  // namespace

absl::StatusOr<Unlocker> Unlocker::FromPassphrase(SecretBytes passphrase, Argon2Cost cost) {
  if (passphrase.empty()) return base::InvalidArgument("the passphrase is empty");
  TACET_RETURN_IF_ERROR(CheckCost(cost));
  return Unlocker(Method::kPassphrase, std::move(passphrase), cost);
}

absl::StatusOr<Unlocker> Unlocker::FromKeyFile(SecretBytes content) {
  if (content.size() < kMinKeyFileBytes || content.size() > kMaxKeyFileBytes) {
    return base::InvalidArgument("the key file has {} bytes, expected {} to {} random ones",
                                 content.size(), kMinKeyFileBytes, kMaxKeyFileBytes);
  }
  return Unlocker(Method::kKeyFile, std::move(content), {.passes = 0, .memory_bytes = 0});
}

absl::StatusOr<SecretBytes> Unlocker::DeriveKey(std::span<const uint8_t> salt,
                                                const Argon2Cost& cost) const {
  if (method_ == Method::kKeyFile) {
    base::ByteWriter info;
    info.Raw("tacet/1/key file");
    info.Raw(salt);
    return HkdfSha256(secret_.Expose(), info.bytes(), kAeadKeyBytes);
  }
  EnsureSodium();
  SecretBytes key(kAeadKeyBytes);
  const std::string_view passphrase = base::AsText(secret_.Expose());
  if (crypto_pwhash(key.Expose().data(), key.size(), passphrase.data(), passphrase.size(),
                    salt.data(), cost.passes, cost.memory_bytes,
                    crypto_pwhash_ALG_ARGON2ID13) != 0) {
    return base::ResourceExhausted(
        "{} MiB of memory, which the passphrase needs, are not to be had", cost.memory_bytes >> 20);
  }
  return key;
}

absl::StatusOr<base::Bytes> LockSecret(const SecretBytes& secret, std::string_view purpose,
                                       const Unlocker& unlocker, Entropy& entropy) {
  LockHeader header{.method = static_cast<uint8_t>(unlocker.method_),
                    .cost = unlocker.cost_,
                    .salt = base::Bytes(kSaltBytes),
                    .purpose = std::string(purpose)};
  entropy.Fill(header.salt);
  TACET_ASSIGN_OR_RETURN(const SecretBytes key, unlocker.DeriveKey(header.salt, header.cost));
  base::Bytes locked = WriteHeader(header);
  const base::Bytes sealed = AeadSeal(key, secret.Expose(), locked, entropy);
  locked.insert(locked.end(), sealed.begin(), sealed.end());
  return locked;
}

absl::StatusOr<SecretBytes> UnlockSecret(std::span<const uint8_t> locked, std::string_view purpose,
                                         const Unlocker& unlocker) {
  base::ByteReader reader(locked, "locked secret");
  TACET_ASSIGN_OR_RETURN(const LockHeader header, ReadHeader(reader));
  if (header.purpose != purpose) {
    return base::DataLoss("locked secret: it is \"{}\", expected \"{}\"", header.purpose, purpose);
  }
  if (header.method != static_cast<uint8_t>(unlocker.method_)) {
    const bool passphrase = header.method == static_cast<uint8_t>(Unlocker::Method::kPassphrase);
    return base::InvalidArgument("the {} is locked with a {}", purpose,
                                 passphrase ? "passphrase" : "key file");
  }
  if (unlocker.method_ == Unlocker::Method::kPassphrase) {
    if (const absl::Status cost = CheckCost(header.cost); !cost.ok()) {
      return base::DataLoss("locked secret: {}", base::Message(cost));
    }
  }
  TACET_ASSIGN_OR_RETURN(const SecretBytes key, unlocker.DeriveKey(header.salt, header.cost));
  const size_t header_bytes = locked.size() - reader.remaining();
  absl::StatusOr<SecretBytes> secret =
      AeadOpen(key, locked.subspan(header_bytes), locked.first(header_bytes));
  if (secret.ok()) return secret;
  return base::PermissionDenied(
      "the {} does not open: a wrong {}, or the file was altered", purpose,
      unlocker.method_ == Unlocker::Method::kPassphrase ? "passphrase" : "key file");
}

absl::StatusOr<std::string> LockedPurpose(std::span<const uint8_t> locked) {
  base::ByteReader reader(locked, "locked secret");
  TACET_ASSIGN_OR_RETURN(LockHeader header, ReadHeader(reader));
  return std::move(header.purpose);
}

}  // namespace tacet::crypto
