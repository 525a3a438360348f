// Rule by which a site joins an invitation without a person: everything that the invitation changes
// is inside the officer's policy, and the members are ones that a person accepted. The rule is a
// function of what was signed, and no table of data is read for it.
#ifndef TACET_POLICY_ACCEPTANCE_H_
#define TACET_POLICY_ACCEPTANCE_H_

#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/crypto/signing.h"
#include "tacet/policy/change_kind.h"
#include "tacet/policy/permission.h"
#include "tacet/policy/site_policy.h"

namespace tacet::policy {

struct Acceptance {
  std::vector<ChangeKind> kinds;      // that the invitation brings
  std::vector<Violation> objections;  // why a person has to decide; none: the site joins

  bool accepted() const { return objections.empty(); }
};

struct InvitationChange {
  const agreement::SignedManifest& before;  // joined last
  const agreement::SignedManifest& now;     // checked to continue its chain
  // All epochs up to `now`, that of `before` among them (Membership::chain).
  std::span<const agreement::EpochLink> chain;
  // Signing keys of members of `before` that a person at this site has accepted.
  const std::set<crypto::PublicKey>& known;
  DataUse use;  // its `records` are not judged
  // The agreed model is trained by code of the site's own.
  bool external_model = false;
};

// An invitation is accepted where
// - the policy accepts each of its kinds (acceptance.kinds);
// - every committee seat and at least K_min members have a known key that was a member's in each
//   epoch since; the others are at most acceptance.unknown_members and at most c;
// - no seat has an exchange key of an earlier epoch;
// - every limit of the policy is kept, of which epsilon covers all terms of the mechanism
//   (acceptance.epsilon, privacy.epsilon_per_year);
// - no term that the policy limits is weaker than before, unless it follows from the number of
//   members and one has left;
// - a training that continues has no weaker term of its mechanism, and the same annex.
// Errors of ViolationsOf.
absl::StatusOr<Acceptance> JudgeInvitation(const SitePolicy& policy,
                                           const InvitationChange& change);

// The rule that decides whether a term may change without a person.
enum class JudgedBy : uint8_t {
  kChain,         // agreement::CheckContinues refuses another one
  kKind,          // it is the kind of change: acceptance.kinds
  kKeys,          // the keys of members and seats
  kPolicy,        // a limit of its own in the policy, and itself: it is not weaker than before
  kUse,           // as kPolicy, but a query after a training, or the reverse, may be weaker
  kParticipants,  // as kUse, but it may be weaker after a member has left
  kCommittee,     // as kPolicy, but it may be weaker after a member has left
  kMechanism,     // epsilon; in a training that continues also itself: it is not weaker than before
  kNotWeaker,     // itself: it is not weaker than before, whatever begins
  kMembers,       // epsilon; it follows from the number of members
  kSame,          // a training that begins chooses it, one that continues keeps it
};
struct JudgedTerm {
  std::string_view key;  // of agreement::Term
  JudgedBy by;
};
// Every signed term; one that is missing here is never accepted when it changes.
std::span<const JudgedTerm> JudgedTerms();

}  // namespace tacet::policy

#endif  // TACET_POLICY_ACCEPTANCE_H_
