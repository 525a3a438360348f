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
#include "tacet/crypto/hybrid_box.h"
#include "tacet/secagg/wire.h"

namespace tacet::agreement {
namespace {

constexpr std::string_view kManifestLabel = "tacet/1/signed manifest";
constexpr std::string_view kEpochLabel = "tacet/2/epoch";
constexpr std::string_view kEpochKeyLabel = "tacet/1/encrypted epoch key";
constexpr size_t kEpochKeyBytes = 32;
constexpr size_t kMaxEpochKeyBytes = 2048;              // encrypted and signed
constexpr size_t kMaxAgreementBytes = size_t{1} << 26;  // a million members
constexpr size_t kMaxAnnexBytes = 1 << 20;
constexpr size_t kMaxCertificateBytes = 1 << 16;
constexpr size_t kMaxManifestBytes = size_t{1} << 28;
constexpr size_t kMaxModelBytes = (size_t{1} << 32) - 1;
constexpr size_t kMaxNameBytes = 64;
constexpr uint32_t kMaxEarlierEpochs = 1 << 16;
constexpr crypto::Digest kNone{};

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
    TACET_RETURN_IF_ERROR(
        CheckKeys(member.name, member.signing_key, {member.sealing_key, member.exchange_key}));
    if (!IsSignedByMember(member)) {
      return base::InvalidArgument("{} has not signed the keys that are listed for it",
                                   member.name);
    }
  }
  return absl::OkStatus();
}

// An encrypted epoch key: for whom it is, and the box.
struct SealedEpochKey {
  crypto::Digest manifest_hash{};
  uint32_t epoch = 0;
  uint64_t member = 0;
  std::span<const uint8_t> box;
};

// A box that is copied into another epoch, manifest or member's message does not open.
base::Bytes EpochKeyContext(const SealedEpochKey& sealed) {
  base::ByteWriter writer;
  writer.Raw(kEpochKeyLabel);
  writer.Raw(sealed.manifest_hash);
  writer.U32(sealed.epoch);
  writer.U64(sealed.member);
  return writer.Take();
}

absl::StatusOr<SealedEpochKey> ReadSealedEpochKey(std::span<const uint8_t> bytes,
                                                  const crypto::PublicKey& coordinator) {
  base::ByteReader reader(bytes, "encrypted epoch key");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kEpochKey, reader));
  SealedEpochKey sealed;
  TACET_ASSIGN_OR_RETURN(sealed.manifest_hash, secagg::ReadArray<32>(reader, "manifest hash"));
  TACET_ASSIGN_OR_RETURN(sealed.epoch, reader.ReadU32("epoch"));
  TACET_ASSIGN_OR_RETURN(sealed.member, reader.ReadU64("member"));
  TACET_ASSIGN_OR_RETURN(sealed.box,
                         reader.ReadBytes(kEpochKeyBytes + crypto::kHybridBoxOverheadBytes, "box"));
  TACET_ASSIGN_OR_RETURN(const bool is_signed,
                         ReadSignature(kEpochKeyLabel, coordinator, bytes, reader));
  if (is_signed) return sealed;
  return base::PermissionDenied("the epoch key is not signed by the federation's coordinator");
}

absl::Status CheckAuthority(std::span<const uint8_t> authority) {
  TACET_ASSIGN_OR_RETURN(const crypto::CertificateFacts facts, crypto::ReadCertificate(authority));
  if (facts.role == crypto::CertificateRole::kAuthority) return absl::OkStatus();
  return base::InvalidArgument("the certificate of {} is not an authority's", facts.common_name);
}

absl::Status CheckServer(const ManifestServer& server) {
  if (server.name.empty()) {
    if (server == ManifestServer{}) return absl::OkStatus();
    return base::InvalidArgument("a server without a name has hosts or a key");
  }
  TACET_RETURN_IF_ERROR(CheckSiteName(server.name));
  const bool has_host =
      !server.hosts.empty() && server.hosts.size() <= kMaxHosts &&
      std::ranges::none_of(server.hosts, [](const std::string& host) { return host.empty(); });
  if (has_host && !server.tls_key.empty()) return absl::OkStatus();
  return base::InvalidArgument("the server {} has {} hosts and a key of {} bytes", server.name,
                               server.hosts.size(), server.tls_key.size());
}

// The parts of its link.
absl::Status CheckLink(const SignedManifestSpec& spec) {
  TACET_RETURN_IF_ERROR(CheckSiteName(spec.federation));
  if (spec.agreement.federation == kNone) {
    return base::InvalidArgument("the federation has no identity: it is zeros");
  }
  if ((spec.epoch == 0) != (spec.predecessor == kNone)) {
    return base::InvalidArgument("epoch {} {} predecessor", spec.epoch,
                                 spec.epoch == 0 ? "has a" : "has no");
  }
  if (spec.agreement.training > spec.epoch) {
    return base::InvalidArgument("epoch {} cannot continue a training that begins with epoch {}",
                                 spec.epoch, spec.agreement.training);
  }
  if (spec.annex.size() > kMaxAnnexBytes) {
    return base::InvalidArgument("the annex has {} bytes, at most {} are allowed",
                                 spec.annex.size(), kMaxAnnexBytes);
  }
  return absl::OkStatus();
}

// All that needs no plan of the agreement, but the keys of seats.
absl::Status CheckParts(const SignedManifestSpec& spec) {
  TACET_RETURN_IF_ERROR(CheckLink(spec));
  TACET_RETURN_IF_ERROR(CheckMembers(spec.members));
  TACET_RETURN_IF_ERROR(CheckServer(spec.server));
  return CheckAuthority(spec.authority);
}

// Fills in what follows from the rest of `spec`.
void FillIn(SignedManifestSpec& spec, const crypto::PublicKey& coordinator) {
  spec.agreement.sampling.clients = spec.members.size();
  spec.agreement.annex = crypto::Sha256(base::AsBytes(spec.annex));
  spec.agreement.epoch = EpochDigest(spec, coordinator);
  spec.agreement.members.clear();
  for (const ManifestMember& member : spec.members) {
    spec.agreement.members.push_back(
        {.signing_key = member.signing_key, .exchange_key = member.exchange_key});
  }
}

// For the members that the plan puts on the committee.
absl::Status CheckSeatKeys(const SignedManifestSpec& spec) {
  for (const uint64_t number : spec.agreement.committee_members) {
    const ManifestMember& member = spec.members[number];
    if (member.kem_key == nullptr || crypto::Sha256(*member.kem_key) != member.kem_digest) {
      return base::InvalidArgument(
          "{} is on the committee, and its KEM key is not the one it signed", member.name);
    }
    TACET_RETURN_IF_ERROR(base::Annotate(crypto::CheckKemKey(*member.kem_key), member.name));
  }
  return absl::OkStatus();
}

absl::StatusOr<Manifest> Plan(const SignedManifestSpec& spec) {
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
  return Manifest::Create(spec.agreement);
}

void WriteServer(const ManifestServer& server, base::ByteWriter& writer) {
  writer.Blob(server.name);
  writer.U32(static_cast<uint32_t>(server.hosts.size()));
  for (const std::string& host : server.hosts) writer.Blob(host);
  writer.Blob(server.tls_key);
}

// Everything before the signature.
base::ByteWriter WriteBody(const SignedManifestSpec& spec, const Manifest& manifest,
                           const crypto::PublicKey& coordinator) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kSignedManifest, writer);
  writer.Blob(spec.federation);
  writer.U32(spec.epoch);
  writer.Raw(spec.predecessor);
  writer.Blob(ManifestBytes(manifest.spec()));
  writer.Blob(spec.annex);
  for (const ManifestMember& member : spec.members) {
    writer.Blob(member.name);
    writer.Raw(member.sealing_key);
    writer.Raw(member.kem_digest);
    writer.Raw(member.signature);
  }
  for (const uint64_t number : manifest.spec().committee_members) {
    writer.Raw(*spec.members[number].kem_key);
  }
  WriteServer(spec.server, writer);
  writer.Blob(spec.authority);
  writer.Raw(coordinator);
  return writer;
}

absl::Status ReadSeatKeys(base::ByteReader& reader, SignedManifestSpec& spec) {
  for (const uint64_t number : spec.agreement.committee_members) {
    if (number >= spec.members.size()) {
      return base::DataLoss("signed manifest: member {} of {} is on the committee", number,
                            spec.members.size());
    }
    crypto::KemPublicKey key;
    TACET_ASSIGN_OR_RETURN(key, secagg::ReadArray<sizeof(key)>(reader, "KEM key of a seat"));
    spec.members[number].kem_key = std::make_shared<const crypto::KemPublicKey>(key);
  }
  return absl::OkStatus();
}

absl::Status ReadServer(base::ByteReader& reader, ManifestServer& server) {
  TACET_ASSIGN_OR_RETURN(server.name, reader.ReadString(kMaxNameBytes, "server's name"));
  TACET_ASSIGN_OR_RETURN(const uint32_t hosts, reader.ReadU32("number of hosts"));
  if (hosts > kMaxHosts) {
    return base::DataLoss("signed manifest: {} hosts of the server, at most {} are allowed", hosts,
                          kMaxHosts);
  }
  for (uint32_t i = 0; i < hosts; ++i) {
    TACET_ASSIGN_OR_RETURN(std::string host, reader.ReadString(kMaxHostBytes, "server's host"));
    server.hosts.push_back(std::move(host));
  }
  TACET_ASSIGN_OR_RETURN(const auto key, reader.ReadBlob(kMaxTlsKeyBytes, "server's TLS key"));
  server.tls_key.assign(key.begin(), key.end());
  return absl::OkStatus();
}

// A manifest whose signature is the coordinator's.
struct ParsedManifest {
  SignedManifestSpec spec;
  crypto::PublicKey coordinator{};
  crypto::Digest hash{};
};

// The error `found` in it, as damage.
absl::Status Found(const absl::Status& found, const ParsedManifest& parsed) {
  if (found.ok()) return found;
  return base::DataLoss("signed manifest of {}: {}", parsed.spec.federation, base::Message(found));
}

// Whether the agreement in it is that of its parts.
absl::Status CheckAgreed(ParsedManifest& parsed) {
  FillIn(parsed.spec, parsed.coordinator);
  if (crypto::Sha256(ManifestBytes(parsed.spec.agreement)) == parsed.hash) return absl::OkStatus();
  return Found(base::InvalidArgument("its agreement does not fit annex, members or epoch"), parsed);
}

absl::StatusOr<ParsedManifest> Parse(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "signed manifest");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kSignedManifest, reader));
  ParsedManifest parsed;
  SignedManifestSpec& spec = parsed.spec;
  TACET_ASSIGN_OR_RETURN(spec.federation, reader.ReadString(kMaxNameBytes, "federation"));
  TACET_ASSIGN_OR_RETURN(spec.epoch, reader.ReadU32("epoch"));
  TACET_ASSIGN_OR_RETURN(spec.predecessor, secagg::ReadArray<32>(reader, "predecessor"));
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
    TACET_ASSIGN_OR_RETURN(member.kem_digest,
                           secagg::ReadArray<32>(reader, "digest of a member's KEM key"));
    TACET_ASSIGN_OR_RETURN(member.signature, secagg::ReadArray<64>(reader, "member's signature"));
    spec.members.push_back(std::move(member));
  }
  TACET_RETURN_IF_ERROR(ReadSeatKeys(reader, spec));
  TACET_RETURN_IF_ERROR(ReadServer(reader, spec.server));
  TACET_ASSIGN_OR_RETURN(const auto authority, reader.ReadBlob(kMaxCertificateBytes, "authority"));
  spec.authority.assign(authority.begin(), authority.end());
  TACET_ASSIGN_OR_RETURN(parsed.coordinator, secagg::ReadArray<32>(reader, "coordinator"));
  TACET_ASSIGN_OR_RETURN(const bool is_signed,
                         ReadSignature(kManifestLabel, parsed.coordinator, bytes, reader));
  if (!is_signed) {
    return base::DataLoss("signed manifest of {}: the signature is not of the coordinator in it",
                          spec.federation);
  }
  parsed.hash = crypto::Sha256(agreement);
  return parsed;
}

}  // namespace

crypto::Digest EpochDigest(const SignedManifestSpec& spec, const crypto::PublicKey& coordinator) {
  base::ByteWriter writer;
  writer.Raw(kEpochLabel);
  writer.Blob(spec.federation);
  writer.U32(spec.epoch);
  writer.Raw(spec.predecessor);
  writer.U64(spec.members.size());
  for (const ManifestMember& member : spec.members) {
    writer.Blob(member.name);
    writer.Raw(member.sealing_key);
    writer.Raw(member.kem_digest);
  }
  WriteServer(spec.server, writer);
  writer.Blob(spec.authority);
  writer.Raw(coordinator);
  return crypto::Sha256(writer.bytes());
}

absl::StatusOr<SignedManifest> SignedManifest::Sign(SignedManifestSpec spec,
                                                    const crypto::SigningKey& coordinator) {
  TACET_RETURN_IF_ERROR(CheckParts(spec));
  FillIn(spec, coordinator.public_key());
  TACET_ASSIGN_OR_RETURN(Manifest manifest, Plan(spec));
  spec.agreement = manifest.spec();
  TACET_RETURN_IF_ERROR(CheckSeatKeys(spec));
  for (uint64_t number = 0; number < spec.members.size(); ++number) {
    if (!secagg::SeatOf(manifest.committee(), number).has_value()) {
      spec.members[number].kem_key.reset();
    }
  }
  base::ByteWriter writer = WriteBody(spec, manifest, coordinator.public_key());
  AppendSignature(kManifestLabel, coordinator, writer);
  return SignedManifest(std::move(spec), std::move(manifest), coordinator.public_key(),
                        writer.Take());
}

absl::StatusOr<SignedManifest> SignedManifest::Read(std::span<const uint8_t> bytes) {
  TACET_ASSIGN_OR_RETURN(ParsedManifest parsed, Parse(bytes));
  TACET_RETURN_IF_ERROR(Found(CheckParts(parsed.spec), parsed));
  TACET_RETURN_IF_ERROR(Found(CheckSeatKeys(parsed.spec), parsed));
  TACET_RETURN_IF_ERROR(CheckAgreed(parsed));
  absl::StatusOr<Manifest> manifest = Plan(parsed.spec);
  TACET_RETURN_IF_ERROR(Found(manifest.status(), parsed));
  if (manifest->hash() != parsed.hash) {
    return Found(base::InvalidArgument("its agreement is not as it would be planned"), parsed);
  }
  return SignedManifest(std::move(parsed.spec), *std::move(manifest), parsed.coordinator,
                        base::Bytes(bytes.begin(), bytes.end()));
}

absl::StatusOr<EpochLink> ReadEpochLink(std::span<const uint8_t> bytes) {
  TACET_ASSIGN_OR_RETURN(ParsedManifest parsed, Parse(bytes));
  TACET_RETURN_IF_ERROR(Found(CheckLink(parsed.spec), parsed));
  TACET_RETURN_IF_ERROR(CheckAgreed(parsed));
  return EpochLink{.name = std::move(parsed.spec.federation),
                   .epoch = parsed.spec.epoch,
                   .predecessor = parsed.spec.predecessor,
                   .hash = parsed.hash,
                   .coordinator = parsed.coordinator,
                   .members = std::move(parsed.spec.members),
                   .agreed = std::move(parsed.spec.agreement)};
}

std::vector<crypto::KemPublicKey> SignedManifest::seat_keys() const {
  std::vector<crypto::KemPublicKey> keys;
  for (const secagg::CommitteeSeat& seat : manifest_.committee()) {
    keys.push_back(*spec_.members[seat.member].kem_key);
  }
  return keys;
}

EpochLink SignedManifest::link() const {
  return {.name = federation(),
          .epoch = epoch(),
          .predecessor = predecessor(),
          .hash = manifest_.hash(),
          .coordinator = coordinator_,
          .members = members(),
          .agreed = manifest_.spec()};
}

std::optional<uint64_t> SignedManifest::MemberWith(const crypto::PublicKey& signing_key) const {
  const auto found = std::ranges::find(spec_.members, signing_key, &ManifestMember::signing_key);
  if (found == spec_.members.end()) return std::nullopt;
  return static_cast<uint64_t>(found - spec_.members.begin());
}

absl::StatusOr<base::Bytes> EncryptEpochKey(const SignedManifest& manifest, uint64_t member,
                                            const crypto::KemPublicKey& kem_key,
                                            const crypto::SecretBytes& epoch_key,
                                            const crypto::SigningKey& coordinator,
                                            crypto::Entropy& entropy) {
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
      crypto::HybridSeal(manifest.members()[member].sealing_key, kem_key, epoch_key.Expose(),
                         EpochKeyContext({.manifest_hash = manifest.manifest().hash(),
                                          .epoch = manifest.epoch(),
                                          .member = member,
                                          .box = {}}),
                         entropy));
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
                                                    const crypto::SealingKey& sealing_key,
                                                    const crypto::KemKey& kem_key) {
  TACET_ASSIGN_OR_RETURN(const SealedEpochKey read,
                         ReadSealedEpochKey(sealed, manifest.coordinator()));
  if (read.manifest_hash != manifest.manifest().hash() || read.epoch != manifest.epoch()) {
    return base::PermissionDenied(
        "the epoch key is for epoch {} of another manifest, not for "
        "epoch {} of {}",
        read.epoch, manifest.epoch(), manifest.federation());
  }
  if (read.member != member) {
    return base::PermissionDenied("the epoch key is for member {}, not for {}", read.member,
                                  member);
  }
  return crypto::HybridOpen(read.box, sealing_key, kem_key, EpochKeyContext(read));
}

absl::StatusOr<crypto::SecretBytes> OpenEpochKey(std::span<const uint8_t> sealed,
                                                 const crypto::PublicKey& coordinator,
                                                 const crypto::SealingKey& sealing_key,
                                                 const crypto::KemKey& kem_key) {
  TACET_ASSIGN_OR_RETURN(const SealedEpochKey read, ReadSealedEpochKey(sealed, coordinator));
  return crypto::HybridOpen(read.box, sealing_key, kem_key, EpochKeyContext(read));
}

base::Bytes WriteInvitation(const Invitation& invitation) {
  base::ByteWriter writer;
  writer.Reserve(invitation.manifest.size() + invitation.initial_model.size() + 4096);
  base::WritePreamble(base::format::kInvitation, writer);
  writer.Blob(invitation.manifest);
  writer.U32(static_cast<uint32_t>(invitation.earlier.size()));
  for (const base::Bytes& manifest : invitation.earlier) writer.Blob(manifest);
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
  TACET_ASSIGN_OR_RETURN(const uint32_t earlier, reader.ReadU32("number of earlier manifests"));
  if (earlier > std::min<size_t>(kMaxEarlierEpochs, reader.remaining() / sizeof(uint32_t))) {
    return base::DataLoss("invitation: {} earlier manifests in {} bytes, at most {} are allowed",
                          earlier, reader.remaining(), kMaxEarlierEpochs);
  }
  for (uint32_t epoch = 0; epoch < earlier; ++epoch) {
    TACET_RETURN_IF_ERROR(
        read(kMaxManifestBytes, "earlier manifest", invitation.earlier.emplace_back()));
  }
  TACET_RETURN_IF_ERROR(read(kMaxCertificateBytes, "certificate", invitation.certificate));
  TACET_RETURN_IF_ERROR(read(kMaxEpochKeyBytes, "epoch key", invitation.epoch_key));
  TACET_RETURN_IF_ERROR(read(kMaxModelBytes, "initial model", invitation.initial_model));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return invitation;
}

}  // namespace tacet::agreement
