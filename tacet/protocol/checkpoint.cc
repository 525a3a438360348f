#include "tacet/protocol/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "tacet/base/float_bytes.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"

namespace tacet::protocol {
namespace {

constexpr std::string_view kCheckpoint = "checkpoint";
constexpr uint64_t kFixedBytes = 4 + 2 + 32 + 4 + 4 + 8 + 32;

// Numbers that are equal may differ in their bytes: 0 and -0.
bool SameFloats(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

// Magic, federation and training.
absl::Status ReadOwner(base::ByteReader& reader, Checkpoint& checkpoint) {
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kCheckpoint, reader));
  TACET_ASSIGN_OR_RETURN(const auto federation,
                         reader.ReadBytes(checkpoint.federation.size(), "federation"));
  std::ranges::copy(federation, checkpoint.federation.begin());
  TACET_ASSIGN_OR_RETURN(checkpoint.training, reader.ReadU32("training"));
  return absl::OkStatus();
}

absl::Status CheckFederation(const Checkpoint& checkpoint, const crypto::Digest& federation) {
  if (checkpoint.federation == federation) return absl::OkStatus();
  return base::FailedPrecondition(
      "{} belongs to a run with other settings, or to another federation: resume with the "
      "configuration it was made with",
      kCheckpoint);
}

}  // namespace

bool SameCheckpoint::operator()(const Checkpoint& a, const Checkpoint& b) const {
  return a.federation == b.federation && a.training == b.training && a.next_round == b.next_round &&
         SameFloats(a.model, b.model) && SameFloats(a.velocity, b.velocity);
}

base::Bytes WriteCheckpoint(const Checkpoint& checkpoint) {
  base::ByteWriter writer;
  writer.Reserve(CheckpointBytes(checkpoint.model.size()));
  base::WritePreamble(base::format::kCheckpoint, writer);
  writer.Raw(checkpoint.federation);
  writer.U32(checkpoint.training);
  writer.U32(checkpoint.next_round);
  writer.U64(checkpoint.model.size());
  writer.Raw(base::FloatBytes(checkpoint.model));
  writer.Raw(base::FloatBytes(checkpoint.velocity));
  writer.Raw(crypto::Sha256(writer.bytes()));
  return writer.Take();
}

uint64_t CheckpointBytes(uint64_t dimension) { return kFixedBytes + 2 * sizeof(float) * dimension; }

absl::StatusOr<Checkpoint> ReadCheckpoint(std::span<const uint8_t> bytes,
                                          const crypto::Digest& federation, uint32_t training,
                                          uint64_t dimension) {
  base::ByteReader reader(bytes, kCheckpoint);
  Checkpoint checkpoint;
  TACET_RETURN_IF_ERROR(ReadOwner(reader, checkpoint));
  TACET_ASSIGN_OR_RETURN(checkpoint.next_round, reader.ReadU32("next round"));
  TACET_ASSIGN_OR_RETURN(const uint64_t parameters, reader.ReadU64("parameters"));
  if (parameters != dimension) {
    return base::DataLoss("{}: field `parameters` is {}, the model has {}", kCheckpoint, parameters,
                          dimension);
  }
  TACET_ASSIGN_OR_RETURN(checkpoint.model, base::ReadFloats(reader, parameters, "model"));
  TACET_ASSIGN_OR_RETURN(checkpoint.velocity, base::ReadFloats(reader, parameters, "velocity"));
  const auto content = bytes.first(bytes.size() - reader.remaining());
  TACET_RETURN_IF_ERROR(reader.Expect(crypto::Sha256(content), "digest"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  TACET_RETURN_IF_ERROR(CheckFederation(checkpoint, federation));
  if (checkpoint.training == training) return checkpoint;
  return base::FailedPrecondition(
      "{} belongs to the training of epoch {}, expected that of epoch {}", kCheckpoint,
      checkpoint.training, training);
}

absl::StatusOr<uint32_t> TrainingOfCheckpoint(std::span<const uint8_t> bytes,
                                              const crypto::Digest& federation) {
  base::ByteReader reader(bytes, kCheckpoint);
  Checkpoint checkpoint;
  TACET_RETURN_IF_ERROR(ReadOwner(reader, checkpoint));
  constexpr size_t kDigestBytes = sizeof(crypto::Digest);
  if (bytes.size() < kFixedBytes) {
    return base::DataLoss("{}: it has {} bytes, at least {} are expected", kCheckpoint,
                          bytes.size(), kFixedBytes);
  }
  const crypto::Digest digest = crypto::Sha256(bytes.first(bytes.size() - kDigestBytes));
  if (!std::ranges::equal(digest, bytes.last(kDigestBytes))) {
    return base::DataLoss("{}: field `digest` does not fit the rest: it is damaged", kCheckpoint);
  }
  TACET_RETURN_IF_ERROR(CheckFederation(checkpoint, federation));
  return checkpoint.training;
}

crypto::Digest ModelDigest(std::span<const float> model) {
  return crypto::Sha256(base::FloatBytes(model));
}

}  // namespace tacet::protocol
