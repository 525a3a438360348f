// Writes the seeds of the enrolment fuzzer: run it when a format changes.
// usage: make_enrolment_fuzz_seeds CORPUS_FOLDER
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "fuzz/fuzz_round.h"
#include "tacet/base/certificates.h"
#include "tacet/base/locked_secret.h"
#include "tacet/federation/manifest_bytes.h"
#include "tacet/federation/signed_manifest.h"
#include "tacet/federation/site_keys.h"

namespace {

using namespace tacet;

class Seeds {
 public:
  explicit Seeds(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
  }

  void Write(const std::string& name, uint8_t kind, std::span<const uint8_t> bytes) const {
    std::ofstream file(folder_ / name, std::ios::binary);
    file.put(static_cast<char>(kind));
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  // Whole, cut short in the middle, and with one more byte at the end.
  void WriteWithVariants(const std::string& name, uint8_t kind, const base::Bytes& bytes) const {
    Write(name, kind, bytes);
    Write(name + "-cut", kind, std::span(bytes).first(bytes.size() / 2));
    base::Bytes longer = bytes;
    longer.push_back(0);
    Write(name + "-longer", kind, longer);
  }

 private:
  std::filesystem::path folder_;
};

federation::ManifestSpec Agreement() {
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_enrolment_fuzz_seeds CORPUS_FOLDER\n");
    return 2;
  }
  const Seeds seeds(std::filesystem::path(argv[1]) / "enrolment");
  base::SystemEntropy entropy;
  const federation::SiteKeys site = federation::SiteKeys::Generate(entropy);
  const base::SigningKey coordinator = base::SigningKey::Generate(entropy);
  const base::TlsKey authority_key = base::TlsKey::Generate();

  const std::vector<std::string> hosts = {"hub.example", "127.0.0.1"};
  seeds.WriteWithVariants("request", 0, federation::WriteEnrolmentRequest("north", {}, site));
  seeds.WriteWithVariants("server-request", 0,
                          federation::WriteEnrolmentRequest("hub", hosts, site));

  federation::ManifestSpec agreement = Agreement();
  seeds.WriteWithVariants("agreement-1", 1, federation::ManifestBytes(agreement));
  agreement.plaintext_bits = 20;
  seeds.WriteWithVariants("agreement-2", 1, federation::ManifestBytes(agreement));
  agreement.neighbouring = accounting::Neighbouring::kZeroOut;
  seeds.WriteWithVariants("agreement-3", 1, federation::ManifestBytes(agreement));
  agreement.annex[0] = 1;
  seeds.WriteWithVariants("agreement-4", 1, federation::ManifestBytes(agreement));

  const base::Bytes authority =
      fuzz::ValueOrDie(base::IssueAuthority({.common_name = "hospitals",
                                             .role = base::CertificateRole::kAuthority,
                                             .public_key = authority_key.public_key(),
                                             .hosts = {},
                                             .not_before = 1'750'000'000,
                                             .not_after = 1'760'000'000},
                                            authority_key));
  const base::Bytes certificate =
      fuzz::ValueOrDie(base::IssueCertificate({.common_name = "hub",
                                               .role = base::CertificateRole::kServer,
                                               .public_key = site.tls.public_key(),
                                               .hosts = hosts,
                                               .not_before = 1'750'000'000,
                                               .not_after = 1'760'000'000},
                                              authority_key, authority));
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
  const auto manifest = fuzz::ValueOrDie(federation::SignedManifest::Sign(spec, coordinator));
  seeds.WriteWithVariants("manifest", 2, manifest.bytes());
  seeds.WriteWithVariants(
      "invitation", 3,
      federation::WriteInvitation({.manifest = {1, 2, 3},
                                   .certificate = certificate,
                                   .epoch_key = fuzz::ValueOrDie(federation::SealEpochKey(
                                       manifest, 0, entropy.Draw(32), coordinator)),
                                   .initial_model = base::Bytes(16)}));

  const base::Unlocker key_file =
      fuzz::ValueOrDie(base::Unlocker::FromKeyFile(base::SecretBytes(32)));
  const base::Unlocker passphrase = fuzz::ValueOrDie(
      base::Unlocker::FromPassphrase(base::SecretBytes(4), {.passes = 1, .memory_bytes = 8192}));
  const base::SecretBytes secret = entropy.Draw(40);
  seeds.WriteWithVariants("locked", 4,
                          fuzz::ValueOrDie(base::LockSecret(secret, "key", key_file, entropy)));
  seeds.Write("locked-with-passphrase", 4,
              fuzz::ValueOrDie(base::LockSecret(secret, "key", passphrase, entropy)));
  seeds.Write("locked-other-purpose", 4,
              fuzz::ValueOrDie(base::LockSecret(secret, "model", key_file, entropy)));
  seeds.WriteWithVariants("authority", 5, authority);
  seeds.WriteWithVariants("certificate", 5, certificate);
  const base::SecretBytes keys = federation::WriteSiteKeys(site);
  seeds.Write("site-keys", 6, keys.Expose());
  seeds.Write("fingerprint", 6,
              base::AsBytes(federation::FingerprintText(coordinator.public_key())));
  return 0;
}
