#include "tacet/member/pair_keys.h"

#include <algorithm>

#include "tacet/base/status.h"
#include "tacet/secagg/pair_masks.h"

namespace tacet::member {
namespace {

secagg::PairContext ContextOf(const MemberParts& parts, uint64_t client, uint32_t seat) {
  return {.manifest_hash = parts.manifest.manifest().hash(),
          .epoch = parts.manifest.epoch(),
          .client = client,
          .seat = seat};
}

}  // namespace

absl::StatusOr<crypto::SecretBytes> PairKeysWithSeats(const MemberParts& parts) {
  const secagg::Committee& committee = parts.manifest.manifest().committee();
  crypto::SecretBytes keys(secagg::kPairKeyBytes * committee.size());
  for (uint32_t seat = 0; seat < committee.size(); ++seat) {
    TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes agreed,
                           parts.exchange_key.Agree(committee[seat].exchange_key));
    const crypto::SecretBytes key =
        secagg::DerivePairKey(agreed, parts.epoch_key, ContextOf(parts, parts.member, seat));
    std::ranges::copy(key.Expose(), keys.Expose().subspan(secagg::kPairKeyBytes * seat).begin());
  }
  return keys;
}

absl::StatusOr<crypto::SecretBytes> PairKeyOfClient(const MemberParts& parts, uint64_t client,
                                                    uint32_t seat) {
  const auto& members = parts.manifest.manifest().spec().members;
  if (client >= members.size()) {
    return base::NotFound("member {} of {} does not exist", client, members.size());
  }
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes agreed,
                         parts.exchange_key.Agree(members[client].exchange_key));
  return secagg::DerivePairKey(agreed, parts.epoch_key, ContextOf(parts, client, seat));
}

}  // namespace tacet::member
