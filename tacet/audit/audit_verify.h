// Offline verification of an audit: computes every figure again from the facts, then checks the
// signature.
#ifndef TACET_AUDIT_AUDIT_VERIFY_H_
#define TACET_AUDIT_AUDIT_VERIFY_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/audit/audit_facts.h"
#include "tacet/audit/audit_file.h"
#include "tacet/base/json.h"
#include "tacet/crypto/hash.h"
#include "tacet/secagg/digest_key.h"

namespace tacet::audit {

struct VerifiedAudit {
  AuditedRun run;
  base::JsonValue record;               // as computed
  std::string signer;                   // fingerprint
  std::vector<std::string> notes = {};  // what was not or could not be checked
};

// Checks, in this order: the facts against each other (agreement, manifests, ledger, rounds), every
// figure computed again from them, that the key that signed is the one which the record names and,
// unless `pinned` is empty, the one with that fingerprint, and the signature. DataLoss names the
// first that does not hold, and says when the signature does not hold either. InvalidArgument when
// `pinned` is not a fingerprint.
absl::StatusOr<VerifiedAudit> VerifyAudit(const AuditFile& file, std::string_view pinned);

inline constexpr std::string_view kReleasedModel = "the released model";
// Which of the run's models this is, in words, by its digest under a key that the record leaves
// out. DataLoss when it is none, or `key` is not that of the epoch in which the model was made.
absl::StatusOr<std::string> CheckModel(const AuditedRun& run, std::span<const float> model,
                                       const secagg::DigestKey& key);

}  // namespace tacet::audit

#endif  // TACET_AUDIT_AUDIT_VERIFY_H_
