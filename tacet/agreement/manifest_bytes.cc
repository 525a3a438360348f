#include "tacet/agreement/manifest_bytes.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tacet/agreement/terms_table.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::agreement {
namespace {

constexpr size_t kMaxWordBytes = 255;
constexpr uint64_t kMaxShortCount = std::numeric_limits<uint32_t>::max();

// Bytes of one term. Counts have 4 or 8 bytes, as the table says.
class TermWriter {
 public:
  explicit TermWriter(base::ByteWriter& writer) : writer_(writer) {}

  void operator()(const Term&, const crypto::Digest& value) { writer_.Raw(value); }
  void operator()(const Term&, const std::string& value) { writer_.Blob(value); }
  void operator()(const Term&, double value) { writer_.F64(value); }
  void operator()(const Term&, bool value) { writer_.U8(value ? 1 : 0); }
  void operator()(const Term&, uint32_t value) { writer_.U32(value); }
  void operator()(const Term& term, uint64_t value) {
    if (term.most > kMaxShortCount) return writer_.U64(value);
    writer_.U32(static_cast<uint32_t>(value));
  }
  void operator()(const Term&, const std::vector<uint64_t>& seats) {
    for (const uint64_t member : seats) writer_.U64(member);
  }
  void operator()(const Term&, std::optional<accounting::Sampling> value) {
    writer_.Blob(WordOf(*value));
  }
  void operator()(const Term&, accounting::Unit value) { writer_.Blob(WordOf(value)); }
  void operator()(const Term&, accounting::Neighbouring value) { writer_.Blob(WordOf(value)); }
  void operator()(const Term&, dp::NoiseLaw value) { writer_.U8(static_cast<uint8_t>(value)); }
  void operator()(const Term&, dp::GaussianSampler value) {
    writer_.U8(static_cast<uint8_t>(value));
  }
  void operator()(const Term&, he::Scheme value) { writer_.U8(static_cast<uint8_t>(value)); }

 private:
  base::ByteWriter& writer_;
};

void WriteAgreement(const ManifestSpec& spec, base::ByteWriter& writer) {
  base::WritePreamble(base::format::kManifest, writer);
  VisitSignedTerms(TermWriter(writer), spec);
}

class TermReader {
 public:
  TermReader(base::ByteReader& reader, const ManifestSpec& spec) : reader_(reader), spec_(spec) {}

  template <typename T>
  void operator()(const Term& term, T& value) {
    if (status_.ok()) status_ = Read(term, value);
  }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status Read(const Term& term, crypto::Digest& value) {
    return Take(secagg::ReadArray<32>(reader_, term.name()), value);
  }
  absl::Status Read(const Term& term, std::string& value) {
    return Take(reader_.ReadString(term.most, term.name()), value);
  }
  absl::Status Read(const Term& term, double& value) {
    return Take(reader_.ReadF64(term.name()), value);
  }
  absl::Status Read(const Term& term, bool& value) {
    return Take(reader_.ReadU8(term.name()), value);
  }
  absl::Status Read(const Term& term, uint32_t& value) {
    return Take(reader_.ReadU32(term.name()), value);
  }
  absl::Status Read(const Term& term, uint64_t& value) {
    if (term.most > kMaxShortCount) return Take(reader_.ReadU64(term.name()), value);
    return Take(reader_.ReadU32(term.name()), value);
  }
  // A seat each, whose number was read before.
  absl::Status Read(const Term& term, std::vector<uint64_t>& members) {
    if (spec_.committee.seats > he::kMaxSeats) {
      return base::DataLoss("manifest: the committee has {} seats, at most {} are allowed",
                            spec_.committee.seats, he::kMaxSeats);
    }
    members.resize(spec_.committee.seats);
    for (uint64_t& member : members) {
      TACET_RETURN_IF_ERROR(Take(reader_.ReadU64(term.name()), member));
    }
    return absl::OkStatus();
  }
  absl::Status Read(const Term& term, std::optional<accounting::Sampling>& value) {
    return ReadWord(term, accounting::ParseSampling, value);
  }
  absl::Status Read(const Term& term, accounting::Unit& value) {
    return ReadWord(term, accounting::ParseUnit, value);
  }
  absl::Status Read(const Term& term, accounting::Neighbouring& value) {
    return ReadWord(term, accounting::ParseNeighbouring, value);
  }
  absl::Status Read(const Term& term, dp::NoiseLaw& value) {
    return ReadNumber(term, dp::NoiseLaw::kGaussian, dp::NoiseLaw::kDiscreteLaplace, value);
  }
  absl::Status Read(const Term& term, dp::GaussianSampler& value) {
    return ReadNumber(term, dp::GaussianSampler::kDefault, dp::GaussianSampler::kZiggurat, value);
  }
  absl::Status Read(const Term& term, he::Scheme& value) {
    return ReadNumber(term, he::Scheme::kCompact, he::Scheme::kPaperSecretKey, value);
  }

  template <typename Found, typename T>
  static absl::Status Take(absl::StatusOr<Found> found, T& value) {
    if (found.ok()) value = static_cast<T>(*std::move(found));
    return found.status();
  }
  template <typename Parse, typename Word>
  absl::Status ReadWord(const Term& term, Parse parse, Word& value) {
    TACET_ASSIGN_OR_RETURN(const std::string word, reader_.ReadString(kMaxWordBytes, term.name()));
    const absl::Status parsed = Take(parse(word), value);
    if (parsed.ok()) return parsed;
    return base::DataLoss("manifest: {}", base::Message(parsed));
  }
  template <typename Choice>
  absl::Status ReadNumber(const Term& term, Choice first, Choice last, Choice& value) {
    TACET_ASSIGN_OR_RETURN(const uint8_t number, reader_.ReadU8(term.name()));
    if (number < static_cast<uint8_t>(first) || number > static_cast<uint8_t>(last)) {
      return base::DataLoss("manifest: {} is {}, which no choice has", term.name(), number);
    }
    value = static_cast<Choice>(number);
    return absl::OkStatus();
  }

  base::ByteReader& reader_;
  const ManifestSpec& spec_;
  absl::Status status_;
};

absl::Status ReadAgreement(base::ByteReader& reader, ManifestSpec& spec) {
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kManifest, reader));
  TermReader terms(reader, spec);
  VisitSignedTerms(terms, spec);
  return terms.status();
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
  if (const absl::Status keys = CheckMemberKeys(spec.members); !keys.ok()) {
    return base::DataLoss("manifest: {}", base::Message(keys));
  }
  TACET_RETURN_IF_ERROR(CheckCanonical(ManifestBytes(spec), bytes));
  return spec;
}

}  // namespace tacet::agreement
