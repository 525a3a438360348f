// Abstentions of this member (protocol/abstention.h).
#ifndef TACET_MEMBER_OWN_ABSTENTION_H_
#define TACET_MEMBER_OWN_ABSTENTION_H_

#include <optional>

#include "tacet/member/member_parts.h"
#include "tacet/protocol/abstention.h"
#include "tacet/secagg/attempt.h"

namespace tacet::member {

// This member's abstention from an attempt that its ledger refused; nothing where it refused none,
// or where a refusal would show a coin. The ledger is durable, so a new process says the same.
std::optional<protocol::SignedAbstention> OwnAbstention(const MemberParts& parts,
                                                        const secagg::Attempt& attempt);

}  // namespace tacet::member

#endif  // TACET_MEMBER_OWN_ABSTENTION_H_
