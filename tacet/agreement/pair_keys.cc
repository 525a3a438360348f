#include "tacet/agreement/pair_keys.h"

#include <algorithm>

#include "tacet/base/status.h"
#include "tacet/secagg/pair_masks.h"

namespace tacet::agreement {
namespace {

absl::StatusOr<crypto::SecretBytes> PairKey(const Manifest& manifest, const PairSecrets& secrets,
                                            const crypto::ExchangePublicKey& other, uint64_t client,
                                            uint32_t seat) {
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes agreed, secrets.exchange_key.Agree(other));
  return secagg::DerivePairKey(
      agreed, secrets.epoch_key,
      {.manifest_hash = manifest.hash(), .epoch = secrets.epoch, .client = client, .seat = seat});
}

}  // namespace

absl::StatusOr<crypto::SecretBytes> PairKeysWithSeats(const Manifest& manifest,
                                                      const PairSecrets& secrets, uint64_t client) {
  const secagg::Committee& committee = manifest.committee();
  crypto::SecretBytes keys(secagg::kPairKeyBytes * committee.size());
  for (uint32_t seat = 0; seat < committee.size(); ++seat) {
    TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes key,
                           PairKey(manifest, secrets, committee[seat].exchange_key, client, seat));
    std::ranges::copy(key.Expose(), keys.Expose().subspan(secagg::kPairKeyBytes * seat).begin());
  }
  return keys;
}

absl::StatusOr<crypto::SecretBytes> PairKeyOfClient(const Manifest& manifest,
                                                    const PairSecrets& secrets, uint64_t client,
                                                    uint32_t seat) {
  const std::vector<MemberIdentity>& members = manifest.spec().members;
  if (client >= members.size()) {
    return base::NotFound("member {} of {} does not exist", client, members.size());
  }
  return PairKey(manifest, secrets, members[client].exchange_key, client, seat);
}

}  // namespace tacet::agreement
