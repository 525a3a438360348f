// Fixed, tiny federation before its first round. The fuzzers of enrolment and network decode
// against it, and their seeds are made from it. Only its TLS keys are new in every process.
#ifndef TACET_FUZZ_FUZZ_FEDERATION_H_
#define TACET_FUZZ_FUZZ_FEDERATION_H_

#include <string>
#include <vector>

#include "fuzz/fuzz_round.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/crypto/certificates.h"
#include "tacet/crypto/locked_secret.h"

namespace tacet::fuzz {

struct FuzzFederation {
  static constexpr uint64_t kNow = 1'755'000'000;  // Unix seconds

  crypto::InsecureSeededEntropy entropy{1, "fuzz federation"};
  agreement::MemberKeys site = agreement::MemberKeys::Generate(entropy);
  crypto::ExchangeKey site_exchange = crypto::ExchangeKey::Generate(entropy);
  crypto::KemKey site_kem = crypto::KemKey::Generate(entropy);
  crypto::SigningKey coordinator = crypto::SigningKey::Generate(entropy);
  crypto::ExchangeKey exchange = crypto::ExchangeKey::Generate(entropy);  // the coordinator's
  crypto::TlsKey authority_key = crypto::TlsKey::Generate();
  std::vector<std::string> hosts = {"hub.example", "127.0.0.1"};
  base::Bytes authority = ValueOrDie(crypto::IssueAuthority(
      Certificate(crypto::CertificateRole::kAuthority, authority_key), authority_key));
  base::Bytes certificate = ValueOrDie(crypto::IssueCertificate(
      Certificate(crypto::CertificateRole::kServer, site.tls), authority_key, authority));
  agreement::SignedManifest manifest =
      ValueOrDie(agreement::SignedManifest::Sign(Manifest(), coordinator));
  crypto::Unlocker passphrase = ValueOrDie(crypto::Unlocker::FromPassphrase(
      crypto::SecretBytes(4), {.passes = 1, .memory_bytes = 8192}));
  crypto::Unlocker key_file = ValueOrDie(crypto::Unlocker::FromKeyFile(crypto::SecretBytes(32)));
  agreement::ExchangePublicKeys SiteExchangeKeys() const {
    return {.exchange = site_exchange.public_key(), .kem = site_kem.public_key()};
  }

  static agreement::ManifestSpec Agreement() {
    agreement::ManifestSpec spec;
    spec.model = "logistic";
    spec.dimension = 4;
    spec.sampling.clients = 2;
    spec.sampling.cohort = 2;
    spec.rounds = 3;
    spec.mechanism.scale = 1e-2;
    spec.mechanism.noise_stddev = 3;
    spec.members.resize(2);
    return spec;
  }

  crypto::CertificateSpec Certificate(crypto::CertificateRole role,
                                      const crypto::TlsKey& key) const {
    return {.common_name = "hub",
            .role = role,
            .public_key = key.public_key(),
            .hosts = role == crypto::CertificateRole::kServer ? hosts : std::vector<std::string>(),
            .not_before = 1'750'000'000,
            .not_after = 1'760'000'000};
  }

  agreement::SignedManifestSpec Manifest() const {
    agreement::SignedManifestSpec spec;
    spec.federation = "hospitals";
    spec.agreement = Agreement();
    spec.agreement.federation = {7};
    spec.server = {.name = "hub", .hosts = hosts, .tls_key = site.tls.public_key()};
    spec.annex = "[model]\n";
    spec.members = {
        agreement::SignMember("north", site.signing, site.sealing.public_key(), SiteExchangeKeys()),
        agreement::SignMember("south", coordinator, site.sealing.public_key(),
                              {.exchange = exchange.public_key(), .kem = {}})};
    spec.authority = authority;
    return spec;
  }
};

}  // namespace tacet::fuzz

#endif  // TACET_FUZZ_FUZZ_FEDERATION_H_
