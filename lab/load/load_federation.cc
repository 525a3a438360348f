#include "lab/load/load_federation.h"

#include <string>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/crypto/random.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/storage/file/secret_file.h"
#include "tacet/storage/file/site_folder.h"

namespace tacet::app::load {
namespace {

constexpr uint64_t kMaxClients = uint64_t{1} << 20;
constexpr uint64_t kSecondsAWeek = 7 * base::kSecondsADay;

// The paper's privacy at this size: sigma six clip norms.
absl::StatusOr<agreement::ManifestSpec> Agreement(const LoadFederationSpec& spec) {
  const uint64_t cohort = spec.cohort == 0 ? spec.clients : spec.cohort;
  if (spec.clients < 2 || spec.clients > kMaxClients || cohort > spec.clients) {
    return base::InvalidArgument("{} clients, {} of them a round: expected 2 to {}, and no more",
                                 spec.clients, cohort, kMaxClients);
  }
  agreement::ManifestSpec agreement;
  agreement.model = "synthetic";
  agreement.dimension = spec.dimension;
  agreement.initial_model = InitialModelOf(agreement).Digest();
  agreement.sampling.cohort = cohort;
  agreement.rounds = spec.rounds;
  agreement.mechanism.coordinate_bound = 0.1;
  agreement.mechanism.noise_stddev = 6;
  return agreement;
}

crypto::CertificateSpec CertificateOf(std::string name, crypto::CertificateRole role,
                                      const base::Bytes& public_key) {
  const uint64_t now = base::SystemUnixSeconds();
  return {.common_name = std::move(name),
          .role = role,
          .public_key = public_key,
          .hosts = {},
          .not_before = now - 60,
          .not_after = now + kSecondsAWeek};
}

}  // namespace

agreement::InitialModel InitialModelOf(const agreement::ManifestSpec& agreed) {
  return {.salt = {}, .parameters = std::vector<float>(agreed.dimension)};
}

absl::StatusOr<LoadFederation> MakeLoadFederation(const LoadFederationSpec& spec,
                                                  const std::filesystem::path& folder,
                                                  const std::string& host) {
  crypto::SystemEntropy entropy;
  const crypto::SigningKey coordinator = crypto::SigningKey::Generate(entropy);
  const crypto::TlsKey authority_key = crypto::TlsKey::Generate();
  agreement::SignedManifestSpec manifest;
  manifest.federation = "load";
  TACET_ASSIGN_OR_RETURN(manifest.agreement, Agreement(spec));
  std::ranges::copy(entropy.Draw(32).Expose(), manifest.agreement.federation.begin());
  TACET_ASSIGN_OR_RETURN(
      manifest.authority,
      crypto::IssueAuthority(
          CertificateOf("load", crypto::CertificateRole::kAuthority, authority_key.public_key()),
          authority_key));
  LoadFederation made;
  for (uint64_t i = 0; i < spec.clients; ++i) {
    const std::string name = fmt::format("client-{}", i);
    made.sites.push_back(agreement::MemberKeys::Generate(entropy));
    made.exchange_keys.push_back(agreement::ExchangeKeys::Generate(entropy));
    const agreement::MemberKeys& keys = made.sites.back();
    manifest.members.push_back(agreement::SignMember(name, keys.signing, keys.sealing.public_key(),
                                                     made.exchange_keys.back().public_keys()));
    TACET_ASSIGN_OR_RETURN(
        base::Bytes certificate,
        crypto::IssueCertificate(
            CertificateOf(name, crypto::CertificateRole::kClient, keys.tls.public_key()),
            authority_key, manifest.authority));
    made.certificates.push_back(std::move(certificate));
  }
  const base::Bytes authority = manifest.authority;
  // The server, as it would be set up by hand.
  made.server_home = folder / "server";
  made.key_file = folder / "server.key";
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  const crypto::SecretBytes secret = entropy.Draw(32);
  TACET_RETURN_IF_ERROR(storage::file::WriteSecretFile(made.key_file, secret.Expose()));
  TACET_ASSIGN_OR_RETURN(
      const crypto::Unlocker unlocker,
      crypto::Unlocker::FromKeyFile(crypto::SecretBytes::CopyOf(secret.Expose())));
  const std::vector<std::string> hosts = {host};
  TACET_ASSIGN_OR_RETURN(
      storage::file::SiteFolder home,
      storage::file::SiteFolder::Create(made.server_home, "server", hosts, unlocker, entropy));
  TACET_ASSIGN_OR_RETURN(const agreement::MemberKeys keys, home.UnlockKeys(unlocker));
  manifest.server = {.name = "server", .hosts = hosts, .tls_key = keys.tls.public_key()};
  TACET_ASSIGN_OR_RETURN(agreement::SignedManifest agreed,
                         agreement::SignedManifest::Sign(std::move(manifest), coordinator));
  made.manifest = std::make_unique<agreement::SignedManifest>(std::move(agreed));
  made.epoch_key = entropy.Draw(32);
  crypto::CertificateSpec certificate =
      CertificateOf("server", crypto::CertificateRole::kServer, keys.tls.public_key());
  certificate.hosts = hosts;
  agreement::Invitation invitation;
  invitation.manifest = made.manifest->bytes();
  TACET_ASSIGN_OR_RETURN(invitation.certificate,
                         crypto::IssueCertificate(certificate, authority_key, authority));
  TACET_RETURN_IF_ERROR(
      home.Join(agreement::WriteInvitation(invitation), coordinator.public_key(), unlocker)
          .status());
  return made;
}

}  // namespace tacet::app::load
