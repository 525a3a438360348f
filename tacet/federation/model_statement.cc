#include "tacet/federation/model_statement.h"

#include <string_view>

#include "tacet/base/status.h"
#include "tacet/federation/float_bytes.h"
#include "tacet/federation/labelled_signature.h"
#include "tacet/secagg/wire.h"

namespace tacet::federation {
namespace {

constexpr std::string_view kMagic = "TCTM";
constexpr std::string_view kLabel = "tacet/1/model statement";

}  // namespace

base::Digest StateDigest(const Checkpoint& checkpoint) {
  base::Sha256Hasher hasher;
  hasher.Update(ModelDigest(checkpoint.model));
  hasher.Update(FloatBytes(checkpoint.velocity));
  return hasher.Finish();
}

base::Bytes WriteModelStatement(const ModelStatement& statement, const SignedManifest& manifest,
                                const base::SigningKey& key) {
  base::ByteWriter writer;
  secagg::WritePreamble(kMagic, writer);
  writer.Raw(manifest.manifest().hash());
  writer.U32(manifest.epoch());
  writer.U64(statement.member);
  writer.U32(statement.round);
  writer.Raw(statement.model_digest);
  writer.Raw(statement.state_digest);
  AppendSignature(kLabel, key, writer);
  return writer.Take();
}

absl::StatusOr<ModelStatement> ReadModelStatement(std::span<const uint8_t> bytes,
                                                  const SignedManifest& manifest) {
  base::ByteReader reader(bytes, "model statement");
  TACET_RETURN_IF_ERROR(secagg::ReadPreamble(kMagic, reader));
  TACET_ASSIGN_OR_RETURN(const auto hash, secagg::ReadArray<32>(reader, "manifest hash"));
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, reader.ReadU32("epoch"));
  ModelStatement statement;
  TACET_ASSIGN_OR_RETURN(statement.member, reader.ReadU64("member"));
  TACET_ASSIGN_OR_RETURN(statement.round, reader.ReadU32("round"));
  TACET_ASSIGN_OR_RETURN(statement.model_digest, secagg::ReadArray<32>(reader, "model digest"));
  TACET_ASSIGN_OR_RETURN(statement.state_digest, secagg::ReadArray<32>(reader, "state digest"));
  if (hash != manifest.manifest().hash() || epoch != manifest.epoch()) {
    return base::FailedPrecondition(
        "model statement: for epoch {} of another manifest, not for epoch {} of {}", epoch,
        manifest.epoch(), manifest.federation());
  }
  if (statement.member >= manifest.members().size()) {
    return base::PermissionDenied("model statement: there is no member {}", statement.member);
  }
  TACET_ASSIGN_OR_RETURN(
      const bool is_signed,
      ReadSignature(kLabel, manifest.members()[statement.member].signing_key, bytes, reader));
  if (is_signed) return statement;
  return base::PermissionDenied("model statement: member {} did not sign it", statement.member);
}

}  // namespace tacet::federation
