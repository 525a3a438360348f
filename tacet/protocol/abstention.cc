#include "tacet/protocol/abstention.h"

#include <map>
#include <utility>

#include "fmt/core.h"

#include "tacet/agreement/labelled_signature.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::protocol {
namespace {

constexpr std::string_view kAbstentionLabel = "tacet/1/abstention";
constexpr std::string_view kAbstention = "abstention";

absl::StatusOr<secagg::Attempt> ReadAbstentionStart(base::ByteReader& reader) {
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kAbstention, reader));
  return secagg::ReadAttempt(reader);
}

}  // namespace

std::string_view AbstentionReasonName(AbstentionReason reason) {
  return reason == AbstentionReason::kPolicy ? "policy" : "budget";
}

bool MembersAbstain(const agreement::ManifestSpec& spec) {
  return agreement::EveryMemberUploads(spec) && spec.sampling.max_participations == 0;
}

uint64_t MinGivers(const agreement::Manifest& manifest) {
  const agreement::ManifestSpec& spec = manifest.spec();
  return spec.model == agreement::kQueryModel ? uint64_t{spec.privacy.colluders} + 2
                                              : manifest.terms().min_participants();
}

base::Bytes WriteAbstention(const Abstention& abstention, const crypto::SigningKey& key) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kAbstention, writer);
  secagg::WriteAttempt(abstention.attempt, writer);
  writer.U64(abstention.member);
  writer.U8(static_cast<uint8_t>(abstention.reason));
  agreement::AppendSignature(kAbstentionLabel, key, writer);
  return writer.Take();
}

absl::StatusOr<Abstention> ReadAbstention(std::span<const uint8_t> bytes,
                                          const agreement::SignedManifest& manifest) {
  return ReadAbstention(bytes, manifest.manifest().hash(), manifest.manifest().spec().members);
}

absl::StatusOr<Abstention> ReadAbstention(std::span<const uint8_t> bytes,
                                          const crypto::Digest& manifest_hash,
                                          std::span<const agreement::MemberIdentity> members) {
  base::ByteReader reader(bytes, kAbstention);
  Abstention abstention;
  TACET_ASSIGN_OR_RETURN(abstention.attempt, ReadAbstentionStart(reader));
  TACET_ASSIGN_OR_RETURN(abstention.member, reader.ReadU64("member"));
  TACET_ASSIGN_OR_RETURN(const uint8_t reason, reader.ReadU8("reason"));
  if (reason < static_cast<uint8_t>(AbstentionReason::kBudget) ||
      reason > static_cast<uint8_t>(AbstentionReason::kPolicy)) {
    return base::DataLoss("abstention: there is no reason {}", reason);
  }
  abstention.reason = static_cast<AbstentionReason>(reason);
  if (abstention.attempt.manifest_hash != manifest_hash) {
    return base::FailedPrecondition("abstention: for another manifest");
  }
  if (abstention.member >= members.size()) {
    return base::PermissionDenied("abstention: there is no member {}", abstention.member);
  }
  TACET_ASSIGN_OR_RETURN(
      const bool is_signed,
      agreement::ReadSignature(kAbstentionLabel, members[abstention.member].signing_key, bytes,
                               reader));
  if (is_signed) return abstention;
  return base::PermissionDenied("abstention: member {} did not sign it", abstention.member);
}

absl::StatusOr<crypto::Digest> ManifestOfAbstention(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, kAbstention);
  TACET_ASSIGN_OR_RETURN(const secagg::Attempt attempt, ReadAbstentionStart(reader));
  return attempt.manifest_hash;
}

AbstentionReason ReasonOfAbstention(std::span<const uint8_t> bytes) {
  constexpr size_t kBehindReason = sizeof(crypto::Signature);
  const bool is_policy =
      bytes.size() > kBehindReason &&
      bytes[bytes.size() - kBehindReason - 1] == static_cast<uint8_t>(AbstentionReason::kPolicy);
  return is_policy ? AbstentionReason::kPolicy : AbstentionReason::kBudget;
}

std::vector<SignedAbstention> AbstentionsAmong(std::span<const base::Bytes> blobs,
                                               const secagg::Attempt& attempt,
                                               const agreement::SignedManifest& manifest) {
  std::map<uint64_t, SignedAbstention> by_member;
  for (const base::Bytes& bytes : blobs) {
    const absl::StatusOr<Abstention> said = ReadAbstention(bytes, manifest);
    if (!said.ok() || said->attempt != attempt) continue;
    by_member.try_emplace(said->member, SignedAbstention{.said = *said, .bytes = bytes});
  }
  std::vector<SignedAbstention> all;
  for (auto& [member, abstention] : by_member) all.push_back(std::move(abstention));
  return all;
}

std::string AbstainersInWords(std::span<const SignedAbstention> abstentions,
                              const agreement::SignedManifest& manifest) {
  std::string words;
  for (const AbstentionReason reason : {AbstentionReason::kBudget, AbstentionReason::kPolicy}) {
    std::string names;
    for (const SignedAbstention& one : abstentions) {
      if (one.said.reason != reason) continue;
      names += (names.empty() ? "" : ", ") + manifest.members()[one.said.member].name;
    }
    if (names.empty()) continue;
    words +=
        fmt::format("{}{} ({})", words.empty() ? "" : ", ", names, AbstentionReasonName(reason));
  }
  return words;
}

}  // namespace tacet::protocol
