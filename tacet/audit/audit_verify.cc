#include "tacet/audit/audit_verify.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "tacet/audit/audit_record.h"
#include "tacet/base/status.h"

namespace tacet::audit {
namespace {

absl::Status CheckSigner(const AuditFile& file, const AuditFacts& facts, std::string_view pinned) {
  const std::string signer = crypto::KeyFingerprint(file.signer);
  if (file.signer != facts.signer) {
    return base::DataLoss("signed by the key {}, the record names the key {}", signer,
                          crypto::KeyFingerprint(facts.signer));
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
  audit.signer = crypto::KeyFingerprint(file.signer);
  return audit;
}

// The other members that attest the released model, and those that contradict it.
std::vector<std::string> NotesOnAttestations(const AuditedRun& run) {
  std::vector<std::string> notes;
  const AuditFacts& facts = run.facts;
  if (facts.kind != RunKind::kMember || !facts.finished) return notes;
  std::set<uint64_t> agree;
  for (size_t i = 0; i < run.attestations.size(); ++i) {
    const protocol::Attestation& statement = run.attestations[i];
    const std::optional<bool> confirms = run.Confirms(i);
    if (confirms == false) {
      notes.push_back(fmt::format("member {} attests another model after {} rounds",
                                  statement.member, statement.round));
    } else if (statement.round == run.complete_rounds() &&
               confirms.value_or(statement.round == 0)) {
      agree.insert(statement.member);
    }
  }
  notes.push_back(fmt::format("the released model is attested by {} of {} members", agree.size(),
                              run.agreed().sampling.clients));
  return notes;
}

std::vector<std::string> NotesOn(const AuditedRun& run, std::string_view pinned) {
  const AuditFacts& facts = run.facts;
  std::vector<std::string> notes = NotesOnAttestations(run);
  if (pinned.empty()) {
    notes.push_back(
        "the owner of the signing key was not checked: compare its fingerprint with one that you "
        "have from elsewhere, or give it with --signer");
  }
  if (!facts.audit_key.has_value()) {
    notes.push_back(
        "the run has no key of its own: only the signer vouches that this is the record of that "
        "run");
  } else if (*facts.audit_key != facts.signer) {
    notes.push_back("signed with another key than the run's own, " +
                    crypto::KeyFingerprint(*facts.audit_key));
  }
  if (std::ranges::any_of(facts.manifests, [](const AuditedManifest& manifest) {
        return !manifest.members.has_value();
      })) {
    notes.push_back(
        "the run kept no member keys: its manifest hash could not be computed, only the "
        "agreement's digest");
  }
  if (run.agreements.size() > 1) {
    notes.push_back(fmt::format(
        "members or terms changed in mid-run: attempts were charged under {} agreements",
        run.agreements.size()));
  }
  if (run.first_round() > 0) {
    notes.push_back(
        fmt::format("the member says that it came after {} rounds: its figures leave them out",
                    run.first_round()));
  }
  if (!facts.finished) notes.push_back("the run was not finished when this was written");
  return notes;
}

bool IsFingerprint(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

absl::StatusOr<std::string> CheckModel(const AuditedRun& run, std::span<const float> model,
                                       const secagg::DigestKey& key) {
  const crypto::Digest digest = key.OfModel(model);
  if (run.facts.released_model == digest) return std::string(kReleasedModel);
  for (uint32_t rounds = run.complete_rounds(); rounds > 0; --rounds) {
    const AuditedRound* const round = run.RoundWithModel(rounds);
    if (round != nullptr && round->model == digest) {
      return fmt::format("the model after {} rounds", rounds);
    }
  }
  return base::DataLoss(
      "the record is not about this model, or the digest key is another one: {}",
      run.facts.released_model
          ? fmt::format("under the key it has the digest {}, the record released "
                        "{}",
                        base::ToHex(digest), base::ToHex(*run.facts.released_model))
          : std::string("it was written before a model was released"));
}

absl::StatusOr<VerifiedAudit> VerifyAudit(const AuditFile& file, std::string_view pinned) {
  if (!pinned.empty() && !IsFingerprint(pinned)) {
    return base::InvalidArgument(
        "\"{}\" is not a fingerprint: expected 64 lower-case hexadecimal digits", pinned);
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
  audit->notes = NotesOn(audit->run, pinned);
  return audit;
}

}  // namespace tacet::audit
