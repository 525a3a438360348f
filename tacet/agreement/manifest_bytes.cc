#include "tacet/agreement/manifest_bytes.h"

#include <algorithm>
#include <string>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::agreement {
namespace {

constexpr size_t kMaxWordBytes = 255;
constexpr size_t kMaxPartBytes = 1 << 16;

void WriteAgreement(const ManifestSpec& spec, base::ByteWriter& writer) {
  base::WritePreamble(base::format::kManifest, writer);
  writer.Raw(spec.federation);
  writer.U32(spec.training);
  writer.Blob(spec.model);
  writer.U64(spec.dimension);
  writer.Raw(spec.initial_model);
  writer.U64(spec.sampling.clients);
  writer.U32(static_cast<uint32_t>(spec.sampling.cohort));
  writer.U32(static_cast<uint32_t>(spec.sampling.min_participants));
  writer.U32(spec.rounds);
  writer.U32(spec.spare_attempts);
  writer.U32(spec.committee.seats);
  writer.U32(spec.committee.corrupt);
  writer.U32(spec.committee.packing);
  for (const uint64_t member : spec.committee_members) writer.U64(member);
  writer.Blob(accounting::SamplingName(*spec.sampling.method));
  writer.F64(spec.mechanism.clip_norm);
  writer.F64(spec.mechanism.coordinate_bound);
  writer.F64(spec.mechanism.noise_stddev);
  writer.F64(spec.mechanism.scale);
  writer.F64(spec.privacy.delta);
  writer.U8(static_cast<uint8_t>(spec.mechanism.sampler));
  writer.U8(spec.mechanism.without_noise ? 1 : 0);
  writer.U8(spec.mechanism.without_clipping ? 1 : 0);
  writer.U8(static_cast<uint8_t>(spec.scheme));
  writer.F64(spec.optimizer.learning_rate);
  writer.F64(spec.optimizer.learning_rate_final);
  writer.F64(spec.optimizer.momentum);
  writer.F64(spec.privacy.budget_epsilon);
  writer.U32(spec.plaintext_bits);
  writer.Blob(accounting::UnitName(spec.privacy.unit));
  writer.Blob(accounting::NeighbouringName(spec.privacy.neighbouring));
  writer.F64(spec.sampling.record_rate);
  writer.F64(spec.sampling.expected_batch);
  writer.U32(static_cast<uint32_t>(spec.sampling.appearances));
  writer.U32(static_cast<uint32_t>(spec.privacy.colluders));
  writer.Blob(spec.federated_part);
  writer.U64(spec.whole_dimension);
  writer.Raw(spec.annex);
  writer.U8(spec.sampling.dummy_uploads ? 1 : 0);
  writer.U32(static_cast<uint32_t>(spec.sampling.max_participations));
}

template <typename Parse>
absl::Status ReadWord(base::ByteReader& reader, std::string_view field, Parse parse, auto& target) {
  TACET_ASSIGN_OR_RETURN(const std::string word, reader.ReadString(kMaxWordBytes, field));
  auto value = parse(word);
  if (!value.ok()) return base::DataLoss("manifest: {}", base::Message(value.status()));
  target = *value;
  return absl::OkStatus();
}

absl::Status ReadFlag(base::ByteReader& reader, std::string_view field, bool& target) {
  TACET_ASSIGN_OR_RETURN(const uint8_t flag, reader.ReadU8(field));
  target = flag != 0;
  return absl::OkStatus();
}

absl::Status ReadMechanism(base::ByteReader& reader, ManifestSpec& spec) {
  TACET_ASSIGN_OR_RETURN(spec.mechanism.clip_norm, reader.ReadF64("clip norm"));
  TACET_ASSIGN_OR_RETURN(spec.mechanism.coordinate_bound, reader.ReadF64("coordinate bound"));
  TACET_ASSIGN_OR_RETURN(spec.mechanism.noise_stddev, reader.ReadF64("noise"));
  TACET_ASSIGN_OR_RETURN(spec.mechanism.scale, reader.ReadF64("scale"));
  TACET_ASSIGN_OR_RETURN(spec.privacy.delta, reader.ReadF64("delta"));
  TACET_ASSIGN_OR_RETURN(const uint8_t sampler, reader.ReadU8("sampler"));
  if (sampler > static_cast<uint8_t>(dp::GaussianSampler::kZiggurat)) {
    return base::DataLoss("manifest: there is no sampler {}", sampler);
  }
  spec.mechanism.sampler = static_cast<dp::GaussianSampler>(sampler);
  TACET_RETURN_IF_ERROR(ReadFlag(reader, "without noise", spec.mechanism.without_noise));
  TACET_RETURN_IF_ERROR(ReadFlag(reader, "without clipping", spec.mechanism.without_clipping));
  TACET_ASSIGN_OR_RETURN(const uint8_t scheme, reader.ReadU8("scheme"));
  if (scheme < static_cast<uint8_t>(he::Scheme::kCompact) ||
      scheme > static_cast<uint8_t>(he::Scheme::kPaperSecretKey)) {
    return base::DataLoss("manifest: there is no scheme {}", scheme);
  }
  spec.scheme = static_cast<he::Scheme>(scheme);
  return absl::OkStatus();
}

absl::Status ReadUnit(base::ByteReader& reader, ManifestSpec& spec) {
  TACET_RETURN_IF_ERROR(ReadWord(reader, "unit", accounting::ParseUnit, spec.privacy.unit));
  TACET_RETURN_IF_ERROR(
      ReadWord(reader, "neighbours", accounting::ParseNeighbouring, spec.privacy.neighbouring));
  TACET_ASSIGN_OR_RETURN(spec.sampling.record_rate, reader.ReadF64("record rate"));
  TACET_ASSIGN_OR_RETURN(spec.sampling.expected_batch, reader.ReadF64("expected batch"));
  TACET_ASSIGN_OR_RETURN(spec.sampling.appearances, reader.ReadU32("appearances"));
  TACET_ASSIGN_OR_RETURN(spec.privacy.colluders, reader.ReadU32("colluders"));
  return absl::OkStatus();
}

absl::Status ReadCommittee(base::ByteReader& reader, ManifestSpec& spec) {
  TACET_ASSIGN_OR_RETURN(spec.committee.seats, reader.ReadU32("committee seats"));
  TACET_ASSIGN_OR_RETURN(spec.committee.corrupt, reader.ReadU32("corrupt committee seats"));
  TACET_ASSIGN_OR_RETURN(spec.committee.packing, reader.ReadU32("committee packing"));
  if (spec.committee.seats > he::kMaxSeats) {
    return base::DataLoss("manifest: the committee has {} seats, at most {} are allowed",
                          spec.committee.seats, he::kMaxSeats);
  }
  for (uint32_t seat = 0; seat < spec.committee.seats; ++seat) {
    TACET_ASSIGN_OR_RETURN(const uint64_t member, reader.ReadU64("committee member"));
    spec.committee_members.push_back(member);
  }
  return absl::OkStatus();
}

absl::Status ReadAgreement(base::ByteReader& reader, ManifestSpec& spec) {
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kManifest, reader));
  TACET_ASSIGN_OR_RETURN(spec.federation, secagg::ReadArray<32>(reader, "federation"));
  TACET_ASSIGN_OR_RETURN(spec.training, reader.ReadU32("training"));
  TACET_ASSIGN_OR_RETURN(spec.model, reader.ReadString(kMaxWordBytes, "model"));
  TACET_ASSIGN_OR_RETURN(spec.dimension, reader.ReadU64("dimension"));
  TACET_ASSIGN_OR_RETURN(spec.initial_model, secagg::ReadArray<32>(reader, "initial model"));
  TACET_ASSIGN_OR_RETURN(spec.sampling.clients, reader.ReadU64("clients"));
  TACET_ASSIGN_OR_RETURN(spec.sampling.cohort, reader.ReadU32("cohort"));
  TACET_ASSIGN_OR_RETURN(spec.sampling.min_participants, reader.ReadU32("min participants"));
  TACET_ASSIGN_OR_RETURN(spec.rounds, reader.ReadU32("rounds"));
  TACET_ASSIGN_OR_RETURN(spec.spare_attempts, reader.ReadU32("spare attempts"));
  TACET_RETURN_IF_ERROR(ReadCommittee(reader, spec));
  TACET_RETURN_IF_ERROR(
      ReadWord(reader, "sampling", accounting::ParseSampling, spec.sampling.method.emplace()));
  TACET_RETURN_IF_ERROR(ReadMechanism(reader, spec));
  TACET_ASSIGN_OR_RETURN(spec.optimizer.learning_rate, reader.ReadF64("server learning rate"));
  TACET_ASSIGN_OR_RETURN(spec.optimizer.learning_rate_final,
                         reader.ReadF64("final server learning rate"));
  TACET_ASSIGN_OR_RETURN(spec.optimizer.momentum, reader.ReadF64("momentum"));
  TACET_ASSIGN_OR_RETURN(spec.privacy.budget_epsilon, reader.ReadF64("budget"));
  TACET_ASSIGN_OR_RETURN(spec.plaintext_bits, reader.ReadU32("plaintext bits"));
  TACET_RETURN_IF_ERROR(ReadUnit(reader, spec));
  TACET_ASSIGN_OR_RETURN(spec.federated_part, reader.ReadString(kMaxPartBytes, "federated part"));
  TACET_ASSIGN_OR_RETURN(spec.whole_dimension, reader.ReadU64("whole dimension"));
  TACET_ASSIGN_OR_RETURN(spec.annex, secagg::ReadArray<32>(reader, "annex"));
  TACET_RETURN_IF_ERROR(ReadFlag(reader, "dummy uploads", spec.sampling.dummy_uploads));
  TACET_ASSIGN_OR_RETURN(spec.sampling.max_participations, reader.ReadU32("max participations"));
  return absl::OkStatus();
}

absl::Status CheckCanonical(std::span<const uint8_t> again, std::span<const uint8_t> bytes) {
  if (std::ranges::equal(again, bytes)) return absl::OkStatus();
  return base::DataLoss("manifest: the bytes are not in the canonical form");
}

}  // namespace

base::Bytes AgreementBytes(const ManifestSpec& spec) {
  base::ByteWriter writer;
  WriteAgreement(spec, writer);
  return writer.Take();
}

base::Bytes ManifestBytes(const ManifestSpec& spec) {
  base::ByteWriter writer;
  WriteAgreement(spec, writer);
  writer.Raw(spec.epoch);
  for (const MemberIdentity& member : spec.members) {
    writer.Raw(member.signing_key);
    writer.Raw(member.exchange_key);
  }
  return writer.Take();
}

absl::StatusOr<ManifestSpec> ReadAgreementBytes(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "manifest");
  ManifestSpec spec;
  TACET_RETURN_IF_ERROR(ReadAgreement(reader, spec));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  TACET_RETURN_IF_ERROR(CheckCanonical(AgreementBytes(spec), bytes));
  return spec;
}

absl::StatusOr<ManifestSpec> ReadManifestBytes(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "manifest");
  ManifestSpec spec;
  TACET_RETURN_IF_ERROR(ReadAgreement(reader, spec));
  TACET_ASSIGN_OR_RETURN(spec.epoch, secagg::ReadArray<32>(reader, "epoch"));
  constexpr size_t kKeyBytes = sizeof(crypto::PublicKey) + sizeof(crypto::ExchangePublicKey);
  if (reader.remaining() % kKeyBytes != 0 ||
      reader.remaining() / kKeyBytes != spec.sampling.clients) {
    return base::DataLoss("manifest: {} bytes of member keys for {} clients, expected {} each",
                          reader.remaining(), spec.sampling.clients, kKeyBytes);
  }
  spec.members.reserve(spec.sampling.clients);
  while (reader.remaining() > 0) {
    MemberIdentity& member = spec.members.emplace_back();
    TACET_ASSIGN_OR_RETURN(member.signing_key, secagg::ReadArray<32>(reader, "signing key"));
    TACET_ASSIGN_OR_RETURN(member.exchange_key, secagg::ReadArray<32>(reader, "exchange key"));
  }
  if (const absl::Status distinct = CheckDistinctKeys(spec.members); !distinct.ok()) {
    return base::DataLoss("manifest: {}", base::Message(distinct));
  }
  TACET_RETURN_IF_ERROR(CheckCanonical(ManifestBytes(spec), bytes));
  return spec;
}

}  // namespace tacet::agreement
