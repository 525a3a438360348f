#include "tacet/protocol/checkpoint.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tacet/base/float_bytes.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"

namespace tacet::protocol {
namespace {

constexpr std::string_view kCheckpoint = "checkpoint";
constexpr uint64_t kFixedBytes = 4 + 2 + 32 + 4 + 4 + 8 + 32;

// A whole checkpoint's fields, before its arrays are copied.
struct Fields {
  Checkpoint owner;  // without arrays
  uint64_t parameters = 0;
  std::span<const uint8_t> model;
  std::span<const uint8_t> velocity;  // of as many bytes as `model`, or none
};

// Of the fields before the arrays, and of what the arrays hold.
crypto::Digest DigestOf(std::span<const uint8_t> head, const crypto::Digest& state) {
  crypto::Sha256Hasher hasher;
  hasher.Update(head);
  hasher.Update(state);
  return hasher.Finish();
}

StateDigests DigestsOf(std::span<const uint8_t> model, std::span<const uint8_t> velocity) {
  StateDigests digests{.model = crypto::Sha256(model), .state = {}};
  crypto::Sha256Hasher hasher;
  hasher.Update(digests.model);
  hasher.Update(velocity);
  digests.state = hasher.Finish();
  return digests;
}

// DataLoss when it is cut short, too long or damaged.
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
  const auto head = bytes.first(bytes.size() - reader.remaining());
  if (fields.parameters > reader.remaining() / sizeof(float)) {
    return base::DataLoss("{}: {} bytes are too few for the {} parameters that it names",
                          kCheckpoint, bytes.size(), fields.parameters);
  }
  const uint64_t array_bytes = sizeof(float) * fields.parameters;
  TACET_ASSIGN_OR_RETURN(fields.model, reader.ReadBytes(array_bytes, "model"));
  if (reader.remaining() > sizeof(crypto::Digest)) {
    TACET_ASSIGN_OR_RETURN(fields.velocity, reader.ReadBytes(array_bytes, "velocity"));
  }
  const StateDigests digests = DigestsOf(fields.model, fields.velocity);
  TACET_RETURN_IF_ERROR(reader.Expect(DigestOf(head, digests.state), "digest"));
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

crypto::Digest ModelDigest(std::span<const float> model) {
  return crypto::Sha256(base::FloatBytes(model));
}

StateDigests DigestsOf(const Checkpoint& checkpoint) {
  return DigestsOf(base::FloatBytes(checkpoint.model), base::FloatBytes(checkpoint.velocity));
}

base::Bytes WriteCheckpoint(const Checkpoint& checkpoint, const StateDigests& digests) {
  base::ByteWriter writer;
  writer.Reserve(CheckpointBytes(
      {.parameters = checkpoint.model.size(), .velocity = checkpoint.velocity.size()}));
  base::WritePreamble(base::format::kCheckpoint, writer);
  writer.Raw(checkpoint.federation);
  writer.U32(checkpoint.training);
  writer.U32(checkpoint.next_round);
  writer.U64(checkpoint.model.size());
  const crypto::Digest digest = DigestOf(writer.bytes(), digests.state);
  writer.Raw(base::FloatBytes(checkpoint.model));
  writer.Raw(base::FloatBytes(checkpoint.velocity));
  writer.Raw(digest);
  return writer.Take();
}

uint64_t CheckpointBytes(const StateSize& size) {
  return kFixedBytes + sizeof(float) * (size.parameters + size.velocity);
}

absl::StatusOr<Checkpoint> ReadCheckpoint(std::span<const uint8_t> bytes,
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
  TACET_ASSIGN_OR_RETURN(const Fields fields, ReadFields(bytes));
  TACET_RETURN_IF_ERROR(CheckFederation(fields.owner, federation));
  return fields.owner.training;
}

}  // namespace tacet::protocol
