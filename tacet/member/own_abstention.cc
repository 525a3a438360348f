#include "tacet/member/own_abstention.h"

#include <algorithm>

#include "tacet/member/upload_actions.h"

namespace tacet::member {

std::optional<protocol::SignedAbstention> OwnAbstention(const MemberParts& parts,
                                                        const secagg::Attempt& attempt) {
  const bool speaks = protocol::MembersAbstain(parts.manifest.manifest().spec()) &&
                      parts.rule == ledger::ChargingRule::kAnnouncedAttempts;
  const ledger::ChargeLabel label{.manifest_hash = attempt.manifest_hash, .number = attempt.number};
  const auto& refusals = parts.ledger.refusals();
  if (!speaks ||
      std::ranges::find(refusals, label, &ledger::LedgerRefusal::label) == refusals.end()) {
    return std::nullopt;
  }
  using Reason = protocol::AbstentionReason;
  const protocol::Abstention said{
      .member = parts.member,
      .attempt = attempt,
      .reason = parts.ledger.OnlyYearIsSpent(CostOf(parts)) ? Reason::kPolicy : Reason::kBudget};
  return protocol::SignedAbstention{said, protocol::WriteAbstention(said, parts.signing_key)};
}

}  // namespace tacet::member
