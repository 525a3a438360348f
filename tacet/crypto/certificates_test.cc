#include "tacet/crypto/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status_for_test.h"

namespace tacet::crypto {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kStart = 1'750'000'000;
constexpr uint64_t kEnd = 1'760'000'000;

struct Authority {
  TlsKey key = TlsKey::Generate();
  base::Bytes certificate = *IssueAuthority({.common_name = "a federation",
                                             .role = CertificateRole::kAuthority,
                                             .public_key = key.public_key(),
                                             .hosts = {},
                                             .not_before = kStart,
                                             .not_after = kEnd},
                                            key);
};

CertificateSpec Client(const TlsKey& key, std::string name = "north") {
  return {.common_name = std::move(name),
          .role = CertificateRole::kClient,
          .public_key = key.public_key(),
          .hosts = {},
          .not_before = kStart,
          .not_after = kEnd};
}

TEST(CertificatesTest, SaysWhatItWasMadeFor) {
  const Authority authority;
  const TlsKey key = TlsKey::Generate();
  CertificateSpec spec = Client(key);
  for (const CertificateRole role : {CertificateRole::kClient, CertificateRole::kServer}) {
    spec.role = role;
    spec.hosts.clear();
    if (role == CertificateRole::kServer) spec.hosts = {"tacet.example", "127.0.0.1", "::1"};
    ASSERT_OK_AND_ASSIGN(const auto der,
                         IssueCertificate(spec, authority.key, authority.certificate));
    ASSERT_OK_AND_ASSIGN(const auto facts, ReadCertificate(der));
    EXPECT_EQ(facts.common_name, "north");
    EXPECT_EQ(facts.role, role);
    EXPECT_EQ(facts.public_key, key.public_key());
    EXPECT_EQ(facts.not_before, kStart);
    EXPECT_EQ(facts.not_after, kEnd);
    EXPECT_EQ(facts.fingerprint, Sha256(der));
    EXPECT_TRUE(CheckIssuedBy(der, authority.certificate).ok());
  }
  EXPECT_EQ(ReadCertificate(authority.certificate)->role, CertificateRole::kAuthority);
}

TEST(CertificatesTest, AnotherAuthorityIsNoticed) {
  const Authority authority, stranger;
  const TlsKey key = TlsKey::Generate();
  const base::Bytes der = *IssueCertificate(Client(key), stranger.key, stranger.certificate);
  const absl::Status refused = CheckIssuedBy(der, authority.certificate);
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(refused), HasSubstr("another authority signed it"));
  EXPECT_THAT(
      base::Message(IssueCertificate(Client(key), stranger.key, authority.certificate).status()),
      HasSubstr("do not belong together"));
}

TEST(CertificatesTest, EveryChangedByteIsNoticed) {
  const Authority authority;
  const TlsKey key = TlsKey::Generate();
  const base::Bytes der = *IssueCertificate(Client(key), authority.key, authority.certificate);
  for (size_t i = 0; i < der.size(); ++i) {
    base::Bytes altered = der;
    altered[i] ^= 1;
    EXPECT_FALSE(CheckIssuedBy(altered, authority.certificate).ok()) << i;
    EXPECT_FALSE(ReadCertificate(std::span(der).first(i)).ok()) << i;
  }
}

TEST(CertificatesTest, RefusesWhatCannotStandInOne) {
  const Authority authority;
  const TlsKey key = TlsKey::Generate();
  const auto message = [&](const CertificateSpec& spec) {
    return base::Message(IssueCertificate(spec, authority.key, authority.certificate).status());
  };
  EXPECT_THAT(message(Client(key, "")), HasSubstr("1 to 64 printable"));
  EXPECT_THAT(message(Client(key, std::string(65, 'a'))), HasSubstr("1 to 64 printable"));
  EXPECT_THAT(message(Client(key, "two\nlines")), HasSubstr("1 to 64 printable"));
  CertificateSpec spec = Client(key);
  spec.not_after = spec.not_before;
  EXPECT_THAT(message(spec), HasSubstr("end before it begins"));
  spec = Client(key);
  spec.public_key.back() ^= 1;  // no point of the curve
  EXPECT_THAT(message(spec), HasSubstr("not a public key on P-256"));
  spec = Client(key);
  spec.role = CertificateRole::kServer;
  EXPECT_THAT(message(spec), HasSubstr("names its hosts"));
  spec.hosts = {"a,DNS:b"};
  EXPECT_THAT(message(spec), HasSubstr("neither a DNS name nor an IP address"));
  spec.role = CertificateRole::kAuthority;
  EXPECT_THAT(message(spec), HasSubstr("does not make other authorities"));
}

TEST(CertificatesTest, AKeyIsKeptAsBytes) {
  const TlsKey key = TlsKey::Generate();
  ASSERT_OK_AND_ASSIGN(const auto again, TlsKey::FromDer(key.der()));
  EXPECT_EQ(again.public_key(), key.public_key());
  EXPECT_NE(TlsKey::Generate().public_key(), key.public_key());
  EXPECT_THAT(base::Message(TlsKey::FromDer(SecretBytes(40)).status()), HasSubstr("on P-256"));
}

}  // namespace
}  // namespace tacet::crypto
