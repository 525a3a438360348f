// Rules for fresh exchange keys: renewed requests, and members that keep a key of an earlier epoch.
#ifndef TACET_AGREEMENT_KEY_RENEWAL_H_
#define TACET_AGREEMENT_KEY_RENEWAL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tacet/agreement/manifest_member.h"
#include "tacet/agreement/member_keys.h"

namespace tacet::agreement {

// Whether `asked` is the request of the enrolled member with another exchange key, another KEM key
// and nothing else changed. Its signature then shows that the member asks, and no fingerprint is
// needed.
bool RenewsExchangeKeys(const EnrolmentRequest& enrolled, const EnrolmentRequest& asked);

// Whether one of `members` has the exchange key, or the KEM key, `key`.
bool NamesExchangeKey(std::span<const ManifestMember> members,
                      const crypto::ExchangePublicKey& key);
bool NamesKemKey(std::span<const ManifestMember> members, const crypto::KemPublicKey& key);

// Members of `next`, by number, with an exchange key or a KEM key that some member of `earlier`
// has.
std::vector<uint64_t> MembersKeepingKeys(std::span<const ManifestMember> earlier,
                                         std::span<const ManifestMember> next);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_KEY_RENEWAL_H_
