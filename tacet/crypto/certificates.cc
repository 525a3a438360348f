#include "tacet/crypto/certificates.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "tacet/base/status.h"

namespace tacet::crypto {
namespace {

template <auto kFree>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using KeyPointer = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using CertificatePointer = std::unique_ptr<X509, Freed<X509_free>>;
using ExtensionPointer = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;
using NumberPointer = std::unique_ptr<BIGNUM, Freed<BN_free>>;

constexpr size_t kMaxCertificateBytes = 1 << 16;
constexpr int kSerialBits = 127;
constexpr long kVersion3 = 2;

// For calls that fail only when memory or randomness is exhausted.
void Require(bool done, std::string_view what) {
  if (done) return;
  std::fprintf(stderr, "tacet: libcrypto could not %.*s\n", static_cast<int>(what.size()),
               what.data());
  std::abort();
}

bool IsOnP256(const EVP_PKEY* key) {
  char group[32] = {};
  size_t length = 0;
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
         EVP_PKEY_get_group_name(key, group, sizeof(group), &length) == 1 &&
         std::string_view(group, length) == SN_X9_62_prime256v1;
}

KeyPointer ParsePrivateKey(const SecretBytes& der) {
  const uint8_t* at = der.Expose().data();
  KeyPointer key(d2i_AutoPrivateKey(nullptr, &at, static_cast<long>(der.size())));
  ERR_clear_error();
  return key != nullptr && IsOnP256(key.get()) ? std::move(key) : nullptr;
}

KeyPointer ParsePublicKey(std::span<const uint8_t> der) {
  const uint8_t* at = der.data();
  KeyPointer key(d2i_PUBKEY(nullptr, &at, static_cast<long>(der.size())));
  ERR_clear_error();
  const bool whole = key != nullptr && at == der.data() + der.size();
  return whole && IsOnP256(key.get()) ? std::move(key) : nullptr;
}

base::Bytes PublicKeyDer(const EVP_PKEY* key) {
  uint8_t* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  Require(size > 0, "write a public key");
  base::Bytes bytes(der, der + size);
  OPENSSL_free(der);
  return bytes;
}

SecretBytes PrivateKeyDer(EVP_PKEY* key) {
  const std::unique_ptr<PKCS8_PRIV_KEY_INFO, Freed<PKCS8_PRIV_KEY_INFO_free>> info(
      EVP_PKEY2PKCS8(key));
  Require(info != nullptr, "write a private key");
  const int size = i2d_PKCS8_PRIV_KEY_INFO(info.get(), nullptr);
  Require(size > 0, "write a private key");
  SecretBytes der(static_cast<size_t>(size));
  uint8_t* at = der.Expose().data();
  i2d_PKCS8_PRIV_KEY_INFO(info.get(), &at);
  return der;
}

CertificatePointer ParseCertificate(std::span<const uint8_t> der) {
  if (der.size() > kMaxCertificateBytes) return nullptr;
  const uint8_t* at = der.data();
  CertificatePointer certificate(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
  ERR_clear_error();
  return certificate != nullptr && at == der.data() + der.size() ? std::move(certificate) : nullptr;
}

absl::Status CheckSpec(const CertificateSpec& spec) {
  const bool printable =
      std::ranges::all_of(spec.common_name, [](char c) { return c >= ' ' && c <= '~'; });
  if (spec.common_name.empty() || spec.common_name.size() > 64 || !printable) {
    return base::InvalidArgument(
        "\"{}\" cannot be the name in a certificate: expected 1 to 64 printable characters",
        spec.common_name);
  }
  if (spec.not_after <= spec.not_before) {
    return base::InvalidArgument("the certificate of {} would end before it begins",
                                 spec.common_name);
  }
  if ((spec.role == CertificateRole::kServer) == spec.hosts.empty()) {
    return base::InvalidArgument("{}: a server's certificate names its hosts, no other does",
                                 spec.common_name);
  }
  return absl::OkStatus();
}

bool IsAddress(const std::string& host) {
  const std::unique_ptr<ASN1_OCTET_STRING, Freed<ASN1_OCTET_STRING_free>> address(
      a2i_IPADDRESS(host.c_str()));
  ERR_clear_error();
  return address != nullptr;
}

// The value of subjectAltName. Names are checked first: the text is a small language of its own.
absl::StatusOr<std::string> AlternativeNames(const std::vector<std::string>& hosts) {
  std::string names;
  for (const std::string& host : hosts) {
    const bool address = IsAddress(host);
    const bool dns = !host.empty() && host.size() <= 253 && std::ranges::all_of(host, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '-' || c == '.';
    });
    if (!address && !dns)
      return base::InvalidArgument("\"{}\" is neither a DNS name nor an IP address", host);
    names += fmt::format("{}{}:{}", names.empty() ? "" : ",", address ? "IP" : "DNS", host);
  }
  return names;
}

absl::Status Extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionPointer extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  ERR_clear_error();
  if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return base::InvalidArgument("a certificate cannot hold \"{}\"", value);
  }
  return absl::OkStatus();
}

absl::Status AddExtensions(const CertificateSpec& spec, X509* certificate, X509* issuer) {
  const bool authority = spec.role == CertificateRole::kAuthority;
  std::vector<std::pair<int, std::string>> extensions = {
      {NID_basic_constraints, authority ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE"},
      {NID_key_usage, authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature"},
      {NID_subject_key_identifier, "hash"},
      {NID_authority_key_identifier, "keyid"}};
  if (!authority) {
    extensions.emplace_back(NID_ext_key_usage,
                            spec.role == CertificateRole::kServer ? "serverAuth" : "clientAuth");
  }
  if (!spec.hosts.empty()) {
    TACET_ASSIGN_OR_RETURN(std::string names, AlternativeNames(spec.hosts));
    extensions.emplace_back(NID_subject_alt_name, std::move(names));
  }
  for (const auto& [kind, value] : extensions) {
    TACET_RETURN_IF_ERROR(Extend(certificate, issuer, kind, value));
  }
  return absl::OkStatus();
}

void SetSerial(X509* certificate) {
  const NumberPointer serial(BN_new());
  Require(serial != nullptr &&
              BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
              BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr,
          "draw a serial number");
}

// `issuer` is null for a certificate that signs itself.
absl::StatusOr<base::Bytes> Issue(const CertificateSpec& spec, const TlsKey& signing_key,
                                  X509* issuer) {
  TACET_RETURN_IF_ERROR(CheckSpec(spec));
  const KeyPointer subject_key = ParsePublicKey(spec.public_key);
  if (subject_key == nullptr) {
    return base::InvalidArgument("{}: not a public key on P-256", spec.common_name);
  }
  const CertificatePointer certificate(X509_new());
  Require(certificate != nullptr, "make a certificate");
  X509* const made = certificate.get();
  SetSerial(made);
  X509_NAME* const name = X509_get_subject_name(made);
  const bool set =
      X509_set_version(made, kVersion3) == 1 &&
      ASN1_TIME_set(X509_getm_notBefore(made), static_cast<time_t>(spec.not_before)) != nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(made), static_cast<time_t>(spec.not_after)) != nullptr &&
      X509_set_pubkey(made, subject_key.get()) == 1 &&
      X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
                                 reinterpret_cast<const uint8_t*>(spec.common_name.data()),
                                 static_cast<int>(spec.common_name.size()), -1, 0) == 1 &&
      X509_set_issuer_name(made, issuer == nullptr ? name : X509_get_subject_name(issuer)) == 1;
  ERR_clear_error();
  if (!set)
    return base::InvalidArgument("{}: a certificate cannot hold these times or this name",
                                 spec.common_name);
  TACET_RETURN_IF_ERROR(AddExtensions(spec, made, issuer == nullptr ? made : issuer));
  const KeyPointer key = ParsePrivateKey(signing_key.der());
  Require(key != nullptr && X509_sign(made, key.get(), EVP_sha256()) > 0, "sign a certificate");
  uint8_t* der = nullptr;
  const int size = i2d_X509(made, &der);
  Require(size > 0, "write a certificate");
  base::Bytes bytes(der, der + size);
  OPENSSL_free(der);
  return bytes;
}

absl::StatusOr<uint64_t> UnixSeconds(const ASN1_TIME* time) {
  std::tm broken_down{};
  if (ASN1_TIME_to_tm(time, &broken_down) != 1)
    return base::DataLoss("certificate: a time is malformed");
  const time_t seconds = timegm(&broken_down);
  if (seconds < 0) return base::DataLoss("certificate: a time is before 1970");
  return static_cast<uint64_t>(seconds);
}

absl::StatusOr<CertificateRole> RoleOf(X509* certificate) {
  if ((X509_get_extension_flags(certificate) & EXFLAG_CA) != 0) return CertificateRole::kAuthority;
  const uint32_t usage = X509_get_extended_key_usage(certificate);
  if (usage == XKU_SSL_SERVER) return CertificateRole::kServer;
  if (usage == XKU_SSL_CLIENT) return CertificateRole::kClient;
  return base::DataLoss(
      "certificate: made neither for an authority nor for a server nor for a client");
}

}  // namespace

TlsKey TlsKey::Generate() {
  const KeyPointer key(EVP_EC_gen(SN_X9_62_prime256v1));
  Require(key != nullptr, "make a key");
  return TlsKey(PrivateKeyDer(key.get()), PublicKeyDer(key.get()));
}

absl::StatusOr<TlsKey> TlsKey::FromDer(const SecretBytes& der) {
  const KeyPointer key = ParsePrivateKey(der);
  if (key == nullptr) return base::InvalidArgument("not a private key on P-256");
  return TlsKey(SecretBytes::CopyOf(der.Expose()), PublicKeyDer(key.get()));
}

absl::StatusOr<base::Bytes> IssueAuthority(const CertificateSpec& spec, const TlsKey& key) {
  if (spec.role != CertificateRole::kAuthority) {
    return base::InvalidArgument("{}: only an authority signs its own certificate",
                                 spec.common_name);
  }
  return Issue(spec, key, nullptr);
}

absl::StatusOr<base::Bytes> IssueCertificate(const CertificateSpec& spec,
                                             const TlsKey& authority_key,
                                             std::span<const uint8_t> authority) {
  if (spec.role == CertificateRole::kAuthority) {
    return base::InvalidArgument("{}: an authority does not make other authorities",
                                 spec.common_name);
  }
  const CertificatePointer issuer = ParseCertificate(authority);
  if (issuer == nullptr) return base::DataLoss("the authority's certificate is damaged");
  TACET_ASSIGN_OR_RETURN(const CertificateFacts facts, ReadCertificate(authority));
  if (facts.public_key != authority_key.public_key()) {
    return base::InvalidArgument("the authority's key and certificate do not belong together");
  }
  return Issue(spec, authority_key, issuer.get());
}

absl::StatusOr<CertificateFacts> ReadCertificate(std::span<const uint8_t> der) {
  const CertificatePointer certificate = ParseCertificate(der);
  if (certificate == nullptr)
    return base::DataLoss("certificate: the bytes are not an X.509 certificate");
  CertificateFacts facts;
  char name[65] = {};
  const int length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()),
                                               NID_commonName, name, sizeof(name));
  const EVP_PKEY* const key = X509_get0_pubkey(certificate.get());
  ERR_clear_error();
  if (length <= 0) return base::DataLoss("certificate: it names no subject");
  facts.common_name.assign(name, static_cast<size_t>(length));
  if (key == nullptr || !IsOnP256(key))
    return base::DataLoss("certificate: its key is not on P-256");
  facts.public_key = PublicKeyDer(key);
  TACET_ASSIGN_OR_RETURN(facts.role, RoleOf(certificate.get()));
  TACET_ASSIGN_OR_RETURN(facts.not_before, UnixSeconds(X509_get0_notBefore(certificate.get())));
  TACET_ASSIGN_OR_RETURN(facts.not_after, UnixSeconds(X509_get0_notAfter(certificate.get())));
  facts.fingerprint = Sha256(der);
  return facts;
}

absl::Status CheckIssuedBy(std::span<const uint8_t> certificate,
                           std::span<const uint8_t> authority) {
  const CertificatePointer subject = ParseCertificate(certificate);
  const CertificatePointer issuer = ParseCertificate(authority);
  if (subject == nullptr || issuer == nullptr) {
    return base::PermissionDenied("certificate: the bytes are not an X.509 certificate");
  }
  const bool signed_by_it = X509_check_issued(issuer.get(), subject.get()) == X509_V_OK &&
                            X509_verify(subject.get(), X509_get0_pubkey(issuer.get())) == 1;
  ERR_clear_error();
  if (!signed_by_it) return base::PermissionDenied("certificate: another authority signed it");
  return absl::OkStatus();
}

}  // namespace tacet::crypto
