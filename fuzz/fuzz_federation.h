// A fixed, tiny federation before its first round: what the fuzzers of enrolment and network
// decode against, and their seeds are made from. Its TLS keys alone are new in every process.
#ifndef TACET_FUZZ_FUZZ_FEDERATION_H_
#define TACET_FUZZ_FUZZ_FEDERATION_H_

#include <string>
#include <vector>

#include "fuzz/fuzz_round.h"
#include "tacet/base/certificates.h"
#include "tacet/base/locked_secret.h"
#include "tacet/federation/signed_manifest.h"
#include "tacet/federation/site_keys.h"

namespace tacet::fuzz {

struct FuzzFederation {
  static constexpr uint64_t kNow = 1'755'000'000;  // Unix seconds

  base::InsecureSeededEntropy entropy{1, "fuzz federation"};
  federation::SiteKeys site = federation::SiteKeys::Generate(entropy);
  base::SigningKey coordinator = base::SigningKey::Generate(entropy);
  base::TlsKey authority_key = base::TlsKey::Generate();
  std::vector<std::string> hosts = {"hub.example", "127.0.0.1"};
  base::Bytes authority = ValueOrDie(base::IssueAuthority(
      Certificate(base::CertificateRole::kAuthority, authority_key), authority_key));
  base::Bytes certificate = ValueOrDie(base::IssueCertificate(
      Certificate(base::CertificateRole::kServer, site.tls), authority_key, authority));
  federation::SignedManifest manifest =
      ValueOrDie(federation::SignedManifest::Sign(Manifest(), coordinator));
  base::Unlocker passphrase = ValueOrDie(
      base::Unlocker::FromPassphrase(base::SecretBytes(4), {.passes = 1, .memory_bytes = 8192}));
  base::Unlocker key_file = ValueOrDie(base::Unlocker::FromKeyFile(base::SecretBytes(32)));

  static federation::ManifestSpec Agreement() {
    federation::ManifestSpec spec;
    spec.model = "logistic";
    spec.dimension = 4;
    spec.clients = 2;
    spec.cohort = 2;
    spec.rounds = 3;
    spec.scale = 1e-2;
    spec.noise_stddev = 3;
    spec.members.resize(2);
    return spec;
  }

  base::CertificateSpec Certificate(base::CertificateRole role, const base::TlsKey& key) const {
    return {.common_name = "hub",
            .role = role,
            .public_key = key.public_key(),
            .hosts = role == base::CertificateRole::kServer ? hosts : std::vector<std::string>(),
            .not_before = 1'750'000'000,
            .not_after = 1'760'000'000};
  }

  federation::SignedManifestSpec Manifest() const {
    federation::SignedManifestSpec spec;
    spec.federation = "hospitals";
    spec.agreement = Agreement();
    spec.annex = "[model]\n";
    spec.members = {{.name = "north",
                     .signing_key = site.signing.public_key(),
                     .sealing_key = site.sealing.public_key()},
                    {.name = "south",
                     .signing_key = coordinator.public_key(),
                     .sealing_key = site.sealing.public_key()}};
    spec.authority = authority;
    return spec;
  }
};

}  // namespace tacet::fuzz

#endif  // TACET_FUZZ_FUZZ_FEDERATION_H_
