#include "tacet/protocol/objection.h"

#include <array>

#include "tacet/agreement/labelled_signature.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::protocol {
namespace {

constexpr std::string_view kObjectionLabel = "tacet/1/objection";
// By number, from 1.
constexpr std::array<std::string_view, 4> kObjectionReasons = {"rollback", "fork",
                                                               "no-closed-round", "may-have-voted"};

}  // namespace

std::string_view ObjectionReasonName(ObjectionReason reason) {
  return kObjectionReasons[static_cast<size_t>(reason) - 1];
}

std::optional<ObjectionReason> ObjectionReasonNamed(std::string_view name) {
  for (size_t i = 0; i < kObjectionReasons.size(); ++i) {
    if (kObjectionReasons[i] == name) return static_cast<ObjectionReason>(i + 1);
  }
  return std::nullopt;
}

base::Bytes WriteObjection(const Objection& objection, const agreement::SignedManifest& manifest,
                           const crypto::SigningKey& key) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kObjection, writer);
  writer.Raw(manifest.manifest().hash());
  writer.U32(objection.attempt.epoch);
  writer.U32(objection.attempt.round);
  writer.U32(objection.attempt.attempt);
  writer.U64(objection.member);
  writer.U64(objection.revision);
  writer.U8(static_cast<uint8_t>(objection.reason));
  agreement::AppendSignature(kObjectionLabel, key, writer);
  return writer.Take();
}

absl::StatusOr<Objection> ReadObjection(std::span<const uint8_t> bytes,
                                        const agreement::SignedManifest& manifest) {
  base::ByteReader reader(bytes, "objection");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kObjection, reader));
  Objection objection;
  TACET_ASSIGN_OR_RETURN(const auto hash, secagg::ReadArray<32>(reader, "manifest hash"));
  TACET_ASSIGN_OR_RETURN(objection.attempt.epoch, reader.ReadU32("epoch"));
  TACET_ASSIGN_OR_RETURN(objection.attempt.round, reader.ReadU32("round"));
  TACET_ASSIGN_OR_RETURN(objection.attempt.attempt, reader.ReadU32("attempt"));
  TACET_ASSIGN_OR_RETURN(objection.member, reader.ReadU64("member"));
  TACET_ASSIGN_OR_RETURN(objection.revision, reader.ReadU64("revision"));
  TACET_ASSIGN_OR_RETURN(const uint8_t reason, reader.ReadU8("reason"));
  if (reason < 1 || reason > kObjectionReasons.size()) {
    return base::DataLoss("objection: there is no reason {}", reason);
  }
  objection.reason = static_cast<ObjectionReason>(reason);
  if (hash != manifest.manifest().hash() || objection.attempt.epoch != manifest.epoch()) {
    return base::FailedPrecondition("objection: for another manifest or epoch");
  }
  if (objection.member >= manifest.members().size()) {
    return base::PermissionDenied("objection: there is no member {}", objection.member);
  }
  TACET_ASSIGN_OR_RETURN(
      const bool is_signed,
      agreement::ReadSignature(kObjectionLabel, manifest.members()[objection.member].signing_key,
                               bytes, reader));
  if (is_signed) return objection;
  return base::PermissionDenied("objection: member {} did not sign it", objection.member);
}

}  // namespace tacet::protocol
