#include "tacet/agreement/member_keys.h"

#include <algorithm>
#include <utility>

#include "tacet/agreement/labelled_signature.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::agreement {
namespace {

constexpr std::string_view kRequestLabel = "tacet/1/enrolment request";
constexpr crypto::PublicKey kNoOfficer = {};

}  // namespace

MemberKeys MemberKeys::Generate(crypto::Entropy& entropy) {
  return {.signing = crypto::SigningKey::Generate(entropy),
          .sealing = crypto::SealingKey::Generate(entropy),
          .tls = crypto::TlsKey::Generate()};
}

ExchangeKeys ExchangeKeys::Generate(crypto::Entropy& entropy) {
  return {.exchange = crypto::ExchangeKey::Generate(entropy),
          .kem = crypto::KemKey::Generate(entropy)};
}

crypto::SecretBytes WriteExchangeKeys(const ExchangeKeys& keys) {
  crypto::SecretBytes bytes(ExchangeKeys::kSecretBytes);
  const auto at = std::ranges::copy(keys.exchange.secret().Expose(), bytes.Expose().begin()).out;
  std::ranges::copy(keys.kem.seed().Expose(), at);
  return bytes;
}

absl::StatusOr<ExchangeKeys> ReadExchangeKeys(const crypto::SecretBytes& bytes) {
  base::ByteReader reader(bytes.Expose(), "exchange keys");
  TACET_ASSIGN_OR_RETURN(const auto secret,
                         reader.ReadBytes(crypto::ExchangeKey::kSecretBytes, "exchange key"));
  TACET_ASSIGN_OR_RETURN(const auto seed, reader.ReadBytes(crypto::KemKey::kSeedBytes, "KEM key"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  TACET_ASSIGN_OR_RETURN(crypto::ExchangeKey exchange,
                         crypto::ExchangeKey::FromSecret(crypto::SecretBytes::CopyOf(secret)));
  TACET_ASSIGN_OR_RETURN(crypto::KemKey kem,
                         crypto::KemKey::FromSeed(crypto::SecretBytes::CopyOf(seed)));
  return ExchangeKeys{.exchange = std::move(exchange), .kem = std::move(kem)};
}

crypto::SecretBytes WriteSiteKeys(const MemberKeys& keys) {
  const crypto::SecretBytes signing = keys.signing.Seed();
  base::ByteWriter preamble;
  base::WritePreamble(base::format::kMemberKeys, preamble);
  const crypto::PublicKey officer = keys.officer.value_or(kNoOfficer);
  const std::span<const uint8_t> parts[] = {preamble.bytes(), signing.Expose(),
                                            keys.sealing.seed().Expose(), officer,
                                            keys.tls.der().Expose()};
  size_t size = 0;
  for (const auto part : parts) size += part.size();
  crypto::SecretBytes bytes(size);
  auto at = bytes.Expose().begin();
  for (const auto part : parts) at = std::ranges::copy(part, at).out;
  return bytes;
}

absl::StatusOr<MemberKeys> ReadSiteKeys(const crypto::SecretBytes& bytes) {
  base::ByteReader reader(bytes.Expose(), "site identity");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kMemberKeys, reader));
  TACET_ASSIGN_OR_RETURN(const auto signing_seed,
                         reader.ReadBytes(crypto::SigningKey::kSeedBytes, "signing key"));
  TACET_ASSIGN_OR_RETURN(const auto sealing_seed,
                         reader.ReadBytes(crypto::SealingKey::kSeedBytes, "sealing key"));
  TACET_ASSIGN_OR_RETURN(const auto officer, secagg::ReadArray<32>(reader, "officer"));
  TACET_ASSIGN_OR_RETURN(const auto tls_der, reader.ReadBytes(reader.remaining(), "TLS key"));
  TACET_ASSIGN_OR_RETURN(crypto::SigningKey signing,
                         crypto::SigningKey::FromSeed(crypto::SecretBytes::CopyOf(signing_seed)));
  TACET_ASSIGN_OR_RETURN(crypto::SealingKey sealing,
                         crypto::SealingKey::FromSeed(crypto::SecretBytes::CopyOf(sealing_seed)));
  TACET_ASSIGN_OR_RETURN(crypto::TlsKey tls,
                         crypto::TlsKey::FromDer(crypto::SecretBytes::CopyOf(tls_der)));
  return MemberKeys{.signing = std::move(signing),
                    .sealing = std::move(sealing),
                    .tls = std::move(tls),
                    .officer = officer == kNoOfficer ? std::nullopt : std::optional(officer)};
}

absl::Status CheckSiteName(std::string_view name) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto allowed = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  if (name.empty() || name.size() > 40 || !letter(name.front()) ||
      !std::ranges::all_of(name, allowed)) {
    return base::InvalidArgument(
        "\"{}\" is not a name for a site: expected 1 to 40 lower-case letters, digits and hyphens, "
        "a letter "
        "first",
        name);
  }
  return absl::OkStatus();
}

base::Bytes WriteEnrolmentRequest(std::string_view name, std::span<const std::string> server_hosts,
                                  const MemberKeys& keys, const ExchangePublicKeys& exchange_keys) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kEnrolmentRequest, writer);
  writer.Blob(name);
  writer.U8(server_hosts.empty() ? 0 : 1);
  writer.U32(static_cast<uint32_t>(server_hosts.size()));
  for (const std::string& host : server_hosts) writer.Blob(host);
  writer.Raw(keys.signing.public_key());
  writer.Raw(keys.sealing.public_key());
  writer.Raw(exchange_keys.exchange);
  writer.Raw(exchange_keys.kem);
  writer.Raw(SignMember(name, keys.signing, keys.sealing.public_key(), exchange_keys).signature);
  writer.Blob(keys.tls.public_key());
  AppendSignature(kRequestLabel, keys.signing, writer);
  return writer.Take();
}

ManifestMember MemberOf(const EnrolmentRequest& request) {
  return MemberWithKeys(request.name, request.signing_key, request.sealing_key,
                        request.exchange_keys, request.member_signature);
}

absl::StatusOr<EnrolmentRequest> ReadEnrolmentRequest(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "enrolment request");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kEnrolmentRequest, reader));
  EnrolmentRequest request;
  TACET_ASSIGN_OR_RETURN(request.name, reader.ReadString(kMaxHostBytes, "name"));
  TACET_RETURN_IF_ERROR(CheckSiteName(request.name));
  TACET_ASSIGN_OR_RETURN(const uint8_t server, reader.ReadU8("server"));
  TACET_ASSIGN_OR_RETURN(const uint32_t hosts, reader.ReadU32("number of hosts"));
  request.server = server == 1;
  if (server > 1 || hosts > kMaxHosts || request.server != (hosts > 0)) {
    return base::DataLoss("enrolment request: {} hosts of a {}", hosts,
                          request.server ? "server, expected 1 to 100" : "site, expected none");
  }
  for (uint32_t i = 0; i < hosts; ++i) {
    TACET_ASSIGN_OR_RETURN(std::string host, reader.ReadString(kMaxHostBytes, "host"));
    request.hosts.push_back(std::move(host));
  }
  TACET_ASSIGN_OR_RETURN(request.signing_key, secagg::ReadArray<32>(reader, "signing key"));
  TACET_ASSIGN_OR_RETURN(request.sealing_key, secagg::ReadArray<32>(reader, "sealing key"));
  ExchangePublicKeys& own = request.exchange_keys;
  TACET_ASSIGN_OR_RETURN(own.exchange, secagg::ReadArray<32>(reader, "exchange key"));
  TACET_ASSIGN_OR_RETURN(own.kem, secagg::ReadArray<sizeof(own.kem)>(reader, "KEM key"));
  const bool without_exchange = own.exchange == crypto::ExchangePublicKey{};
  const bool without_kem = own.kem == crypto::KemPublicKey{};
  if (request.server != without_exchange || request.server != without_kem) {
    return base::DataLoss("enrolment request of {}: {}", request.name,
                          request.server     ? "a server has no exchange keys, expected zeros"
                          : without_exchange ? "the exchange key of a site is missing, it is zeros"
                                             : "the KEM key of a site is missing, it is zeros");
  }
  TACET_RETURN_IF_ERROR(CheckKeys(request.name, request.signing_key, {request.sealing_key}));
  if (!request.server) {
    TACET_RETURN_IF_ERROR(CheckKeys(request.name, request.signing_key, {own.exchange}));
    TACET_RETURN_IF_ERROR(base::Annotate(crypto::CheckKemKey(own.kem), request.name));
  }
  TACET_ASSIGN_OR_RETURN(request.member_signature,
                         secagg::ReadArray<64>(reader, "member signature"));
  if (!IsSignedByMember(MemberOf(request))) {
    return base::DataLoss("enrolment request of {}: the keys are not signed by the key in it",
                          request.name);
  }
  TACET_ASSIGN_OR_RETURN(const auto tls_key, reader.ReadBlob(kMaxTlsKeyBytes, "TLS key"));
  request.tls_key.assign(tls_key.begin(), tls_key.end());
  TACET_ASSIGN_OR_RETURN(const bool is_signed,
                         ReadSignature(kRequestLabel, request.signing_key, bytes, reader));
  if (!is_signed) {
    return base::DataLoss("enrolment request of {}: the signature is not of the key in it",
                          request.name);
  }
  return request;
}

crypto::Digest RequestFingerprint(std::span<const uint8_t> request) {
  return crypto::Sha256(request);
}

std::string FingerprintText(const crypto::Digest& fingerprint) {
  const std::string digits = base::ToHex(fingerprint);
  std::string text;
  for (size_t i = 0; i < digits.size(); i += 4) {
    text += fmt::format("{}{}", i == 0 ? "" : " ", std::string_view(digits).substr(i, 4));
  }
  return text;
}

absl::StatusOr<crypto::Digest> ParseFingerprint(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != ' ' && c != '-' && c != ':') digits += c;
  }
  crypto::Digest fingerprint{};
  const absl::StatusOr<base::Bytes> bytes = base::FromHex(digits);
  if (!bytes.ok() || bytes->size() != fingerprint.size()) {
    return base::InvalidArgument("\"{}\" is not a fingerprint: expected 64 hexadecimal digits",
                                 text);
  }
  std::ranges::copy(*bytes, fingerprint.begin());
  return fingerprint;
}

}  // namespace tacet::agreement
