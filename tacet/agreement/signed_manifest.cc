#include "tacet/agreement/signed_manifest.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tacet/agreement/labelled_signature.h"
#include "tacet/agreement/manifest_bytes.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/crypto/certificates.h"
#include "tacet/secagg/wire.h"

namespace tacet::agreement {
namespace {

constexpr std::string_view kManifestLabel = "tacet/1/signed manifest";
constexpr std::string_view kEpochKeyLabel = "tacet/1/encrypted epoch key";
constexpr size_t kEpochKeyBytes = 32;
constexpr size_t kMaxAgreementBytes = size_t{1} << 26;  // a million members
constexpr size_t kMaxAnnexBytes = 1 << 20;
constexpr size_t kMaxCertificateBytes = 1 << 16;
constexpr size_t kMaxManifestBytes = size_t{1} << 28;
constexpr size_t kMaxModelBytes = (size_t{1} << 32) - 1;
constexpr size_t kMaxNameBytes = 64;

absl::Status CheckMembers(const std::vector<ManifestMember>& members) {
  std::set<std::string_view> names;
  std::set<crypto::PublicKey> keys;
  for (const ManifestMember& member : members) {
    TACET_RETURN_IF_ERROR(CheckSiteName(member.name));
    if (!names.insert(member.name).second) {
      return base::InvalidArgument("two members are called {}", member.name);
    }
    if (!keys.insert(member.signing_key).second || !keys.insert(member.exchange_key).second) {
      return base::InvalidArgument("{} has the key of another member", member.name);
    }
    if (!IsSignedByMember(member)) {
      return base::InvalidArgument("{} has not signed the keys that are listed for it",
                                   member.name);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAuthority(std::span<const uint8_t> authority) {
  TACET_ASSIGN_OR_RETURN(const crypto::CertificateFacts facts, crypto::ReadCertificate(authority));
  if (facts.role == crypto::CertificateRole::kAuthority) return absl::OkStatus();
  return base::InvalidArgument("the certificate of {} is not an authority's", facts.common_name);
}

// Fills in what follows from the rest of `spec`, and checks the whole.
absl::StatusOr<Manifest> Plan(SignedManifestSpec& spec) {
  TACET_RETURN_IF_ERROR(CheckSiteName(spec.federation));
  TACET_RETURN_IF_ERROR(CheckMembers(spec.members));
  TACET_RETURN_IF_ERROR(CheckAuthority(spec.authority));
  if (spec.annex.size() > kMaxAnnexBytes) {
    return base::InvalidArgument("the annex has {} bytes, at most {} are allowed",
                                 spec.annex.size(), kMaxAnnexBytes);
  }
  if (spec.agreement.without_encryption) {
    return base::InvalidArgument(
        "the agreement leaves out encryption: only a simulation can do that");
  }
  if (spec.agreement.scheme != he::Scheme::kCompact) {
    return base::InvalidArgument(
        "encryption.scheme is {}: every member would hold the key of single updates, so only a "
        "simulation can use it; choose compact",
        he::SchemeName(spec.agreement.scheme));
  }
  spec.agreement.sampling.clients = spec.members.size();
  spec.agreement.annex = crypto::Sha256(base::AsBytes(spec.annex));
  spec.agreement.members.clear();
  for (const ManifestMember& member : spec.members) {
    spec.agreement.members.push_back(
        {.signing_key = member.signing_key, .exchange_key = member.exchange_key});
  }
  return Manifest::Create(spec.agreement);
}

// Everything before the signature.
base::ByteWriter WriteBody(const SignedManifestSpec& spec, const Manifest& manifest,
                           const crypto::PublicKey& coordinator) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kSignedManifest, writer);
  writer.Blob(spec.federation);
  writer.U32(spec.epoch);
  writer.Blob(ManifestBytes(manifest.spec()));
  writer.Blob(spec.annex);
  for (const ManifestMember& member : spec.members) {
    writer.Blob(member.name);
    writer.Raw(member.sealing_key);
    writer.Raw(member.signature);
  }
  writer.Blob(spec.authority);
  writer.Raw(coordinator);
  return writer;
}

}  // namespace

absl::StatusOr<SignedManifest> SignedManifest::Sign(SignedManifestSpec spec,
                                                    const crypto::SigningKey& coordinator) {
  TACET_ASSIGN_OR_RETURN(Manifest manifest, Plan(spec));
  spec.agreement = manifest.spec();
  base::ByteWriter writer = WriteBody(spec, manifest, coordinator.public_key());
  AppendSignature(kManifestLabel, coordinator, writer);
  return SignedManifest(std::move(spec), std::move(manifest), coordinator.public_key(),
                        writer.Take());
}

absl::StatusOr<SignedManifest> SignedManifest::Read(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "signed manifest");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kSignedManifest, reader));
  SignedManifestSpec spec;
  TACET_ASSIGN_OR_RETURN(spec.federation, reader.ReadString(kMaxNameBytes, "federation"));
  TACET_ASSIGN_OR_RETURN(spec.epoch, reader.ReadU32("epoch"));
  TACET_ASSIGN_OR_RETURN(const auto agreement, reader.ReadBlob(kMaxAgreementBytes, "agreement"));
  TACET_ASSIGN_OR_RETURN(spec.agreement, ReadManifestBytes(agreement));
  TACET_ASSIGN_OR_RETURN(spec.annex, reader.ReadString(kMaxAnnexBytes, "annex"));
  for (const MemberIdentity& identity : spec.agreement.members) {
    ManifestMember member;
    member.signing_key = identity.signing_key;
    member.exchange_key = identity.exchange_key;
    TACET_ASSIGN_OR_RETURN(member.name, reader.ReadString(kMaxNameBytes, "member's name"));
    TACET_ASSIGN_OR_RETURN(member.sealing_key,
                           secagg::ReadArray<32>(reader, "member's sealing key"));
    TACET_ASSIGN_OR_RETURN(member.signature, secagg::ReadArray<64>(reader, "member's signature"));
    spec.members.push_back(std::move(member));
  }
  TACET_ASSIGN_OR_RETURN(const auto authority, reader.ReadBlob(kMaxCertificateBytes, "authority"));
  spec.authority.assign(authority.begin(), authority.end());
  TACET_ASSIGN_OR_RETURN(const auto coordinator, secagg::ReadArray<32>(reader, "coordinator"));
  TACET_ASSIGN_OR_RETURN(const bool is_signed,
                         ReadSignature(kManifestLabel, coordinator, bytes, reader));
  if (!is_signed) {
    return base::DataLoss("signed manifest of {}: the signature is not of the coordinator in it",
                          spec.federation);
  }
  const crypto::Digest hash = crypto::Sha256(agreement);
  absl::StatusOr<Manifest> manifest = Plan(spec);
  if (!manifest.ok()) {
    return base::DataLoss("signed manifest of {}: {}", spec.federation,
                          base::Message(manifest.status()));
  }
  if (manifest->hash() != hash) {
    return base::DataLoss("signed manifest of {}: its agreement does not fit annex or members",
                          spec.federation);
  }
  return SignedManifest(std::move(spec), *std::move(manifest), coordinator,
                        base::Bytes(bytes.begin(), bytes.end()));
}

std::optional<uint64_t> SignedManifest::MemberWith(const crypto::PublicKey& signing_key) const {
  const auto found = std::ranges::find(spec_.members, signing_key, &ManifestMember::signing_key);
  if (found == spec_.members.end()) return std::nullopt;
  return static_cast<uint64_t>(found - spec_.members.begin());
}

absl::StatusOr<base::Bytes> EncryptEpochKey(const SignedManifest& manifest, uint64_t member,
                                            const crypto::SecretBytes& epoch_key,
                                            const crypto::SigningKey& coordinator) {
  if (member >= manifest.members().size()) {
    return base::InvalidArgument("there is no member {}, the manifest has {}", member,
                                 manifest.members().size());
  }
  if (epoch_key.size() != kEpochKeyBytes) {
    return base::InvalidArgument("the epoch key has {} bytes, expected {}", epoch_key.size(),
                                 kEpochKeyBytes);
  }
  TACET_ASSIGN_OR_RETURN(
      const base::Bytes box,
      crypto::SealFor(manifest.members()[member].sealing_key, epoch_key.Expose()));
  base::ByteWriter writer;
  base::WritePreamble(base::format::kEpochKey, writer);
  writer.Raw(manifest.manifest().hash());
  writer.U32(manifest.epoch());
  writer.U64(member);
  writer.Raw(box);
  AppendSignature(kEpochKeyLabel, coordinator, writer);
  return writer.Take();
}

absl::StatusOr<crypto::SecretBytes> DecryptEpochKey(std::span<const uint8_t> sealed,
                                                    const SignedManifest& manifest, uint64_t member,
                                                    const crypto::SealingKey& key) {
  base::ByteReader reader(sealed, "encrypted epoch key");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kEpochKey, reader));
  TACET_ASSIGN_OR_RETURN(const auto hash, secagg::ReadArray<32>(reader, "manifest hash"));
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, reader.ReadU32("epoch"));
  TACET_ASSIGN_OR_RETURN(const uint64_t reader_number, reader.ReadU64("member"));
  TACET_ASSIGN_OR_RETURN(const auto box,
                         reader.ReadBytes(kEpochKeyBytes + crypto::kSealedBoxOverheadBytes, "box"));
  TACET_ASSIGN_OR_RETURN(const bool is_signed,
                         ReadSignature(kEpochKeyLabel, manifest.coordinator(), sealed, reader));
  if (!is_signed) {
    return base::PermissionDenied("the epoch key is not signed by the coordinator of {}",
                                  manifest.federation());
  }
  if (hash != manifest.manifest().hash() || epoch != manifest.epoch()) {
    return base::PermissionDenied(
        "the epoch key is for epoch {} of another manifest, not for "
        "epoch {} of {}",
        epoch, manifest.epoch(), manifest.federation());
  }
  if (reader_number != member) {
    return base::PermissionDenied("the epoch key is for member {}, not for {}", reader_number,
                                  member);
  }
  return key.Open(box);
}

base::Bytes WriteInvitation(const Invitation& invitation) {
  base::ByteWriter writer;
  writer.Reserve(invitation.manifest.size() + invitation.initial_model.size() + 4096);
  base::WritePreamble(base::format::kInvitation, writer);
  writer.Blob(invitation.manifest);
  writer.Blob(invitation.certificate);
  writer.Blob(invitation.epoch_key);
  writer.Blob(invitation.initial_model);
  return writer.Take();
}

absl::StatusOr<Invitation> ReadInvitation(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "invitation");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kInvitation, reader));
  Invitation invitation;
  const auto read = [&](size_t most, std::string_view field, base::Bytes& target) -> absl::Status {
    TACET_ASSIGN_OR_RETURN(const auto blob, reader.ReadBlob(most, field));
    target.assign(blob.begin(), blob.end());
    return absl::OkStatus();
  };
  TACET_RETURN_IF_ERROR(read(kMaxManifestBytes, "manifest", invitation.manifest));
  TACET_RETURN_IF_ERROR(read(kMaxCertificateBytes, "certificate", invitation.certificate));
  TACET_RETURN_IF_ERROR(read(1024, "epoch key", invitation.epoch_key));
  TACET_RETURN_IF_ERROR(read(kMaxModelBytes, "initial model", invitation.initial_model));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return invitation;
}

}  // namespace tacet::agreement
