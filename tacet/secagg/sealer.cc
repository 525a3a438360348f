#include "tacet/secagg/sealer.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "tacet/base/hash.h"
#include "tacet/base/status.h"
#include "tacet/secagg/upload.h"

namespace tacet::secagg {
namespace {

base::SecretBytes DeriveSealKey(const base::SecretBytes& seal_key, std::string_view use,
                                size_t bytes) {
  base::ByteWriter info;
  info.Raw("tacet/1/seal/");
  info.Blob(use);
  return base::HkdfSha256(seal_key.Expose(), info.bytes(), bytes);
}

}  // namespace

base::SecretBytes DrawSealKey(const Attempt& attempt, std::span<const float> update,
                              base::Entropy& entropy) {
  const base::SecretBytes fresh = entropy.Draw(32);
  base::ByteWriter info;
  info.Raw("tacet/1/seal");
  WriteAttempt(attempt, info);
  info.Raw(base::OneTimeHash(
      base::HkdfSha256(fresh.Expose(), base::AsBytes("tacet/1/seal update"), 32),
      {reinterpret_cast<const uint8_t*>(update.data()), update.size_bytes()}));
  base::SecretBytes key = base::HkdfSha256(fresh.Expose(), info.bytes(), 32);
  base::Bytes used = info.Take();
  base::Wipe(used.data(), used.size());  // the hash is a function of the unprotected update
  return key;
}

base::Random SealRandom(const base::SecretBytes& seal_key, std::string_view use) {
  return base::Random(DeriveSealKey(seal_key, use, 32));
}

Sealer::Sealer(const Terms& terms, const Attempt& attempt, const AttemptKeys& keys,
               std::unique_ptr<he::Encryptor> encryptor)
    : terms_(terms),
      attempt_(attempt),
      mechanism_(terms.mechanism()),
      tag_key_(keys.tag_key, terms.dimension()),
      encryptor_(std::move(encryptor)) {}

absl::StatusOr<std::unique_ptr<Sealer>> Sealer::Create(const Terms& terms, const Attempt& attempt,
                                                       const AttemptKeys& keys) {
  const base::Digest public_seed = PublicSeed(attempt);
  TACET_ASSIGN_OR_RETURN(auto encryptor,
                         he::NewEncryptor(terms.aggregation(), public_seed, keys.group_secret));
  return std::unique_ptr<Sealer>(new Sealer(terms, attempt, keys, std::move(encryptor)));
}

absl::StatusOr<SealedUpload> Sealer::Seal(std::span<const float> update,
                                          base::Entropy& entropy) const {
  if (update.size() != terms_.dimension()) {
    return base::InvalidArgument("update has {} values, the manifest says {}", update.size(),
                                 terms_.dimension());
  }
  const base::SecretBytes seal_key = DrawSealKey(attempt_, update, entropy);
  SealedUpload sealed;
  base::SecretVector<float> clipped(update.size());
  sealed.clip = mechanism_.Clip(update, clipped.Expose());
  base::SecretVector<uint32_t> counts(update.size());
  base::Random noise = SealRandom(seal_key, "noise");
  base::Random quantise = SealRandom(seal_key, "quantise");
  mechanism_.NoiseAndQuantize(clipped.Expose(), noise, quantise, counts.Expose());
  TACET_ASSIGN_OR_RETURN(sealed.bytes, SealCounts(counts.Expose(), seal_key));
  return sealed;
}

absl::StatusOr<base::Bytes> Sealer::SealCounts(std::span<const uint32_t> counts,
                                               const base::SecretBytes& seal_key) const {
  SealNonce nonce;
  std::ranges::copy(DeriveSealKey(seal_key, "nonce", nonce.size()).Expose(), nonce.begin());
  const he::Tag tag = tag_key_.Compute(counts, TagLabel(attempt_, nonce));
  base::Bytes ciphertext;
  TACET_RETURN_IF_ERROR(
      encryptor_->Encrypt(counts, DeriveSealKey(seal_key, "encryption", 32), ciphertext));
  return WriteUpload(attempt_, terms_.aggregation(), nonce, tag, ciphertext);
}

}  // namespace tacet::secagg
