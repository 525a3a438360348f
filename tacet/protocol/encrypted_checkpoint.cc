#include "tacet/protocol/encrypted_checkpoint.h"

#include <string_view>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/crypto/aead.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/wire.h"

namespace tacet::protocol {
namespace {

constexpr std::string_view kEncryptedCheckpoint = "encrypted checkpoint";
constexpr std::string_view kCheckpointLabel = "tacet/1/encrypted checkpoint";
constexpr size_t kHeaderBytes = 4 + 2 + secagg::kAttemptBytes + 8;

base::Bytes AssociatedData(std::span<const uint8_t> header) {
  base::ByteWriter writer;
  writer.Raw(kCheckpointLabel);
  writer.Raw(header);
  return writer.Take();
}

}  // namespace

secagg::Attempt RoundStart(const agreement::Manifest& manifest, uint32_t epoch, uint32_t round,
                           const crypto::Digest& model_digest) {
  return {.manifest_hash = manifest.hash(),
          .number = {.epoch = epoch, .round = round, .attempt = 0},
          .model_digest = model_digest};
}

uint64_t EncryptedCheckpointBytes(const agreement::ManifestSpec& spec) {
  return kHeaderBytes + crypto::kAeadOverheadBytes + CheckpointFieldBytes(StateSizeOf(spec));
}

base::Bytes SealCheckpoint(const Checkpoint& checkpoint, const crypto::Digest& model_digest,
                           const agreement::Manifest& manifest, uint32_t epoch, uint64_t writer,
                           const crypto::SecretBytes& epoch_key) {
  const secagg::Attempt start = RoundStart(manifest, epoch, checkpoint.next_round, model_digest);
  base::ByteWriter message;
  message.Reserve(EncryptedCheckpointBytes(manifest.spec()));
  base::WritePreamble(base::format::kEncryptedCheckpoint, message);
  secagg::WriteAttempt(start, message);
  message.U64(writer);
  message.Raw(crypto::AeadSealRepeatably(
      secagg::DeriveCheckpointKey(epoch_key, manifest.spec().scheme, start),
      WriteCheckpointFields(checkpoint), AssociatedData(message.bytes())));
  return message.Take();
}

absl::StatusOr<Checkpoint> DecryptCheckpoint(std::span<const uint8_t> bytes,
                                             const agreement::Manifest& manifest,
                                             const secagg::Attempt& start,
                                             const crypto::SecretBytes& epoch_key) {
  const StateSize size = StateSizeOf(manifest.spec());
  if (bytes.size() != EncryptedCheckpointBytes(manifest.spec())) {
    return base::DataLoss(
        "{}: it has {} bytes, one of {} parameters and {} values of velocity has {}",
        kEncryptedCheckpoint, bytes.size(), size.parameters, size.velocity,
        EncryptedCheckpointBytes(manifest.spec()));
  }
  base::ByteReader reader(bytes, kEncryptedCheckpoint);
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kEncryptedCheckpoint, reader));
  TACET_ASSIGN_OR_RETURN(const secagg::Attempt got, secagg::ReadAttempt(reader));
  TACET_RETURN_IF_ERROR(secagg::CheckAttempt(got, start, kEncryptedCheckpoint));
  const absl::StatusOr<crypto::SecretBytes> content =
      crypto::AeadOpen(secagg::DeriveCheckpointKey(epoch_key, manifest.spec().scheme, start),
                       bytes.subspan(kHeaderBytes), AssociatedData(bytes.first(kHeaderBytes)));
  if (!content.ok()) return base::Annotate(content.status(), kEncryptedCheckpoint);
  TACET_ASSIGN_OR_RETURN(Checkpoint checkpoint,
                         ReadCheckpointFields(content->Expose(), manifest.federation(),
                                              manifest.spec().training, size));
  const auto key = secagg::DigestKey::OfEpoch(epoch_key, manifest.spec().scheme, manifest.hash(),
                                              start.number.epoch);
  if (checkpoint.next_round != start.number.round ||
      key.OfModel(checkpoint.model) != start.model_digest) {
    return base::DataLoss("{}: it names round {} and another state than it holds",
                          kEncryptedCheckpoint, start.number.round);
  }
  return checkpoint;
}

}  // namespace tacet::protocol
