#include "tacet/protocol/attestation.h"

#include <algorithm>
#include <string_view>

#include "tacet/agreement/labelled_signature.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::protocol {
namespace {

constexpr std::string_view kAttestationLabel = "tacet/1/model attestation";
constexpr std::string_view kAttestation = "attestation";

struct Start {
  crypto::Digest manifest_hash{};
  uint32_t epoch = 0;
};

absl::StatusOr<Start> ReadStart(base::ByteReader& reader) {
  Start start;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kAttestation, reader));
  TACET_ASSIGN_OR_RETURN(start.manifest_hash, secagg::ReadArray<32>(reader, "manifest hash"));
  TACET_ASSIGN_OR_RETURN(start.epoch, reader.ReadU32("epoch"));
  return start;
}

absl::StatusOr<Attestation> ReadRest(std::span<const uint8_t> bytes, base::ByteReader& reader,
                                     std::span<const agreement::MemberIdentity> members) {
  Attestation attestation;
  TACET_ASSIGN_OR_RETURN(attestation.member, reader.ReadU64("member"));
  TACET_ASSIGN_OR_RETURN(attestation.round, reader.ReadU32("round"));
  TACET_ASSIGN_OR_RETURN(attestation.model_digest, secagg::ReadArray<32>(reader, "model digest"));
  TACET_ASSIGN_OR_RETURN(attestation.state_digest, secagg::ReadArray<32>(reader, "state digest"));
  if (attestation.member >= members.size()) {
    return base::PermissionDenied("attestation: there is no member {}", attestation.member);
  }
  TACET_ASSIGN_OR_RETURN(
      const bool is_signed,
      agreement::ReadSignature(kAttestationLabel, members[attestation.member].signing_key, bytes,
                               reader));
  if (is_signed) return attestation;
  return base::PermissionDenied("attestation: member {} did not sign it", attestation.member);
}

}  // namespace

size_t StateQuorum(const agreement::Manifest& manifest) {
  return StateQuorum(manifest.spec().committee);
}

size_t StateQuorum(const he::CommitteeShape& committee) {
  return std::max<size_t>(committee.seats / 2, committee.corrupt) + 1;
}

base::Bytes WriteAttestation(const Attestation& attestation,
                             const agreement::SignedManifest& manifest,
                             const crypto::SigningKey& key) {
  return WriteAttestation(attestation, manifest.manifest().hash(), manifest.epoch(), key);
}

base::Bytes WriteAttestation(const Attestation& attestation, const crypto::Digest& manifest_hash,
                             uint32_t epoch, const crypto::SigningKey& key) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kAttestation, writer);
  writer.Raw(manifest_hash);
  writer.U32(epoch);
  writer.U64(attestation.member);
  writer.U32(attestation.round);
  writer.Raw(attestation.model_digest);
  writer.Raw(attestation.state_digest);
  agreement::AppendSignature(kAttestationLabel, key, writer);
  return writer.Take();
}

absl::StatusOr<Attestation> ReadAttestation(std::span<const uint8_t> bytes,
                                            const agreement::SignedManifest& manifest) {
  base::ByteReader reader(bytes, kAttestation);
  TACET_ASSIGN_OR_RETURN(const Start start, ReadStart(reader));
  if (start.manifest_hash != manifest.manifest().hash() || start.epoch != manifest.epoch()) {
    return base::FailedPrecondition(
        "attestation: for epoch {} of another manifest, not for epoch {} of {}", start.epoch,
        manifest.epoch(), manifest.federation());
  }
  return ReadRest(bytes, reader, manifest.manifest().spec().members);
}

absl::StatusOr<crypto::Digest> ManifestOfAttestation(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, kAttestation);
  TACET_ASSIGN_OR_RETURN(const Start start, ReadStart(reader));
  return start.manifest_hash;
}

absl::StatusOr<Attestation> ReadAttestation(std::span<const uint8_t> bytes,
                                            const crypto::Digest& manifest_hash,
                                            std::span<const agreement::MemberIdentity> members) {
  base::ByteReader reader(bytes, kAttestation);
  TACET_ASSIGN_OR_RETURN(const Start start, ReadStart(reader));
  if (start.manifest_hash != manifest_hash) {
    return base::FailedPrecondition("attestation: for another manifest");
  }
  return ReadRest(bytes, reader, members);
}

}  // namespace tacet::protocol
