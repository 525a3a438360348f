#include "tacet/report/audit_verify.h"

#include <algorithm>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/report/audit_record.h"

namespace tacet::report {
namespace {

absl::Status CheckSigner(const AuditFile& file, const AuditFacts& facts, std::string_view pinned) {
  const std::string signer = base::KeyFingerprint(file.signer);
  if (file.signer != facts.signer) {
    return base::DataLoss("signed by the key {}, the record names the key {}", signer,
                          base::KeyFingerprint(facts.signer));
  }
  if (!pinned.empty() && signer != pinned) {
    return base::DataLoss("signed by the key {}, asked for was {}", signer, pinned);
  }
  return CheckSignature(file);
}

absl::StatusOr<VerifiedAudit> CheckContent(AuditFacts facts, const AuditFile& file) {
  VerifiedAudit audit;
  TACET_ASSIGN_OR_RETURN(audit.run, CheckFacts(std::move(facts)));
  TACET_ASSIGN_OR_RETURN(audit.record, AuditRecord(audit.run));
  TACET_RETURN_IF_ERROR(CompareRecords(file.record, audit.record));
  audit.signer = base::KeyFingerprint(file.signer);
  return audit;
}

std::vector<std::string> NotesOn(const AuditFacts& facts, std::string_view pinned) {
  std::vector<std::string> notes;
  if (pinned.empty()) {
    notes.push_back(
        "whose key this is was not checked: compare its fingerprint with one that you have from "
        "elsewhere, or give it with --signer");
  }
  if (!facts.audit_key.has_value()) {
    notes.push_back("the run has no key of its own: whoever signed vouches for which run it is");
  } else if (*facts.audit_key != facts.signer) {
    notes.push_back("signed with another key than the run's own, " +
                    base::KeyFingerprint(*facts.audit_key));
  }
  if (std::ranges::any_of(facts.manifests, [](const AuditedManifest& manifest) {
        return !manifest.members.has_value();
      })) {
    notes.push_back(
        "the run kept no member keys: its manifest hash could not be computed, only the "
        "agreement's digest");
  }
  if (!facts.finished) notes.push_back("the run was not finished when this was written");
  return notes;
}

bool IsFingerprint(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

absl::StatusOr<VerifiedAudit> VerifyAudit(const AuditFile& file, std::string_view pinned) {
  if (!pinned.empty() && !IsFingerprint(pinned)) {
    return base::InvalidArgument(
        "\"{}\" is no fingerprint: expected 64 lower-case hexadecimal digits", pinned);
  }
  TACET_ASSIGN_OR_RETURN(AuditFacts facts, FactsOfRecord(file.record));
  const absl::Status signature = CheckSigner(file, facts, pinned);
  absl::StatusOr<VerifiedAudit> audit = CheckContent(std::move(facts), file);
  if (!audit.ok()) {
    if (signature.ok()) return audit.status();
    return absl::DataLossError(
        fmt::format("{}; and {}", base::Message(audit.status()), base::Message(signature)));
  }
  TACET_RETURN_IF_ERROR(signature);
  audit->notes = NotesOn(audit->run.facts, pinned);
  return audit;
}

}  // namespace tacet::report
