#include "tacet/keys.h"

#include <algorithm>
#include <utility>

#include "tacet/api/core/parts.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/secagg/digest_key.h"

namespace tacet {
namespace {

using crypto::SecretBytes;

std::shared_ptr<const api::MemberSecret> MemberSecretOf(crypto::SigningKey signing,
                                                        crypto::ExchangeKey exchange,
                                                        crypto::KemKey kem) {
  const MemberPublicKey public_key{
      .signing = signing.public_key(), .exchange = exchange.public_key(), .kem = kem.public_key()};
  return std::make_shared<const api::MemberSecret>(
      api::MemberSecret{.signing = std::move(signing),
                        .exchange = std::move(exchange),
                        .kem = std::move(kem),
                        .public_key = public_key});
}

absl::Status CheckLength(std::span<const uint8_t> secret, size_t expected, const char* what) {
  if (secret.size() == expected) return absl::OkStatus();
  return base::InvalidArgument("{} has {} bytes, expected {}", what, secret.size(), expected);
}

}  // namespace

static_assert(MemberKey::kSecretBytes == crypto::SigningKey::kSeedBytes +
                                             crypto::ExchangeKey::kSecretBytes +
                                             crypto::KemKey::kSeedBytes);

MemberKey::MemberKey(std::shared_ptr<const api::MemberSecret> parts) : parts_(std::move(parts)) {}

MemberKey MemberKey::Generate() {
  crypto::SystemEntropy entropy;
  return MemberKey(MemberSecretOf(crypto::SigningKey::Generate(entropy),
                                  crypto::ExchangeKey::Generate(entropy),
                                  crypto::KemKey::Generate(entropy)));
}

absl::StatusOr<MemberKey> MemberKey::FromSecret(std::span<const uint8_t> secret) {
  TACET_RETURN_IF_ERROR(CheckLength(secret, kSecretBytes, "the secret of a member's key"));
  TACET_ASSIGN_OR_RETURN(crypto::SigningKey signing,
                         crypto::SigningKey::FromSeed(
                             SecretBytes::CopyOf(secret.first(crypto::SigningKey::kSeedBytes))));
  TACET_ASSIGN_OR_RETURN(crypto::ExchangeKey exchange,
                         crypto::ExchangeKey::FromSecret(SecretBytes::CopyOf(secret.subspan(
                             crypto::SigningKey::kSeedBytes, crypto::ExchangeKey::kSecretBytes))));
  TACET_ASSIGN_OR_RETURN(
      crypto::KemKey kem,
      crypto::KemKey::FromSeed(SecretBytes::CopyOf(secret.last(crypto::KemKey::kSeedBytes))));
  return MemberKey(MemberSecretOf(std::move(signing), std::move(exchange), std::move(kem)));
}

const MemberPublicKey& MemberKey::public_key() const { return parts_->public_key; }

void MemberKey::ExposeTo(std::span<uint8_t, kSecretBytes> secret) const {
  const SecretBytes seed = parts_->signing.Seed();
  auto at = std::ranges::copy(seed.Expose(), secret.begin()).out;
  at = std::ranges::copy(parts_->exchange.secret().Expose(), at).out;
  std::ranges::copy(parts_->kem.seed().Expose(), at);
}

EpochKey::EpochKey(std::shared_ptr<const api::EpochSecret> parts) : parts_(std::move(parts)) {}

EpochKey EpochKey::Generate() {
  crypto::SystemEntropy entropy;
  return EpochKey(std::make_shared<const api::EpochSecret>(
      api::EpochSecret{.key = entropy.Draw(kSecretBytes)}));
}

absl::StatusOr<EpochKey> EpochKey::FromSecret(std::span<const uint8_t> secret) {
  TACET_RETURN_IF_ERROR(CheckLength(secret, kSecretBytes, "the epoch key"));
  return EpochKey(std::make_shared<const api::EpochSecret>(
      api::EpochSecret{.key = SecretBytes::CopyOf(secret)}));
}

Digest EpochKey::InitialModelDigest(std::span<const float> model) const {
  return secagg::DigestKey(crypto::HkdfSha256(parts_->key.Expose(),
                                              base::AsBytes("tacet/1/initial model"),
                                              secagg::DigestKey::kBytes))
      .OfModel(model);
}

void EpochKey::ExposeTo(std::span<uint8_t, kSecretBytes> secret) const {
  std::ranges::copy(parts_->key.Expose(), secret.begin());
}

}  // namespace tacet
