// Secrets at rest: encrypted under a passphrase (Argon2id) or under the bytes of a key file
// (docs/formats/keys.md).
#ifndef TACET_CRYPTO_LOCKED_SECRET_H_
#define TACET_CRYPTO_LOCKED_SECRET_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"

namespace tacet::crypto {

// Cost of one guess of a passphrase with Argon2id (version 1.3, one `lane`).
struct Argon2Cost {
  uint64_t passes = 3;                 // 1 to 16
  uint64_t memory_bytes = 256u << 20;  // 8 KiB to 1 GiB
};

// Passphrase or key that unlocks a locked secret.
class Unlocker {
 public:
  static constexpr size_t kMinKeyFileBytes = 32;
  static constexpr size_t kMaxKeyFileBytes = 1 << 16;

  // InvalidArgument for an empty passphrase.
  static absl::StatusOr<Unlocker> FromPassphrase(SecretBytes passphrase, Argon2Cost cost = {});
  // All bytes of a file that was made of 32 or more random ones; InvalidArgument for a shorter or
  // much longer one.
  static absl::StatusOr<Unlocker> FromKeyFile(SecretBytes content);

 private:
  friend absl::StatusOr<base::Bytes> LockSecret(const SecretBytes&, std::string_view,
                                                const Unlocker&, Entropy&);
  friend absl::StatusOr<SecretBytes> UnlockSecret(std::span<const uint8_t>, std::string_view,
                                                  const Unlocker&);
  enum class Method : uint8_t { kPassphrase = 1, kKeyFile = 2 };

  Unlocker(Method method, SecretBytes secret, Argon2Cost cost)
      : method_(method), secret_(std::move(secret)), cost_(cost) {}

  absl::StatusOr<SecretBytes> DeriveKey(std::span<const uint8_t> salt,
                                        const Argon2Cost& cost) const;

  Method method_;
  SecretBytes secret_;
  Argon2Cost cost_;  // for what is locked
};

// `purpose` says in words what the secret is ("site identity"): it is bound to the bytes, so that
// one file cannot replace another. ResourceExhausted when there is no memory for Argon2id.
absl::StatusOr<base::Bytes> LockSecret(const SecretBytes& secret, std::string_view purpose,
                                       const Unlocker& unlocker, Entropy& entropy);

// InvalidArgument when another kind of unlocker is needed; PermissionDenied for a wrong passphrase
// or key file, or altered content, which cannot be told apart; DataLoss when the bytes are not a
// locked secret, are for another purpose, or ask for more work than Argon2Cost allows.
absl::StatusOr<SecretBytes> UnlockSecret(std::span<const uint8_t> locked, std::string_view purpose,
                                         const Unlocker& unlocker);

// The purpose that a locked secret names, unlocked or not; DataLoss when the bytes are none.
absl::StatusOr<std::string> LockedPurpose(std::span<const uint8_t> locked);

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_LOCKED_SECRET_H_
