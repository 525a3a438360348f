// Keyed digest of the data of a run. An unkeyed digest lets anyone who knows all records but one
// confirm a guess of the last (epsilon = infinity), so none is ever written, printed or sent.
#ifndef TACET_LEDGER_DATA_DIGEST_H_
#define TACET_LEDGER_DATA_DIGEST_H_

#include <cstddef>
#include <string_view>

#include "tacet/crypto/hash.h"
#include "tacet/crypto/secret.h"

namespace tacet::ledger {

inline constexpr size_t kDataKeyBytes = 32;

// Uses of data digests; digests of different uses have nothing in common.
inline constexpr std::string_view kRunDigest = "run";
inline constexpr std::string_view kRankDigest = "rank";
inline constexpr std::string_view kAttackDigest = "attack";

// HMAC-SHA256(key, "tacet/1/data digest" ‖ 0 ‖ use ‖ 0 ‖ data): `key` is a secret of kDataKeyBytes,
// `data` a collision-resistant digest of the samples that exists in memory only.
crypto::Digest KeyedDataDigest(const crypto::SecretBytes& key, std::string_view use,
                               const crypto::Digest& data);

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_DATA_DIGEST_H_
