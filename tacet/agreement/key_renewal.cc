#include "tacet/agreement/key_renewal.h"

#include <algorithm>
#include <set>

namespace tacet::agreement {

bool RenewsExchangeKeys(const EnrolmentRequest& enrolled, const EnrolmentRequest& asked) {
  EnrolmentRequest renewed = enrolled;
  renewed.exchange_keys = asked.exchange_keys;
  renewed.member_signature = asked.member_signature;
  return asked == renewed && asked.exchange_keys.exchange != enrolled.exchange_keys.exchange &&
         asked.exchange_keys.kem != enrolled.exchange_keys.kem;
}

bool NamesExchangeKey(const SignedManifest& manifest, const crypto::ExchangePublicKey& key) {
  return std::ranges::any_of(manifest.members(), [&key](const ManifestMember& member) {
    return member.exchange_key == key;
  });
}

std::vector<uint64_t> MembersKeepingKeys(const SignedManifest& earlier,
                                         const SignedManifest& next) {
  std::set<crypto::ExchangePublicKey> used;
  for (const ManifestMember& member : earlier.members()) used.insert(member.exchange_key);
  std::vector<uint64_t> keeping;
  for (uint64_t member = 0; member < next.members().size(); ++member) {
    if (used.contains(next.members()[member].exchange_key)) keeping.push_back(member);
  }
  return keeping;
}

}  // namespace tacet::agreement
