#include "tacet/protocol/letter.h"

#include <string_view>
#include <utility>

#include "tacet/agreement/labelled_signature.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/crypto/aead.h"
#include "tacet/secagg/wire.h"

namespace tacet::protocol {
namespace {

constexpr std::string_view kLetterLabel = "tacet/1/letter";
constexpr std::string_view kEnclosureLabel = "tacet/1/enclosure";
constexpr size_t kMaxLetterCertificateBytes = 8 << 10;
constexpr size_t kMaxLetterKeyBytes = 2048;

base::Bytes EnclosureContext(const crypto::Digest& manifest_hash) {
  base::ByteWriter writer;
  writer.Raw(kEnclosureLabel);
  writer.Raw(manifest_hash);
  return writer.Take();
}

crypto::SecretBytes EnclosureKey(const crypto::SecretBytes& epoch_key,
                                 std::span<const uint8_t> context) {
  return crypto::HkdfSha256(epoch_key.Expose(), context, crypto::kAeadKeyBytes);
}

}  // namespace

base::Bytes WriteLetter(const Letter& letter, const crypto::SigningKey& coordinator) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kLetter, writer);
  writer.Raw(letter.federation);
  writer.Raw(letter.site);
  writer.U32(letter.epoch);
  writer.Raw(letter.manifest_hash);
  writer.U64(letter.expires);
  writer.Blob(letter.certificate);
  writer.Blob(letter.epoch_key);
  writer.U64(letter.enclosure_bytes);
  writer.Raw(letter.enclosure);
  agreement::AppendSignature(kLetterLabel, coordinator, writer);
  return writer.Take();
}

absl::StatusOr<Letter> ReadLetter(std::span<const uint8_t> bytes,
                                  const crypto::PublicKey& coordinator) {
  base::ByteReader reader(bytes, "letter");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kLetter, reader));
  Letter letter;
  TACET_ASSIGN_OR_RETURN(letter.federation, secagg::ReadArray<32>(reader, "federation"));
  TACET_ASSIGN_OR_RETURN(letter.site, secagg::ReadArray<32>(reader, "site"));
  TACET_ASSIGN_OR_RETURN(letter.epoch, reader.ReadU32("epoch"));
  TACET_ASSIGN_OR_RETURN(letter.manifest_hash, secagg::ReadArray<32>(reader, "manifest hash"));
  TACET_ASSIGN_OR_RETURN(letter.expires, reader.ReadU64("expires"));
  TACET_ASSIGN_OR_RETURN(const auto certificate,
                         reader.ReadBlob(kMaxLetterCertificateBytes, "certificate"));
  letter.certificate.assign(certificate.begin(), certificate.end());
  TACET_ASSIGN_OR_RETURN(const auto epoch_key, reader.ReadBlob(kMaxLetterKeyBytes, "epoch key"));
  letter.epoch_key.assign(epoch_key.begin(), epoch_key.end());
  TACET_ASSIGN_OR_RETURN(letter.enclosure_bytes, reader.ReadU64("length of the enclosure"));
  if (letter.enclosure_bytes > kMaxEnclosureBytes) {
    return base::DataLoss("letter: an enclosure of {} bytes, at most {} are allowed",
                          letter.enclosure_bytes, kMaxEnclosureBytes);
  }
  TACET_ASSIGN_OR_RETURN(letter.enclosure, secagg::ReadArray<32>(reader, "enclosure"));
  TACET_ASSIGN_OR_RETURN(const bool is_signed,
                         agreement::ReadSignature(kLetterLabel, coordinator, bytes, reader));
  if (is_signed) return letter;
  return base::PermissionDenied("letter: it is not signed by the federation's coordinator");
}

base::Bytes SealEnclosure(const agreement::Invitation& invitation,
                          const crypto::Digest& manifest_hash,
                          const crypto::SecretBytes& epoch_key) {
  const base::Bytes common =
      agreement::WriteInvitation({.manifest = invitation.manifest,
                                  .earlier = invitation.earlier,
                                  .certificate = {},
                                  .epoch_key = {},
                                  .initial_model = invitation.initial_model});
  const base::Bytes context = EnclosureContext(manifest_hash);
  return crypto::AeadSealRepeatably(EnclosureKey(epoch_key, context), common, context);
}

absl::StatusOr<agreement::Invitation> OpenEnclosure(std::span<const uint8_t> enclosure,
                                                    const Letter& letter,
                                                    const crypto::SecretBytes& epoch_key) {
  if (enclosure.size() != letter.enclosure_bytes || crypto::Sha256(enclosure) != letter.enclosure) {
    return base::DataLoss(
        "letter: the enclosure is not the one that the coordinator named in the letter of epoch "
        "{}. Fetch both again; if it stays so, tell the coordinator",
        letter.epoch);
  }
  const base::Bytes context = EnclosureContext(letter.manifest_hash);
  const absl::StatusOr<crypto::SecretBytes> common =
      crypto::AeadOpen(EnclosureKey(epoch_key, context), enclosure, context);
  if (!common.ok()) return base::Annotate(common.status(), "enclosure");
  TACET_ASSIGN_OR_RETURN(agreement::Invitation invitation,
                         agreement::ReadInvitation(common->Expose()));
  invitation.certificate = letter.certificate;
  invitation.epoch_key = letter.epoch_key;
  return invitation;
}

}  // namespace tacet::protocol
