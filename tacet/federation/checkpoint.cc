#include "tacet/federation/checkpoint.h"

#include <algorithm>
#include <string_view>

#include "tacet/base/status.h"
#include "tacet/federation/float_bytes.h"

namespace tacet::federation {
namespace {

constexpr std::string_view kMagic = "TCTK";
constexpr std::string_view kWhat = "checkpoint";
constexpr uint16_t kVersion = 1;
constexpr uint64_t kFixedBytes = 4 + 2 + 32 + 4 + 8 + 32;

}  // namespace

base::Bytes WriteCheckpoint(const Checkpoint& checkpoint) {
  base::ByteWriter writer;
  writer.Reserve(CheckpointBytes(checkpoint.model.size()));
  writer.Raw(kMagic);
  writer.U16(kVersion);
  writer.Raw(checkpoint.agreement);
  writer.U32(checkpoint.next_round);
  writer.U64(checkpoint.model.size());
  writer.Raw(FloatBytes(checkpoint.model));
  writer.Raw(FloatBytes(checkpoint.velocity));
  writer.Raw(base::Sha256(writer.bytes()));
  return writer.Take();
}

uint64_t CheckpointBytes(uint64_t dimension) { return kFixedBytes + 2 * sizeof(float) * dimension; }

absl::StatusOr<Checkpoint> ReadCheckpoint(std::span<const uint8_t> bytes,
                                          const base::Digest& agreement, uint64_t dimension) {
  base::ByteReader reader(bytes, kWhat);
  Checkpoint checkpoint;
  TACET_RETURN_IF_ERROR(reader.Expect(base::AsBytes(kMagic), "magic"));
  TACET_ASSIGN_OR_RETURN(const uint16_t version, reader.ReadU16("version"));
  if (version != kVersion) {
    return base::DataLoss("{}: field `version` is {}, this program reads version {}", kWhat,
                          version, kVersion);
  }
  TACET_ASSIGN_OR_RETURN(const auto got, reader.ReadBytes(agreement.size(), "agreement"));
  std::ranges::copy(got, checkpoint.agreement.begin());
  TACET_ASSIGN_OR_RETURN(checkpoint.next_round, reader.ReadU32("next round"));
  TACET_ASSIGN_OR_RETURN(const uint64_t parameters, reader.ReadU64("parameters"));
  if (parameters != dimension) {
    return base::DataLoss("{}: field `parameters` is {}, the model has {}", kWhat, parameters,
                          dimension);
  }
  TACET_ASSIGN_OR_RETURN(checkpoint.model, ReadFloats(reader, parameters, "model"));
  TACET_ASSIGN_OR_RETURN(checkpoint.velocity, ReadFloats(reader, parameters, "velocity"));
  const auto content = bytes.first(bytes.size() - reader.remaining());
  TACET_RETURN_IF_ERROR(reader.Expect(base::Sha256(content), "digest"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  if (checkpoint.agreement != agreement) {
    return base::FailedPrecondition(
        "{} belongs to a run with other settings: resume with the configuration it was made with",
        kWhat);
  }
  return checkpoint;
}

base::Digest ModelDigest(std::span<const float> model) { return base::Sha256(FloatBytes(model)); }

}  // namespace tacet::federation
