#include "tacet/protocol/checkpoint.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tacet/base/float_bytes.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/checksum.h"

namespace tacet::protocol {
namespace {

constexpr std::string_view kCheckpoint = "checkpoint";
constexpr uint64_t kFixedBytes = 4 + 2 + 32 + 4 + 4 + 8;
constexpr size_t kChecksumBytes = 16;

// A whole checkpoint's fields, before its arrays are copied.
struct Fields {
  Checkpoint owner;  // without arrays
  uint64_t parameters = 0;
  std::span<const uint8_t> model;
  std::span<const uint8_t> velocity;  // of as many bytes as `model`, or none
};

base::Bytes ChecksumOf(std::span<const uint8_t> fields) {
  base::ByteWriter writer;
  for (const uint64_t word : secagg::Checksum(fields)) writer.U64(word);
  return writer.Take();
}

// The fields of a stored checkpoint. DataLoss when it is damaged.
absl::StatusOr<std::span<const uint8_t>> CheckedFields(std::span<const uint8_t> bytes) {
  const auto fields = bytes.first(bytes.size() - std::min(bytes.size(), kChecksumBytes));
  // A checkpoint of another version says so.
  base::ByteReader preamble(fields, kCheckpoint);
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kCheckpoint, preamble));
  base::ByteReader checksum(bytes.subspan(fields.size()), kCheckpoint);
  TACET_RETURN_IF_ERROR(checksum.Expect(ChecksumOf(fields), "checksum"));
  return fields;
}

// DataLoss when it is cut short or too long.
absl::StatusOr<Fields> ReadFields(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, kCheckpoint);
  Fields fields;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kCheckpoint, reader));
  TACET_ASSIGN_OR_RETURN(const auto federation,
                         reader.ReadBytes(fields.owner.federation.size(), "federation"));
  std::ranges::copy(federation, fields.owner.federation.begin());
  TACET_ASSIGN_OR_RETURN(fields.owner.training, reader.ReadU32("training"));
  TACET_ASSIGN_OR_RETURN(fields.owner.next_round, reader.ReadU32("next round"));
  TACET_ASSIGN_OR_RETURN(fields.parameters, reader.ReadU64("parameters"));
  if (fields.parameters > reader.remaining() / sizeof(float)) {
    return base::DataLoss("{}: {} bytes are too few for the {} parameters that it names",
                          kCheckpoint, bytes.size(), fields.parameters);
  }
  const uint64_t array_bytes = sizeof(float) * fields.parameters;
  TACET_ASSIGN_OR_RETURN(fields.model, reader.ReadBytes(array_bytes, "model"));
  if (reader.remaining() > 0) {
    TACET_ASSIGN_OR_RETURN(fields.velocity, reader.ReadBytes(array_bytes, "velocity"));
  }
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return fields;
}

absl::Status CheckFederation(const Checkpoint& checkpoint, const crypto::Digest& federation) {
  if (checkpoint.federation == federation) return absl::OkStatus();
  return base::FailedPrecondition(
      "{} belongs to a run with other settings, or to another federation: resume with the "
      "configuration it was made with",
      kCheckpoint);
}

}  // namespace

StateDigests DigestsOf(const Checkpoint& checkpoint, const secagg::DigestKey& key) {
  const crypto::Digest model = key.OfModel(checkpoint.model);
  return {.model = model, .state = key.OfState(model, checkpoint.velocity)};
}

base::Bytes WriteCheckpointFields(const Checkpoint& checkpoint) {
  base::ByteWriter writer;
  // With room for a checksum, so that a model is copied once.
  writer.Reserve(CheckpointFieldBytes({.parameters = checkpoint.model.size(),
                                       .velocity = checkpoint.velocity.size()}) +
                 kChecksumBytes);
  base::WritePreamble(base::format::kCheckpoint, writer);
  writer.Raw(checkpoint.federation);
  writer.U32(checkpoint.training);
  writer.U32(checkpoint.next_round);
  writer.U64(checkpoint.model.size());
  writer.Raw(base::FloatBytes(checkpoint.model));
  writer.Raw(base::FloatBytes(checkpoint.velocity));
  return writer.Take();
}

base::Bytes WriteCheckpoint(const Checkpoint& checkpoint) {
  base::Bytes bytes = WriteCheckpointFields(checkpoint);
  const base::Bytes checksum = ChecksumOf(bytes);
  bytes.insert(bytes.end(), checksum.begin(), checksum.end());
  return bytes;
}

uint64_t CheckpointFieldBytes(const StateSize& size) {
  return kFixedBytes + sizeof(float) * (size.parameters + size.velocity);
}

absl::StatusOr<Checkpoint> ReadCheckpoint(std::span<const uint8_t> bytes,
                                          const crypto::Digest& federation, uint32_t training,
                                          const StateSize& size) {
  TACET_ASSIGN_OR_RETURN(const auto fields, CheckedFields(bytes));
  return ReadCheckpointFields(fields, federation, training, size);
}

absl::StatusOr<Checkpoint> ReadCheckpointFields(std::span<const uint8_t> bytes,
                                                const crypto::Digest& federation, uint32_t training,
                                                const StateSize& size) {
  TACET_ASSIGN_OR_RETURN(Fields fields, ReadFields(bytes));
  if (fields.parameters != size.parameters) {
    return base::DataLoss("{}: field `parameters` is {}, the model has {}", kCheckpoint,
                          fields.parameters, size.parameters);
  }
  if (fields.velocity.size() != sizeof(float) * size.velocity) {
    return base::DataLoss("{}: its velocity has {} values, the agreed optimiser's has {}",
                          kCheckpoint, fields.velocity.size() / sizeof(float), size.velocity);
  }
  TACET_RETURN_IF_ERROR(CheckFederation(fields.owner, federation));
  if (fields.owner.training != training) {
    return base::FailedPrecondition(
        "{} belongs to the training of epoch {}, expected that of epoch {}", kCheckpoint,
        fields.owner.training, training);
  }
  Checkpoint checkpoint = std::move(fields.owner);
  checkpoint.model = base::FloatsOf(fields.model);
  checkpoint.velocity = base::FloatsOf(fields.velocity);
  return checkpoint;
}

absl::StatusOr<uint32_t> TrainingOfCheckpoint(std::span<const uint8_t> bytes,
                                              const crypto::Digest& federation) {
  TACET_ASSIGN_OR_RETURN(const auto checked, CheckedFields(bytes));
  TACET_ASSIGN_OR_RETURN(const Fields fields, ReadFields(checked));
  TACET_RETURN_IF_ERROR(CheckFederation(fields.owner, federation));
  return fields.owner.training;
}

}  // namespace tacet::protocol
