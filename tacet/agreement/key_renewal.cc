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

bool NamesExchangeKey(std::span<const ManifestMember> members,
                      const crypto::ExchangePublicKey& key) {
  return std::ranges::find(members, key, &ManifestMember::exchange_key) != members.end();
}

bool NamesKemKey(std::span<const ManifestMember> members, const crypto::KemPublicKey& key) {
  return std::ranges::find(members, crypto::Sha256(key), &ManifestMember::kem_digest) !=
         members.end();
}

std::vector<uint64_t> MembersKeepingKeys(std::span<const ManifestMember> earlier,
                                         std::span<const ManifestMember> next) {
  std::set<crypto::ExchangePublicKey> used;
  std::set<crypto::Digest> used_kem;
  for (const ManifestMember& member : earlier) {
    used.insert(member.exchange_key);
    used_kem.insert(member.kem_digest);
  }
  std::vector<uint64_t> keeping;
  for (uint64_t number = 0; number < next.size(); ++number) {
    const ManifestMember& member = next[number];
    if (used.contains(member.exchange_key) || used_kem.contains(member.kem_digest)) {
      keeping.push_back(number);
    }
  }
  return keeping;
}

}  // namespace tacet::agreement
