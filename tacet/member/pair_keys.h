// Pair keys of one member: as a client with every seat, and as a seat with any client.
#ifndef TACET_MEMBER_PAIR_KEYS_H_
#define TACET_MEMBER_PAIR_KEYS_H_

#include <cstdint>

#include "absl/status/statusor.h"

#include "tacet/crypto/secret.h"
#include "tacet/member/member_parts.h"

namespace tacet::member {

// Of this member with all seats, 32 bytes a seat. InvalidArgument when a seat's key is none.
absl::StatusOr<crypto::SecretBytes> PairKeysWithSeats(const MemberParts& parts);

// Of `client` with this member's `seat`.
absl::StatusOr<crypto::SecretBytes> PairKeyOfClient(const MemberParts& parts, uint64_t client,
                                                    uint32_t seat);

}  // namespace tacet::member

#endif  // TACET_MEMBER_PAIR_KEYS_H_
