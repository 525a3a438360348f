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

bool NamesKemKey(const SignedManifest& manifest, const crypto::KemPublicKey& key) {
  const crypto::Digest digest = crypto::Sha256(key);
  return std::ranges::any_of(manifest.members(), [&digest](const ManifestMember& member) {
    return member.kem_digest == digest;
  });
}

std::vector<uint64_t> MembersKeepingKeys(const SignedManifest& earlier,
                                         const SignedManifest& next) {
  std::set<crypto::ExchangePublicKey> used;
  std::set<crypto::Digest> used_kem;
  for (const ManifestMember& member : earlier.members()) {
    used.insert(member.exchange_key);
    used_kem.insert(member.kem_digest);
  }
  std::vector<uint64_t> keeping;
  for (uint64_t number = 0; number < next.members().size(); ++number) {
    const ManifestMember& member = next.members()[number];
    if (used.contains(member.exchange_key) || used_kem.contains(member.kem_digest)) {
      keeping.push_back(number);
    }
  }
  return keeping;
}

}  // namespace tacet::agreement
