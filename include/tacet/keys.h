// Secret keys of a federation's members, and their public halves.
#ifndef TACET_KEYS_H_
#define TACET_KEYS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/types.h"

namespace tacet {

namespace api {
struct Access;
struct EpochSecret;
struct MemberSecret;
}  // namespace api

// Public keys by which a member is known. Everybody must have the same ones: Agreement::digest()
// covers them.
struct MemberPublicKey {
  std::array<uint8_t, 32> signing{};   // Ed25519: verifies votes and unmask shares
  std::array<uint8_t, 32> exchange{};  // X25519: gives a key for each client and committee seat
  std::array<uint8_t, 1184> kem{};     // ML-KEM-768: so does it, and quantum computers do not help

  friend bool operator==(const MemberPublicKey&, const MemberPublicKey&) = default;
};

// Secret keys of one member for one epoch. Copies share one secret, which is wiped from memory with
// the last of them.
class MemberKey {
 public:
  static constexpr size_t kSecretBytes = 128;

  // Made from fresh bytes of the operating system.
  static MemberKey Generate();
  // Made from the bytes that ExposeTo gave. InvalidArgument for another length. The caller wipes
  // `secret`.
  static absl::StatusOr<MemberKey> FromSecret(std::span<const uint8_t> secret);

  const MemberPublicKey& public_key() const;
  // Writes the secret, for storage under encryption. The caller wipes `secret`.
  void ExposeTo(std::span<uint8_t, kSecretBytes> secret) const;

 private:
  friend struct api::Access;
  explicit MemberKey(std::shared_ptr<const api::MemberSecret> parts);

  std::shared_ptr<const api::MemberSecret> parts_;
};

// Secret that all members of an epoch share and the server must never see. It authenticates sums
// and hides unmask shares; alone it decrypts nothing. One member makes it and sends it to the
// others through channels that the server cannot read. Copies share one secret, which is wiped from
// memory with the last of them.
class EpochKey {
 public:
  static constexpr size_t kSecretBytes = 32;

  // Made from fresh bytes of the operating system.
  static EpochKey Generate();
  // Made from the bytes that ExposeTo gave. InvalidArgument for another length. The caller wipes
  // `secret`.
  static absl::StatusOr<EpochKey> FromSecret(std::span<const uint8_t> secret);

  // Names the model with which a federation begins, for a context on which members agree
  // (AgreementOptions::context): HMAC-SHA256 of its values under a key that follows from this one.
  // The server may see it, and cannot confirm guesses of the model.
  Digest InitialModelDigest(std::span<const float> model) const;

  // Writes the secret, for storage under encryption or for another member. The caller wipes
  // `secret`.
  void ExposeTo(std::span<uint8_t, kSecretBytes> secret) const;

 private:
  friend struct api::Access;
  explicit EpochKey(std::shared_ptr<const api::EpochSecret> parts);

  std::shared_ptr<const api::EpochSecret> parts_;
};

}  // namespace tacet

#endif  // TACET_KEYS_H_
