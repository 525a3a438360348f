#include "tacet/simulation/simulated_keys.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tacet/base/bytes.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/pair_masks.h"

namespace tacet::simulation {

SharedSecrets SharedSecrets::Copy() const {
  return {.epoch_key = crypto::SecretBytes::CopyOf(epoch_key.Expose()),
          .exchange_seed = crypto::SecretBytes::CopyOf(exchange_seed.Expose())};
}

namespace {

crypto::SecretBytes SecretOf(const crypto::SecretBytes& exchange_seed, std::string_view label,
                             uint64_t member, size_t bytes) {
  base::ByteWriter info;
  info.Raw(label);
  info.U64(member);
  return crypto::HkdfSha256(exchange_seed.Expose(), info.bytes(), bytes);
}

}  // namespace

crypto::ExchangeKey ExchangeKeyOf(const crypto::SecretBytes& exchange_seed, uint64_t member) {
  return *crypto::ExchangeKey::FromSecret(SecretOf(exchange_seed, "tacet/1/simulated exchange key",
                                                   member, crypto::ExchangeKey::kSecretBytes));
}

crypto::SecretBytes KemSeedOf(const crypto::SecretBytes& exchange_seed, uint64_t member) {
  return SecretOf(exchange_seed, "tacet/1/simulated KEM key", member, crypto::KemKey::kSeedBytes);
}

PairKeys::PairKeys(const SharedSecrets& shared, const agreement::Manifest& manifest,
                   const crypto::Digest& manifest_hash, uint32_t epoch)
    : shared_(shared.Copy()), manifest_hash_(manifest_hash), epoch_(epoch) {
  for (const uint64_t member : manifest.spec().committee_members) {
    seats_.push_back(ExchangeKeyOf(shared_.exchange_seed, member).public_key());
    seat_kem_keys_.push_back(
        crypto::KemKey::FromSeed(KemSeedOf(shared_.exchange_seed, member))->public_key());
  }
}

const PairKeys::OfClient& PairKeys::Of(uint64_t client) {
  {
    const base::MutexLock lock(mutex_);
    if (const auto known = keys_.find(client); known != keys_.end()) return known->second;
  }
  crypto::SecretBytes keys(secagg::kPairKeyBytes * seats_.size());
  const crypto::ExchangeKey own = ExchangeKeyOf(shared_.exchange_seed, client);
  // The seats' copies would give the same secrets to the same process.
  const secagg::MadePacket made =
      *secagg::MakeKeyPacket({.manifest_hash = manifest_hash_, .epoch = epoch_, .client = client},
                             seat_kem_keys_, KemSeedOf(shared_.exchange_seed, client));
  const crypto::Digest list = secagg::ListDigest(made.packet);
  for (uint32_t seat = 0; seat < seats_.size(); ++seat) {
    const crypto::SecretBytes agreed = *own.Agree(seats_[seat]);
    const crypto::SecretBytes key = secagg::DerivePairKey(
        {.agreed = agreed, .shared = made.shared[seat], .epoch_key = shared_.epoch_key},
        {.manifest_hash = manifest_hash_,
         .epoch = epoch_,
         .client = client,
         .seat = seat,
         .list = list});
    std::ranges::copy(key.Expose(), keys.Expose().subspan(secagg::kPairKeyBytes * seat).begin());
  }
  const base::MutexLock lock(mutex_);
  return keys_.try_emplace(client, OfClient{std::move(keys), list}).first->second;
}

}  // namespace tacet::simulation
