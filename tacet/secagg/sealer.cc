#include "tacet/secagg/sealer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/secagg/pair_masks.h"
#include "tacet/secagg/upload.h"

namespace tacet::secagg {
namespace {

crypto::SecretBytes DeriveSealKey(const crypto::SecretBytes& seal_key, std::string_view use,
                                  size_t bytes) {
  base::ByteWriter info;
  info.Raw("tacet/1/seal/");
  info.Blob(use);
  return crypto::HkdfSha256(seal_key.Expose(), info.bytes(), bytes);
}

SealNonce NonceOf(const crypto::SecretBytes& seal_key) {
  SealNonce nonce;
  std::ranges::copy(DeriveSealKey(seal_key, "nonce", nonce.size()).Expose(), nonce.begin());
  return nonce;
}

}  // namespace

crypto::SecretBytes DrawSealKey(const Attempt& attempt, std::span<const float> update,
                                crypto::Entropy& entropy) {
  const crypto::SecretBytes fresh = entropy.Draw(32);
  base::ByteWriter info;
  info.Raw("tacet/1/seal");
  WriteAttempt(attempt, info);
  info.Raw(crypto::OneTimeHash(
      crypto::HkdfSha256(fresh.Expose(), base::AsBytes("tacet/1/seal update"), 32),
      {reinterpret_cast<const uint8_t*>(update.data()), update.size_bytes()}));
  crypto::SecretBytes key = crypto::HkdfSha256(fresh.Expose(), info.bytes(), 32);
  base::Bytes used = info.Take();
  crypto::Wipe(used.data(), used.size());  // the hash is a function of the unprotected update
  return key;
}

crypto::Random SealRandom(const crypto::SecretBytes& seal_key, std::string_view use) {
  return crypto::Random(DeriveSealKey(seal_key, use, 32));
}

Sealer::Sealer(const Terms& terms, const Attempt& attempt, const AttemptKeys& keys,
               std::unique_ptr<he::Encryptor> encryptor)
    : terms_(terms),
      attempt_(attempt),
      mechanism_(terms.mechanism()),
      tag_key_(keys.tag_key, terms.dimension(), TagContext(attempt)),
      encryptor_(std::move(encryptor)) {}

absl::StatusOr<std::unique_ptr<Sealer>> Sealer::Create(const Terms& terms, const Attempt& attempt,
                                                       const AttemptKeys& keys) {
  const crypto::Digest public_seed = PublicSeed(attempt);
  const he::AggregationParams& params = terms.aggregation();
  TACET_ASSIGN_OR_RETURN(auto encryptor,
                         params.scheme() == he::Scheme::kCompact
                             ? he::NewCompactEncryptor(params, public_seed)
                             : he::NewPaperEncryptor(params, public_seed, keys.group_secret));
  return std::unique_ptr<Sealer>(new Sealer(terms, attempt, keys, std::move(encryptor)));
}

absl::StatusOr<SealedUpload> Sealer::Seal(std::span<const float> update,
                                          const crypto::SecretBytes& pair_keys,
                                          crypto::Entropy& entropy) const {
  if (update.size() != terms_.dimension()) {
    return base::InvalidArgument("update has {} values, the manifest says {}", update.size(),
                                 terms_.dimension());
  }
  const crypto::SecretBytes seal_key = DrawSealKey(attempt_, update, entropy);
  const dp::Clipping clipping = mechanism_.ClippingOf(update);
  crypto::Random noise = SealRandom(seal_key, "noise");
  crypto::Random quantise = SealRandom(seal_key, "quantise");
  dp::NoiseAndQuantization protection(mechanism_, noise, quantise);
  const uint64_t block = terms_.aggregation().values_per_polynomial();
  crypto::SecretVector<float> clipped(std::min<uint64_t>(block, update.size()));
  crypto::SecretVector<uint32_t> counts(clipped.size());
  const auto protect = [&](uint64_t first, uint64_t size) {
    const std::span<float> part = clipped.Expose().first(size);
    clipping.Apply(update.subspan(first, size), part);
    protection.Next(part, counts.Expose().first(size));
    return std::span<const uint32_t>(counts.Expose().first(size));
  };
  TACET_ASSIGN_OR_RETURN(base::Bytes bytes, SealBlocks(protect, pair_keys, seal_key));
  return SealedUpload{
      .bytes = std::move(bytes), .nonce = NonceOf(seal_key), .clip = clipping.report()};
}

absl::StatusOr<base::Bytes> Sealer::SealBlocks(const CountsOfBlock& counts_of,
                                               const crypto::SecretBytes& pair_keys,
                                               const crypto::SecretBytes& seal_key) const {
  static_assert(dp::NoiseAndQuantization::kBlock <= he::kTagBlock);
  const he::AggregationParams& params = terms_.aggregation();
  const SealNonce nonce = NonceOf(seal_key);
  base::Bytes upload = BeginUpload(attempt_, params, nonce);
  const crypto::SecretBytes encryption_key = DeriveSealKey(seal_key, "encryption", 32);
  crypto::SecretVector<uint16_t> masks(params.mask_words());
  if (params.scheme() == he::Scheme::kCompact) {
    const size_t words = params.sharing().mask_words();
    const size_t seats = params.committee().seats;
    if (pair_keys.size() != kPairKeyBytes * seats) {
      return base::InvalidArgument("`pair_keys` has {} bytes, the committee has {} seats of {}",
                                   pair_keys.size(), seats, kPairKeyBytes);
    }
    for (size_t seat = 0; seat < seats; ++seat) {
      ExpandMask(pair_keys.Expose().subspan(kPairKeyBytes * seat, kPairKeyBytes), attempt_, nonce,
                 masks.Expose().subspan(seat * words, words));
    }
  }
  TACET_ASSIGN_OR_RETURN(
      const auto encryption,
      encryptor_->Begin({.key = encryption_key, .masks = masks.Expose()}, CiphertextOf(upload)));
  he::Tag tag = tag_key_.Mask(nonce);
  const uint64_t block = params.values_per_polynomial();
  for (uint64_t first = 0; first < params.dimension(); first += block) {
    const std::span<const uint32_t> counts =
        counts_of(first, std::min(block, params.dimension() - first));
    tag_key_.Accumulate(first, counts, tag);
    encryption->Append(counts);
  }
  encryption->Finish(tag);
  crypto::Wipe(&tag, sizeof(tag));  // it says something about the counts to every member
  FinishUpload(upload);
  return upload;
}

}  // namespace tacet::secagg
